// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "dump/incident/call_text.h"
#include "dump/incident/trigger_args.h"
#include "rules/constants.h"

#define MAX_ERRNO 4095

static const struct trigger_arg *arg_named(const struct trigger_arg *args, size_t n,
					   const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(args[i].name, name) && args[i].text[0])
			return &args[i];
	return NULL;
}

static int add_call_args(struct buf *b, const struct incident_trigger *it)
{
	struct trigger_arg args[TRIGGER_ARGS_MAX];
	size_t n = trigger_args__get(it, args);
	const struct trigger_arg *path = arg_named(args, n, "path"),
				 *file = arg_named(args, n, "file"),
				 *peer = arg_named(args, n, "peer"),
				 *port = arg_named(args, n, "port");
	bool is_v6 = peer && strchr(peer->text, ':');

	if (path)
		return buf__printf(b, "\"%s\"%s", path->text,
				   strlen(path->text) == FRBPF_TEXT_LEN - 1 ? "..." : "");
	if (file)
		return buf__printf(b, "<%s%s>", file->text,
				   strlen(file->text) == FRBPF_TEXT_LEN - 1 ? "..." : "");
	if (peer && port)
		return buf__printf(b, "%s%s%s:%s", is_v6 ? "[" : "", peer->text, is_v6 ? "]" : "",
				   port->text);
	return buf__add_str(b, "...");
}

static int add_call_result(struct buf *b, const struct frbpf_trigger *t)
{
	const char *error = NULL;

	if (t->flags & FRBPF_TRIGGER_PENDING)
		return 0;
	if (t->ret >= 0 || t->ret < -MAX_ERRNO)
		return buf__printf(b, " = %lld", t->ret);
	error = constant__name(symbols_errno, -t->ret);
	return error ? buf__printf(b, " = -1 %s", error)
		     : buf__printf(b, " = -1 errno %lld", -t->ret);
}

int call_text__add(struct buf *b, const struct incident_trigger *it)
{
	const char *name = trigger_args__key(&it->t);

	if (it->t.source != FRBPF_SOURCE_SYSCALL || it->t.flags & FRBPF_TRIGGER_ABSENT)
		return 0;
	if (name ? buf__printf(b, "%s(", name) : buf__printf(b, "call %u(", it->t.key))
		return -ENOMEM;
	return add_call_args(b, it) ?: buf__add_str(b, ")") ?: add_call_result(b, &it->t);
}
