// SPDX-License-Identifier: GPL-2.0-only
#include <sys/auxv.h>
#include <sys/capability.h>

#include "common/cleanup.h"
#include "common/rights.h"

static const cap_value_t lowered[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE };

static bool is_lowered; /* once, before there are threads */

/* Of this thread, those that it is permitted. */
static bool set_effective(cap_flag_value_t value)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t may;
	bool done = caps;

	for (size_t i = 0; caps && i < ARRAY_SIZE(lowered); i++) {
		if (cap_get_flag(caps, lowered[i], CAP_PERMITTED, &may) || may != CAP_SET)
			continue;
		done &= !cap_set_flag(caps, CAP_EFFECTIVE, 1, &lowered[i], value);
	}
	done = done && !cap_set_proc(caps);
	cap_free(caps);
	return done;
}

void rights__lower(void)
{
	if (getauxval(AT_SECURE))
		is_lowered = set_effective(CAP_CLEAR);
}

bool rights__raise(void)
{
	return is_lowered && set_effective(CAP_SET);
}

void rights__restore(bool *raised)
{
	if (*raised)
		set_effective(CAP_CLEAR);
}

bool rights__can_raise(void)
{
	cap_flag_value_t may = CAP_CLEAR;
	cap_t caps = is_lowered ? cap_get_proc() : NULL;

	if (caps && cap_get_flag(caps, CAP_DAC_READ_SEARCH, CAP_PERMITTED, &may))
		may = CAP_CLEAR;
	cap_free(caps);
	return may == CAP_SET;
}
