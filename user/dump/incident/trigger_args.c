// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/block_device.h"
#include "dump/incident/trigger_args.h"
#include "rules/constants.h"
#include "rules/units.h"

#define MAX_ERRNO 4095

static void set_arg_string(struct trigger_arg *a, const __u64 *val)
{
	a->is_text = true;
	memcpy(a->text, val, FRBPF_COMM_LEN);
	a->text[FRBPF_COMM_LEN] = '\0';
}

static void set_arg_number(struct trigger_arg *a, int64_t v, const struct constant *symbols,
			   bool bits)
{
	const char *name = symbols && !bits ? constant__name(symbols, v) : NULL;

	a->number = v;
	a->is_text = bits || name;
	if (bits)
		constant__format_bits(symbols, v, a->text, sizeof(a->text));
	else if (name)
		snprintf(a->text, sizeof(a->text), "%s", name);
	else
		snprintf(a->text, sizeof(a->text), "%" PRId64, v);
}

/* Format an address. The highest byte of each word of @val comes first in the address. */
static void set_arg_address(struct trigger_arg *a, int family, const __u64 *val)
{
	uint64_t net[2] = { htobe64(val[0]), htobe64(val[1]) };

	a->is_text = true;
	if (!inet_ntop(family, net, a->text, sizeof(a->text)))
		a->text[0] = '\0';
}

static void set_arg_value(struct trigger_arg *a, enum expr_type type, const __u64 *val,
			  const struct expr_field_desc *f)
{
	switch (type) {
	case EXPR_STRING:
	case EXPR_PATH:
	case EXPR_EXE:
	case EXPR_NAME:
	case EXPR_TEXT:
		set_arg_string(a, val);
		break;
	case EXPR_DEVICE:
		a->is_text = true;
		block_device__name(val[0], a->text, sizeof(a->text));
		break;
	case EXPR_DURATION:
		a->number = val[0];
		units__format_duration(val[0], a->text, sizeof(a->text));
		break;
	case EXPR_IPV4:
		set_arg_address(a, AF_INET, val);
		break;
	case EXPR_IPV6:
		set_arg_address(a, AF_INET6, val);
		break;
	case EXPR_ADDRESS:
		if (!val[0] && val[1] >> 32 == 0xffff)
			set_arg_address(a, AF_INET, (const __u64[2]){ val[1] << 32 });
		else
			set_arg_address(a, AF_INET6, val);
		break;
	case EXPR_NUMBER:
		set_arg_number(a, val[0], f ? f->symbols : NULL, f && f->bits);
		break;
	}
}

/*
 * Does the event have this field? Static probes differ in the number of their arguments, and not
 * every system call is on a socket.
 */
static bool trigger_has_field(const struct frbpf_trigger *t, uint32_t field)
{
	if (t->source == FRBPF_SOURCE_SYSCALL)
		return t->args[FRBPF_SYSCALL_FAMILY - FRBPF_FIELD_ARG][0];
	return t->source != FRBPF_SOURCE_USDT || field - FRBPF_FIELD_ARG < t->n_args;
}

/* Add fields that every event of its source has; a dump by hand has no source. */
static size_t add_arg_fields(const struct frbpf_trigger *t, struct trigger_arg *ret, size_t n)
{
	for (const struct expr_field_desc *f = expr_fields;
	     t->source && f->name && n < FRBPF_MAX_ARGS; f++) {
		if (f->field < FRBPF_FIELD_ARG || !f->sources || !expr_field__is_of(f, t->source) ||
		    !trigger_has_field(t, f->field))
			continue;
		ret[n] = (struct trigger_arg){ .name = f->name };
		set_arg_value(&ret[n++], f->type, t->args[f->field - FRBPF_FIELD_ARG], f);
	}
	return n;
}

/* Add fields that its rule names. */
static size_t add_named(const struct frbpf_trigger *t, const struct rule_args *args,
			struct trigger_arg *ret, size_t n)
{
	for (uint32_t i = 0; i < args->n && n < FRBPF_MAX_ARGS; i++) {
		const struct rule_arg *arg = &args->v[i];

		if (!arg->bound)
			continue;
		ret[n] = (struct trigger_arg){ .name = arg->name };
		set_arg_value(&ret[n++], arg->type, t->args[arg->slot],
			      arg->symbols ? &(struct expr_field_desc){ .symbols = arg->symbols }
					   : NULL);
	}
	return n;
}

/* Add the path or file of a system call, or the string that rules looked at. */
static size_t add_arg_text(const struct frbpf_trigger *t, struct trigger_arg *ret, size_t n)
{
	static const char *const names[] = { NULL,
					     "path",
					     "str(arg0)",
					     "str(arg1)",
					     "str(arg2)",
					     "str(arg3)",
					     "str(arg4)",
					     "str(arg5)",
					     "str(arg6)",
					     "str(arg7)",
					     [FRBPF_TEXT_FILE] = "file" };

	if (!t->text_is || t->text_is >= ARRAY_SIZE(names))
		return n;
	ret[n] = (struct trigger_arg){ .name = names[t->text_is], .is_text = true };
	memcpy(ret[n].text, t->text, sizeof(t->text));
	return n + 1;
}

const char *trigger_args__key(const struct frbpf_trigger *t)
{
	return t->flags & FRBPF_TRIGGER_ABSENT ? NULL : when__key_name(t->source, t->key);
}

size_t trigger_args__get(const struct incident_trigger *it,
			 struct trigger_arg ret[static TRIGGER_ARGS_MAX])
{
	size_t n;

	if (it->t.flags & FRBPF_TRIGGER_ABSENT) /* there was no event */
		return 0;
	n = add_arg_fields(&it->t, ret, 0);
	n = it->rule ? add_named(&it->t, &it->rule->args, ret, n) : n;
	return add_arg_text(&it->t, ret, n);
}

char *trigger_args__format(const struct incident_trigger *it, char *buf, size_t size)
{
	struct trigger_arg args[TRIGGER_ARGS_MAX];
	size_t n = trigger_args__get(it, args), len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		int more;

		if (!args[i].text[0])
			continue;
		more = snprintf(buf + len, size - len, "%s%s=%s", len ? " " : "", args[i].name,
				args[i].text);

		if (more < 0 || (size_t)more >= size - len) {
			buf[len] = '\0';
			break;
		}
		len += more;
	}
	return buf;
}

/* ---- system calls as people write them ---- */

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
