/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an application sends to the application socket, one datagram each:
 *	NAME [DURATION] [KEY=VALUE ...]
 * Words are parted by blanks and tabs; a VALUE may stand in double quotes, with \" and \\ in it.
 * Anybody may send one: nothing of it is trusted.
 */
#ifndef FRBPF_RULES_APP_MESSAGE_H
#define FRBPF_RULES_APP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frbpf.h"

#define APP_MESSAGE_MAX	 1024 /* bytes of a datagram */
#define APP_NAME_MAX	 63
#define APP_KEY_MAX	 31
#define APP_ARGS_MAX	 32
#define APP_DURATION_MAX (30ULL * 86400 * 1000000000) /* ns */

struct app_arg {
	char key[APP_KEY_MAX + 1];
	char text[FRBPF_COMM_LEN]; /* the first 15 bytes, zero padded */
	int64_t number;		   /* a duration's ns; 0 when it is none */
};

struct app_message {
	char name[APP_NAME_MAX + 1];
	uint64_t duration; /* ns; 0: not given */
	uint32_t n_args;
	struct app_arg args[APP_ARGS_MAX];
};

/* Is it a name: letters, digits, '_', '-', '.', at most APP_NAME_MAX? */
bool app_name__is_valid(const char *s, size_t len);
/* Is it the key of a value: a letter or '_', then also digits, '-', '.', at most APP_KEY_MAX? */
bool app_key__is_valid(const char *s, size_t len);

/* Read a datagram; one newline at its end is no part of it. 0, or -EINVAL with the reason in
 * *ret_why, a static string, and the place of it in *ret_at. */
int app_message__parse(const char *data, size_t len, struct app_message *ret, const char **ret_why,
		       size_t *ret_at);

/* The value of @key, or NULL. */
const struct app_arg *app_message__arg(const struct app_message *m, const char *key);

#endif
