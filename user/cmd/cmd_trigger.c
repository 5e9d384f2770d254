// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "rules/app_message.h"

/* Append a word "key=a b" from the shell; its value is quoted again. */
static int add_message_word(struct buf *b, const char *word)
{
	const char *equals = strchr(word, '=');
	int err = b->len ? buf__add_str(b, " ") : 0;

	if (!equals || !strpbrk(equals, " \t\"\\"))
		return err ?: buf__add_str(b, word);
	err = err ?: buf__add(b, word, equals + 1 - word);
	err = err ?: buf__add_str(b, "\"");
	for (const char *p = equals + 1; *p && !err; p++) {
		if (*p == '"' || *p == '\\')
			err = buf__add_str(b, "\\");
		err = err ?: buf__add(b, p, 1);
	}
	return err ?: buf__add_str(b, "\"");
}

static int make_message(int argc, char **argv, struct buf *b)
{
	struct app_message m;
	const char *why;
	char what[256];
	size_t at;

	for (int i = 0; i < argc; i++) {
		if (add_message_word(b, argv[i])) {
			log_error("out of memory");
			return EXIT_FAILED;
		}
	}
	if (!app_message__parse(b->data, b->len, &m, &why, &at))
		return 0;
	snprintf(what, sizeof(what), "'%.*s': %s", (int)strcspn(b->data + at, " "), b->data + at,
		 why);
	return cmd_usage_error(&cmd_trigger, at < b->len ? what : why);
}

/* Send to a socket, without waiting. 0 or negative errno. */
static int send_message_to(const char *path, const struct buf *b)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (sendto(fd, b->data, b->len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&addr,
		   sizeof(addr)) < 0)
		return -errno;
	return 0;
}

/* Deliver to the `frbpf run` that executed this command. */
static int deliver_to_run(const char *path, const struct buf *b)
{
	int err = send_message_to(path, b);

	if (!err)
		return EXIT_DONE;
	if (err == -EAGAIN)
		log_error("%s: its queue is full, so this message was dropped", path);
	else if (err == -ENOENT || err == -ECONNREFUSED)
		log_error("nobody listens at %s (" LOCATION_APP_ENV "): the recording has no rule "
			  "`when = app:...`, or has ended",
			  path);
	else
		log_error("%s (" LOCATION_APP_ENV "): %s", path, strerror(-err));
	return EXIT_FAILED;
}

/* The base belongs to root. Users who cannot enter it can still write to the socket in /run. */
static int deliver_message(const char *base, const struct buf *b)
{
	char path[PATH_MAX + 16];
	int err;

	snprintf(path, sizeof(path), "%s/app", base);
	err = send_message_to(path, b);
	if (err && err != -EAGAIN && location__is_noted(base)) {
		snprintf(path, sizeof(path), "%s", LOCATION_APP);
		err = send_message_to(path, b);
	}
	switch (err) {
	case 0:
		return EXIT_DONE;
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		log_error("nobody listens: no daemon with a rule `when = app:...` runs for base %s",
			  base);
		break;
	case -EAGAIN:
		log_error("%s: its queue is full, so this message was dropped", path);
		break;
	default:
		log_error("%s: %s", path, strerror(-err));
	}
	return EXIT_FAILED;
}

static int run_trigger(int argc, char **argv)
{
	static const struct option long_opts[] = { CMD_COMMON_OPTIONS, { 0 } };
	struct location_hint hint = { 0 };
	const char *app = getenv(LOCATION_APP_ENV);
	struct buf message = { 0 };
	char base[PATH_MAX];
	int opt, status;

	if (cmd_next_option(&cmd_trigger, argc, argv, ":h", long_opts, &hint, &opt) == CMD_EXIT)
		return opt;
	if (optind == argc)
		return cmd_usage_error(&cmd_trigger, "the name of a message is expected");
	status = make_message(argc - optind, argv + optind, &message);
	if (!status && app && *app && !hint.base && !hint.config) {
		status = deliver_to_run(app, &message);
	} else if (!status) {
		status = cmd_find_base(&hint, base);
		status = status ? status : deliver_message(base, &message);
	}
	buf__free(&message);
	return status;
}

const struct command cmd_trigger = {
	.name = "trigger",
	.run = run_trigger,
	.usage = "NAME [DURATION] [KEY=VALUE...]",
	.summary = "send a message, for rules with `when = app:NAME`",
	.help = "Any user may send messages. Exit status 0 means that it was sent; rules decide\n"
		"what happens then. Within `frbpf run` (" LOCATION_APP_ENV " is set) it goes to\n"
		"that recording, unless --base or --config is given.\n\n"
		"  DURATION            how long it took until now, such as 812ms\n"
		"  KEY=VALUE           for the `if` of rules, such as status=500\n",
};
