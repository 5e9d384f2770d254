/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that reads files of other users. It gets descriptors and sends answers, and can do
 * nothing else. A malicious file may crash it or take it over.
 */
#ifndef FRBPF_EXAMINE_PARSER_H
#define FRBPF_EXAMINE_PARSER_H

#include "symbols/demangle.h"

/*
 * Read the files that the opener sends through @files, and answer through @answers, until either
 * is closed. @demangler: for probes; may be NULL.
 */
void parser__run(int files, int answers, const struct demangler *demangler)
	__attribute__((noreturn));

#endif
