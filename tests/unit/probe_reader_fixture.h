/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts the process that reads files for probes, for a group of tests. */
#ifndef TESTS_UNIT_PROBE_READER_FIXTURE_H
#define TESTS_UNIT_PROBE_READER_FIXTURE_H

#include "examine/probe/probe_reader.h"

static struct examiner *examiner;

static inline int start_reader(void **state)
{
	int err = examiner__new(&examiner);

	probe_reader__use(examiner);
	return err;
}

static inline int stop_reader(void **state)
{
	probe_reader__use(NULL);
	examiner__free(examiner);
	return 0;
}

#endif
