/* SPDX-License-Identifier: GPL-2.0-only */
/* Wait until every BPF program that runs now has returned. */
#ifndef FRBPF_DETECT_GRACE_H
#define FRBPF_DETECT_GRACE_H

/* Takes up to some tens of ms. 0 or negative errno. */
int grace_period(void);

#endif
