/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses what applications send to the application socket, one message a datagram:
 *
 *	NAME [DURATION] [KEY=VALUE ...]
 *
 * Blanks and tabs separate words. A VALUE may be in double quotes, with \" and \\ in it. Anybody
 * may send a message, so nothing in it is trusted.
 */
#ifndef FRBPF_RULES_APP_MESSAGE_H
#define FRBPF_RULES_APP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define APP_MESSAGE_MAX	 1024 /* bytes of a datagram */
#define APP_NAME_MAX	 63
#define APP_KEY_MAX	 31
#define APP_ARGS_MAX	 32
#define APP_DURATION_MAX (30ULL * 86400 * 1000000000) /* ns */

struct app_arg {
	char key[APP_KEY_MAX + 1];
	char text[FRBPF_COMM_LEN]; /* the first 15 bytes, zero padded */
	int64_t number;		   /* the number, or ns of a duration; 0: neither */
};

struct app_message {
	char name[APP_NAME_MAX + 1];
	uint64_t duration; /* ns; 0: not given */
	uint32_t n_args;
	struct app_arg args[APP_ARGS_MAX];
};

/* Is @s a valid name: letters, digits, '_', '-', '.', at most APP_NAME_MAX bytes? */
bool app_name__is_valid(const char *s, size_t len);
/* Is @s a valid key: a letter or '_', then also digits, '-', '.', at most APP_KEY_MAX bytes? */
bool app_key__is_valid(const char *s, size_t len);

/*
 * Parse a datagram; a newline at its end is ignored. 0 or -EINVAL: *ret_why is the reason, a static
 * string, and *ret_at its offset.
 */
int app_message__parse(const char *data, size_t len, struct app_message *ret, const char **ret_why,
		       size_t *ret_at);

/* Find the value of @key. It belongs to @m. NULL: there is none. */
const struct app_arg *app_message__arg(const struct app_message *m, const char *key);

#endif
