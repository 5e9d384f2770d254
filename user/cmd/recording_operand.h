/* SPDX-License-Identifier: GPL-2.0-only */
/* Operands that mean recordings: files, folders, incidents. */
#ifndef FRBPF_CMD_RECORDING_OPERAND_H
#define FRBPF_CMD_RECORDING_OPERAND_H

#include "analyse/recordings.h"
#include "daemon/location.h"

/*
 * Add the recordings that @what means to @ret: a perf.data file, all of a folder, or those of an
 * incident: its manifest, or its name in the base that @hint finds. 0, or EXIT_FAILED, and said why.
 */
int cmd_find_recordings(const struct location_hint *hint, const char *what, struct recordings *ret);

#endif
