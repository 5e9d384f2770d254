// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "common/cleanup.h"
#include "common/rights.h"

/* is_lowered is decided once, before there are threads. */
static struct {
	enum rights kind;
	cap_value_t cap;
	bool is_lowered;
} raisable[] = {
	{ RIGHTS_FILES, CAP_DAC_READ_SEARCH, false },
	{ RIGHTS_FILES, CAP_DAC_OVERRIDE, false },
	{ RIGHTS_PROCESSES, CAP_SYS_PTRACE, false },
	{ RIGHTS_PROCESSES, CAP_SYSLOG, false },
	{ RIGHTS_PROCESSES, CAP_CHECKPOINT_RESTORE, false },
};

/*
 * Set or clear the lowered capabilities of @kinds in this thread's effective set. Returns how many
 * changed, or -1.
 */
static int set_effective(unsigned int kinds, cap_flag_value_t value)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t may, is;
	int n = 0;

	for (size_t i = 0; caps && i < ARRAY_SIZE(raisable) && n >= 0; i++) {
		const cap_value_t *cap = &raisable[i].cap;

		if (!raisable[i].is_lowered || !(raisable[i].kind & kinds) ||
		    cap_get_flag(caps, *cap, CAP_PERMITTED, &may) || may != CAP_SET ||
		    cap_get_flag(caps, *cap, CAP_EFFECTIVE, &is) || is == value)
			continue;
		n = cap_set_flag(caps, CAP_EFFECTIVE, 1, cap, value) ? -1 : n + 1;
	}
	if (!caps || (n > 0 && cap_set_proc(caps)))
		n = -1;
	cap_free(caps);
	return n;
}

static bool any_right_lowered(unsigned int kinds)
{
	for (size_t i = 0; i < ARRAY_SIZE(raisable); i++)
		if (raisable[i].is_lowered && raisable[i].kind & kinds)
			return true;
	return false;
}

void rights__lower(void)
{
	if (!getauxval(AT_SECURE))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(raisable); i++)
		raisable[i].is_lowered = true;
	if (set_effective(RIGHTS_ALL, CAP_CLEAR) < 0)
		for (size_t i = 0; i < ARRAY_SIZE(raisable); i++)
			raisable[i].is_lowered = false;
}

unsigned int rights__raise(unsigned int kinds)
{
	return any_right_lowered(kinds) && set_effective(kinds, CAP_SET) > 0 ? kinds : 0;
}

void rights__restore(unsigned int *raised)
{
	if (*raised)
		set_effective(*raised, CAP_CLEAR);
}

bool rights__can_raise(int cap)
{
	cap_flag_value_t may = CAP_CLEAR;
	cap_t caps = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(raisable) && !caps; i++)
		if (raisable[i].cap == cap && raisable[i].is_lowered)
			caps = cap_get_proc();
	if (caps && cap_get_flag(caps, cap, CAP_PERMITTED, &may))
		may = CAP_CLEAR;
	cap_free(caps);
	return may == CAP_SET;
}

/* ---- for good ---- */

static bool list_has_cap(const int *v, size_t n, int cap)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == cap)
			return true;
	return false;
}

/* Ends at the first unknown capability: the kernel may have more of them than the library. */
static int limit_bounding(const int *keep, size_t n)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
		if (!list_has_cap(keep, n, cap) && prctl(PR_CAPBSET_DROP, cap) && errno != EPERM)
			return -errno;
	}
	return 0;
}

int rights__keep(const int *keep, size_t n)
{
	static const cap_flag_t sets[] = { CAP_PERMITTED, CAP_EFFECTIVE };
	cap_t have = cap_get_proc(), want = cap_init();
	cap_flag_value_t v;
	int err = have && want ? limit_bounding(keep, n) : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		const cap_value_t cap = keep[i];

		if (cap_get_flag(have, cap, CAP_PERMITTED, &v) || v != CAP_SET)
			continue;
		for (size_t s = 0; s < ARRAY_SIZE(sets); s++)
			if (cap_set_flag(want, sets[s], 1, &cap, CAP_SET))
				err = -errno;
	}
	/* an empty inheritable set empties the ambient set, too */
	if (!err && cap_set_proc(want))
		err = -errno;
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	cap_free(have);
	cap_free(want);
	return err;
}

/* Lower the raisable capabilities again: rights__keep() has made them effective. */
static int lower_rights_again(void)
{
	return set_effective(RIGHTS_ALL, CAP_CLEAR) < 0 ? -EPERM : 0;
}

int rights__keep_reader(void)
{
	static const int keep[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG,
				    CAP_CHECKPOINT_RESTORE };

	return rights__keep(keep, ARRAY_SIZE(keep)) ?: lower_rights_again();
}

int rights__keep_recorder(void)
{
	static const int keep[] = {
		CAP_BPF,      CAP_PERFMON,	   CAP_SYS_PTRACE,
		CAP_SYSLOG,   CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
		CAP_IPC_LOCK, CAP_SYS_NICE,	   CAP_SYS_RESOURCE,
	};
	int err = rights__keep(keep, ARRAY_SIZE(keep));

	raisable[1].is_lowered = true; /* CAP_DAC_OVERRIDE */
	return err ?: lower_rights_again();
}
