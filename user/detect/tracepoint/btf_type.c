// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "detect/tracepoint/btf_type.h"

const struct btf_type *btf_type__plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

const char *btf_type__name(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off) ?: "";
}

const char *btf_type__kind(const struct btf_type *t)
{
	return btf_is_struct(t)	    ? "struct "
	       : btf_is_union(t)    ? "union "
	       : btf_is_any_enum(t) ? "enum "
				    : "";
}

const char *btf_type__text(const struct btf *btf, uint32_t id, char *buf, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	unsigned int stars = 0;

	while (t && (btf_is_mod(t) || btf_is_ptr(t))) {
		stars += btf_is_ptr(t);
		t = btf__type_by_id(btf, t->type);
	}
	if (t && btf_is_array(t)) {
		btf_type__text(btf, btf_array(t)->type, buf, size);
		snprintf(buf + strlen(buf), size - strlen(buf), "[%u]", btf_array(t)->nelems);
	} else {
		snprintf(buf, size, "%s%s", t ? btf_type__kind(t) : "",
			 !t || btf_is_void(t) ? "void" : btf_type__name(btf, t));
	}
	if (stars && strlen(buf) + stars + 2 <= size) {
		strcat(buf, " ");
		while (stars--)
			strcat(buf, "*");
	}
	return buf;
}
