// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "examine/message.h"

static bool has_end(const char *s, size_t size)
{
	return memchr(s, '\0', size);
}

bool examine_link__is_valid(const char link[static EXAMINE_LINK_MAX])
{
	return has_end(link, EXAMINE_LINK_MAX) && !strchr(link, '/') && strcmp(link, ".") &&
	       strcmp(link, "..");
}

int examine_request__check(const void *msg, size_t len)
{
	const struct examine_request *r = msg;

	if (len != sizeof(*r) || r->kind >= EXAMINE_KINDS || r->n_places > EXAMINE_PLACES_MAX ||
	    r->task_file >= EXAMINE_TASK_FILES || r->id.size > BUILD_ID_MAX ||
	    !has_end(r->path, sizeof(r->path)) || !examine_link__is_valid(r->link) ||
	    r->probe.what >= EXAMINE_WHATS ||
	    !has_end(r->probe.provider, sizeof(r->probe.provider)) ||
	    !has_end(r->probe.symbol, sizeof(r->probe.symbol)))
		return -EBADMSG;
	return 0;
}

bool examine_answer__next(const void *msg, size_t len, size_t *at, struct examine_named *ret)
{
	struct examine_name n;

	if (!*at)
		*at = sizeof(struct examine_head);
	if (*at > len || len - *at < sizeof(n))
		return false;
	memcpy(&n, (const char *)msg + *at, sizeof(n));
	if (n.len > len - *at - sizeof(n))
		return false;
	*ret = (struct examine_named){
		.place = n.place,
		.len = n.len,
		.offset = n.offset,
		.name = (const char *)msg + *at + sizeof(n),
	};
	*at += sizeof(n) + n.len;
	return true;
}

static bool take_head(const void *msg, size_t len, const struct examine_request *request,
		      struct examine_head *ret)
{
	if (len < sizeof(*ret) || len > EXAMINE_ANSWER_MAX)
		return false;
	memcpy(ret, msg, sizeof(*ret));
	return ret->number == request->number && ret->error <= 0 && ret->id.size <= BUILD_ID_MAX &&
	       examine_link__is_valid(ret->link);
}

int examine_part__check(const void *msg, size_t len, const struct examine_request *request,
			struct examine_head *ret)
{
	struct examine_head head;

	if (!take_head(msg, len, request, &head) || head.n_names || head.more > 1 ||
	    (head.more && len == sizeof(head)))
		return -EBADMSG;
	*ret = head;
	return 0;
}

int examine_answer__check(const void *msg, size_t len, const struct examine_request *request,
			  struct examine_head *ret)
{
	struct examine_named named;
	struct examine_head head;
	size_t at = 0, n = 0;

	if (!take_head(msg, len, request, &head) || head.more)
		return -EBADMSG;
	while (examine_answer__next(msg, len, &at, &named)) {
		if (named.place >= request->n_places || !named.len ||
		    named.len > EXAMINE_NAME_MAX || memchr(named.name, '\0', named.len))
			return -EBADMSG;
		n++;
	}
	if (n != head.n_names || (n ? at : sizeof(head)) != len)
		return -EBADMSG;
	*ret = head;
	return 0;
}
