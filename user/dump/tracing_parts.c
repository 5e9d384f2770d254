// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "common/cleanup.h"
#include "dump/tracing_parts.h"

int tracing_parts__read(struct tracefs *t, struct perfdata_tracing *ret, struct err *err)
{
	const struct {
		const char *path;
		struct buf *to;
	} parts[] = {
		{ "events/header_page", &ret->header_page },
		{ "events/header_event", &ret->header_event },
		{ "printk_formats", &ret->printk_formats },
		{ "saved_cmdlines", &ret->saved_cmdlines },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int code = tracefs__read(t, parts[i].path, parts[i].to);

		if (code)
			return err_set(err, code, "cannot read %s of tracefs: %s", parts[i].path,
				       strerror(-code));
	}
	return 0;
}

void tracing_parts__free(struct perfdata_tracing *parts)
{
	buf__free(&parts->header_page);
	buf__free(&parts->header_event);
	buf__free(&parts->printk_formats);
	buf__free(&parts->saved_cmdlines);
}
