// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <traceevent/event-parse.h>

#include "detect/tracepoint/format_names.h"

#define NESTED_MAX 64 /* of expressions */

struct search {
	struct event_format *f;
	struct btf *btf; /* of the kernel, from its first use on */
	bool no_btf;
};

static bool find_in_enum(const struct btf *btf, const struct btf_type *t, const char *name,
			 long *ret)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		bool wide = btf_is_enum64(t);
		uint32_t off = wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off;

		if (strcmp(btf__name_by_offset(btf, off) ?: "", name))
			continue;
		*ret = wide ? (long)btf_enum64_value(&btf_enum64(t)[i]) : btf_enum(t)[i].val;
		return true;
	}
	return false;
}

/* An enumerator that the header of the tracepoint does not export: { TCP_ESTABLISHED, "TCP_ESTABLISHED" }. */
static bool find_in_kernel(struct search *s, const char *name, long *ret)
{
	if (!s->btf && !s->no_btf) {
		s->btf = btf__load_vmlinux_btf();
		s->no_btf = !s->btf;
	}
	for (uint32_t id = 1; s->btf && id < btf__type_cnt(s->btf); id++) {
		const struct btf_type *t = btf__type_by_id(s->btf, id);

		if (btf_is_any_enum(t) && find_in_enum(s->btf, t, name, ret))
			return true;
	}
	return false;
}

static bool find_value(struct search *s, const char *text, long *ret)
{
	char *end;

	errno = 0;
	*ret = (long)strtoll(text, &end, 0);
	if (!errno && end != text)
		return true;
	return find_in_kernel(s, text, ret);
}

static bool is_name(const char *s)
{
	return (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
}

static struct symbol *take(struct search *s, const struct tep_print_flag_sym *list)
{
	struct symbol *v;
	size_t n = 0;

	for (const struct tep_print_flag_sym *l = list; l; l = l->next)
		n++;
	v = calloc(n + 1, sizeof(*v));
	n = 0;
	for (; v && list; list = list->next) {
		if (!is_name(list->str) || !find_value(s, list->value, &v[n].value))
			continue;
		v[n].name = strdup(list->str);
		if (!v[n].name)
			break;
		n++;
	}
	if (v)
		v[n] = (struct symbol){ NULL };
	if (v && !n) {
		free(v);
		return NULL;
	}
	return v;
}

/* REC->state, a cast of it, or with @bits some bits of it; NULL: something else. */
static const char *field_of(const struct tep_print_arg *arg, bool bits)
{
	while (arg) {
		switch (arg->type) {
		case TEP_PRINT_FIELD:
			return arg->field.name;
		case TEP_PRINT_TYPE:
			arg = arg->typecast.item;
			break;
		case TEP_PRINT_OP:
			if (!bits || strcmp(arg->op.op, "&"))
				return NULL;
			arg = arg->op.left;
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}

static void name_field(struct search *s, const char *name, const struct tep_print_flag_sym *list)
{
	for (size_t i = 0; name && i < s->f->n; i++) {
		struct event_field *field = &s->f->fields[i];

		if (!strcmp(field->name, name) && !field->symbols)
			field->symbols = take(s, list);
	}
}

/* __print_symbolic(REC->state, ...) and __print_flags(...), also as REC->flags ? __print_flags(...) : "none". */
static void look_at(struct search *s, const struct tep_print_arg *arg, unsigned int depth)
{
	if (!arg || depth > NESTED_MAX)
		return;
	switch (arg->type) {
	case TEP_PRINT_FLAGS:
		name_field(s, field_of(arg->flags.field, true), arg->flags.flags);
		break;
	case TEP_PRINT_SYMBOL:
		name_field(s, field_of(arg->symbol.field, false), arg->symbol.symbols);
		break;
	case TEP_PRINT_TYPE:
		look_at(s, arg->typecast.item, depth + 1);
		break;
	case TEP_PRINT_OP:
		look_at(s, arg->op.left, depth + 1);
		look_at(s, arg->op.right, depth + 1);
		break;
	default:
		break;
	}
}

void format_names__find(const struct tep_event *event, struct event_format *f)
{
	struct search s = { .f = f };

	for (const struct tep_print_arg *arg = event->print_fmt.args; arg; arg = arg->next)
		look_at(&s, arg, 0);
	btf__free(s.btf);
}

void format_names__free(struct symbol *symbols)
{
	for (struct symbol *s = symbols; s && s->name; s++)
		free((char *)s->name);
	free(symbols);
}
