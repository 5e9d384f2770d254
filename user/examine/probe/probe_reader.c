// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/printable.h"
#include "examine/probe/probe_reader.h"
#include "symbols/elf_recorded.h"

#define NSEC 1000000000ULL

/* Set before there are threads. */
static struct examiner *examiner;

void probe_reader__use(struct examiner *e)
{
	examiner = e;
}

int probe_reader__reach(const char *path)
{
	return examiner ? examiner__reach(examiner, path) : 0;
}

void probe_reader__rest(void)
{
	if (!examiner)
		return;
	examiner__rest(examiner, EXAMINER_REACH);
	examiner__rest(examiner, EXAMINER_PROBES);
}

/* Ask; ask again if the parser died: it may have used up its CPU time on other files. */
static int ask_reader_twice(struct examine_request *r, int fd, uint64_t deadline,
			    struct examine_head *ret_head, struct buf *body)
{
	int err = examiner__ask_file(examiner, r, fd, deadline, ret_head, body);

	return err == -EIO ? examiner__ask_file(examiner, r, fd, deadline, ret_head, body) : err;
}

/* Ask; ask again if the first answer names a debug file and its build id. */
static int ask_reader(struct examine_request *r, int fd, uint64_t deadline,
		      struct examine_head *ret_head, struct buf *body)
{
	int err = ask_reader_twice(r, fd, deadline, ret_head, body);

	if (err || ret_head->error != -EAGAIN)
		return err;
	if (!ret_head->id.size)
		return -EBADMSG;
	r->id = ret_head->id;
	memcpy(r->link, ret_head->link, sizeof(r->link));
	err = ask_reader_twice(r, fd, deadline, ret_head, body);
	return err ?: ret_head->error == -EAGAIN ? -EBADMSG : 0;
}

static int explain_read_failure(const char *name, int code, unsigned int seconds, struct err *err)
{
	switch (code) {
	case -EIO:
		return err_set(
			err, code,
			"%s: the process that read it has died: the file is damaged or malicious",
			name);
	case -EBADMSG:
		return err_set(err, code,
			       "%s: the process that read it gave an invalid answer: the file is "
			       "damaged or malicious",
			       name);
	case -ETIMEDOUT:
		return err_set(err, code, "%s: reading it takes longer than %u s", name, seconds);
	case -EBUSY:
		return err_set(
			err, code,
			"%s: not read, because files took too long recently: try again in 30 s",
			name);
	}
	return err_set(err, code, "%s: cannot start a process to read it: %s", name,
		       strerror(-code));
}

/* Take the parser's message, escaped: it is not trusted, and only shown. */
static int take_error(const struct examine_head *head, const struct buf *body, const char *name,
		      struct err *err)
{
	char text[ERR_MSG_MAX];
	size_t len = body->len < sizeof(text) ? body->len : sizeof(text) - 1;

	memcpy(text, body->data ?: "", len);
	text[len] = '\0';
	make_printable(text);
	return text[0] ? err_set(err, head->error, "%s", text)
		       : err_set(err, head->error, "%s: %s", name, strerror(-head->error));
}

static int ask_about(struct examine_request *r, int fd, const struct stat *st, unsigned int seconds,
		     struct probe_found *ret, struct err *err)
{
	struct examine_head head;
	struct buf body = { 0 };
	int code = ask_reader(r, fd, now_ns() + seconds * NSEC, &head, &body);

	if (!code && head.error) {
		code = take_error(&head, &body, r->path, err);
	} else {
		code = code
			       ?: probe_found__decode(body.data ?: "", body.len, &r->probe,
						      st->st_size, ret);
		if (code)
			explain_read_failure(r->path, code, seconds, err);
	}
	buf__free(&body);
	/* a stranger's file may have taken over the parser, so it is replaced */
	if (!elf_recorded__is_ours(st))
		examiner__rest(examiner, EXAMINER_PROBES);
	return code;
}

int probe_reader__ask(int fd, const char *name, const struct examine_probe *q, unsigned int seconds,
		      struct probe_found *ret, struct err *err)
{
	struct examine_request *r;
	struct stat st;
	int code;

	if (!examiner)
		return err_set(err, -ENOSYS, "%s: there is no process to read it", name);
	if (fstat(fd, &st))
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	if (strlen(name) >= sizeof(r->path))
		return err_set(err, -ENAMETOOLONG, "%s: its path is too long", name);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->kind = EXAMINE_PROBE;
	r->probe = *q;
	strcpy(r->path, name);
	code = ask_about(r, fd, &st, seconds, ret, err);
	free(r);
	return code;
}
