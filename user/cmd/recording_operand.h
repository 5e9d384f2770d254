/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses operands that name recordings: files, folders, incidents. */
#ifndef FRBPF_CMD_RECORDING_OPERAND_H
#define FRBPF_CMD_RECORDING_OPERAND_H

#include "analyse/recordings.h"
#include "daemon/location.h"

/*
 * Add the recordings of @what to @ret. It is a perf.data file, a folder, or an incident: its
 * manifest, or its name in the base found by @hint. 0, or EXIT_FAILED with an error printed.
 */
int cmd_find_recordings(const struct location_hint *hint, const char *what, struct recordings *ret);

#endif
