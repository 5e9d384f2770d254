// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "examine/message.h"

/* Check what is guaranteed for an accepted request, which the opener and the parser get. */
static void check_examine_request(const uint8_t *data, size_t size)
{
	static struct examine_request r;

	memset(&r, 0, sizeof(r));
	memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
	if (examine_request__check(&r, sizeof(r)))
		return;
	if (r.kind >= EXAMINE_KINDS || r.n_places > EXAMINE_PLACES_MAX ||
	    r.id.size > BUILD_ID_MAX || strlen(r.path) >= sizeof(r.path) || strchr(r.link, '/') ||
	    strlen(r.probe.symbol) >= sizeof(r.probe.symbol))
		abort();
}

/* Check what is guaranteed for an accepted answer: an attacker may control the parser. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct examine_request request = { .number = 1, .n_places = 3 };
	struct examine_named named;
	struct examine_head head;
	size_t at = 0, n = 0;

	check_examine_request(data, size);
	if (!examine_part__check(data, size, &request, &head) &&
	    (head.number != 1 || head.error > 0 || head.id.size > BUILD_ID_MAX || head.n_names ||
	     head.more > 1 || !memchr(head.link, '\0', sizeof(head.link)) ||
	     strchr(head.link, '/') || size > EXAMINE_ANSWER_MAX))
		abort();
	if (examine_answer__check(data, size, &request, &head))
		return 0;
	if (head.number != 1 || head.error > 0 || head.id.size > BUILD_ID_MAX ||
	    !memchr(head.link, '\0', sizeof(head.link)) || strchr(head.link, '/'))
		abort();
	while (examine_answer__next(data, size, &at, &named)) {
		if (named.place >= request.n_places || !named.len || named.len > EXAMINE_NAME_MAX ||
		    named.name < (const char *)data ||
		    named.name + named.len > (const char *)data + size ||
		    memchr(named.name, '\0', named.len))
			abort();
		n++;
	}
	if (n != head.n_names)
		abort();
	return 0;
}
