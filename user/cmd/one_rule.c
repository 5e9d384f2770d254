// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/one_rule.h"
#include "common/buf.h"
#include "rules/diag.h"

int one_rule__parse(const char *name, const char *when, const char *threshold,
		    const char *condition, struct diags *d, struct ruleset **ret)
{
	struct source_text *src;
	struct buf text = { 0 };
	int err;

	err = buf__printf(&text,
			  "[session-none]\nrun = -e cpu-clock --overwrite -a\n"
			  "[rule-one]\nwhen = %s%s\n",
			  when, threshold);
	if (!err && condition)
		err = buf__printf(&text, "if = %s\n", condition);
	err = err ?: source_text__make(name, text.data, &src);
	buf__free(&text);
	return err ?: ruleset__parse(src, d, ret);
}
