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
	    r->id.size > BUILD_ID_MAX || !has_end(r->path, sizeof(r->path)) ||
	    !examine_link__is_valid(r->link))
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

int examine_answer__check(const void *msg, size_t len, const struct examine_request *request,
			  struct examine_head *ret)
{
	struct examine_named named;
	struct examine_head head;
	size_t at = 0, n = 0;

	if (len < sizeof(head) || len > EXAMINE_ANSWER_MAX)
		return -EBADMSG;
	memcpy(&head, msg, sizeof(head));
	if (head.number != request->number || head.error > 0 || head.id.size > BUILD_ID_MAX ||
	    !examine_link__is_valid(head.link))
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
