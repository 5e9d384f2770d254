/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that reads files of others. It can do nothing else: it gets descriptors, gives answers, and may die of
 * what it reads.
 */
#ifndef FRBPF_EXAMINE_PARSER_H
#define FRBPF_EXAMINE_PARSER_H

#include "common/demangler.h"

/* Read what comes from the opener through @files, answer through @answers; until one of them is closed. @demangler: for
 * probes; or NULL. */
void parser__run(int files, int answers, const struct demangler *demangler)
	__attribute__((noreturn));

#endif
