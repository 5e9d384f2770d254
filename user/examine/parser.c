// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel.h"
#include "examine/opener.h"
#include "examine/parser.h"
#include "examine/probe/probe_search.h"
#include "examine/sandbox.h"
#include "symbols/elf_recorded.h"

/* The answer to one request. */
struct answer {
	struct examine_head head;
	char names[EXAMINE_ANSWER_MAX - sizeof(struct examine_head)];
	size_t used; /* bytes of names */
};

struct parser {
	const struct demangler *demangler;
	struct opened in;
	struct answer out;
};

static void answer__add(struct answer *a, uint32_t place, const struct symbol *s, uint64_t at)
{
	struct examine_name n = { .place = place, .len = strlen(s->name), .offset = at - s->start };

	if (!n.len || n.len > EXAMINE_NAME_MAX || sizeof(a->names) - a->used < sizeof(n) + n.len)
		return;
	memcpy(a->names + a->used, &n, sizeof(n));
	memcpy(a->names + a->used + sizeof(n), s->name, n.len);
	a->used += sizeof(n) + n.len;
	a->head.n_names++;
}

static int parse_build_id(struct answer *a, const int *fds, size_t n)
{
	if (!n)
		return -ENOENT;
	if (build_id__read_fd(fds[0], &a->head.id)) /* a file without one is no error */
		a->head.id.size = 0;
	return 0;
}

static void name_places(const struct examine_request *r, const struct elf_symbols *e,
			struct answer *a)
{
	const struct symbol *s;
	uint64_t vaddr;

	for (uint32_t i = 0; i < r->n_places; i++) {
		if (!elf_symbols__vaddr(e, r->places[i], &vaddr))
			continue;
		s = elf_symbols__find(e, vaddr);
		if (s)
			answer__add(a, i, s, vaddr);
	}
}

static bool file_has_id(const struct examine_request *r, int fd)
{
	return r->kind == EXAMINE_VDSO || elf_recorded__has_id(fd, &r->id);
}

/* Name functions by the first file that has the build id, and by its debug file. */
static int parse_symbols(const struct opened *in, struct answer *a, const int *fds)
{
	const struct examine_request *r = &in->request;
	const struct elf_wanted wanted = { .offsets = r->places, .n = r->n_places };
	struct elf_symbols e = { .wanted = &wanted };
	uint32_t i;

	for (i = 0; i < in->n_files; i++)
		if (file_has_id(r, fds[i]) && !elf_symbols__read(fds[i], &e))
			break;
	if (i == in->n_files)
		return -ENOENT;
	e.wanted = &wanted;
	for (i = 0; i < in->n_debug && !e.full; i++)
		elf_recorded__take_debug(fds[in->n_files + i], &r->id, &e);
	e.wanted = NULL;
	if (!e.full && examine_link__is_valid(e.debuglink))
		memcpy(a->head.link, e.debuglink, sizeof(a->head.link));
	name_places(r, &e, a);
	elf_symbols__free(&e);
	return 0;
}

static int read_perf_map(const struct examine_request *r, struct answer *a, const int *fds,
			 size_t n)
{
	struct symbol_table t = { 0 };
	int err = n ? symbol_table__want(&t, r->places, r->n_places) : -ENOENT;

	err = err ?: elf_recorded__read_perf_map(fds[0], &t);
	if (err)
		return err;
	for (uint32_t i = 0; i < r->n_places; i++) {
		const struct symbol *s = symbol_table__find(&t, r->places[i]);

		if (s)
			answer__add(a, i, s, r->places[i]);
	}
	symbol_table__free(&t);
	return 0;
}

static int send_parser_answer(const struct answer *a, int sock)
{
	ssize_t n;

	do
		n = send(sock, a, sizeof(a->head) + a->used, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Send all parts but the last, which is left in @a. */
static int send_parts(struct answer *a, const struct buf *body, int sock)
{
	size_t at = 0;
	int err = 0;

	a->head.more = 1;
	for (; body->len - at > sizeof(a->names) && !err; at += a->used) {
		a->used = sizeof(a->names);
		memcpy(a->names, body->data + at, a->used);
		err = send_parser_answer(a, sock);
	}
	a->head.more = 0;
	a->used = body->len - at;
	if (a->used)
		memcpy(a->names, body->data + at, a->used);
	return err;
}

static int look_for_probes(struct parser *p, const int *fds, struct buf *body)
{
	const struct examine_request *r = &p->in.request;
	struct examine_head *head = &p->out.head;
	const struct probe_files_open files = { fds[0], r->path, p->in.ours, fds + 1,
						p->in.n_debug };
	struct probe_found found = { 0 };
	struct err words = { "" };
	int err = probe_search__run(&r->probe, &files, p->demangler, !r->id.size, &found, &head->id,
				    head->link, &words);

	if (!err && probe_found__encode(&found, body))
		err = err_set(&words, -ENOMEM, "%s: out of memory", r->path);
	probe_found__free(&found);
	if (!err)
		return 0;
	buf__free(body);
	return buf__add_str(body, words.msg) ?: err;
}

static int read_probes(struct parser *p, const int *fds, int sock)
{
	struct buf body = { 0 };
	int err = p->in.n_files ? look_for_probes(p, fds, &body) : -EBADMSG;

	p->out.head.error = err;
	if (send_parts(&p->out, &body, sock))
		_exit(0);
	buf__free(&body);
	return err;
}

/* Read a file of a task. This may hang: pages of the task may be on a file system that hangs. */
static int read_task_memory(const struct examine_request *r, struct answer *a, const int *fds,
			    size_t n)
{
	uint64_t len = r->end - r->start;
	ssize_t got;

	if (!n)
		return -ESRCH;
	if (r->start > INT64_MAX || len > sizeof(a->names))
		return -EINVAL;
	got = pread(fds[0], a->names, len, (off_t)r->start);
	if (got < 0)
		return -errno;
	a->used = got;
	return 0;
}

static int parse_files(struct parser *p, const int *fds, size_t n, int answers)
{
	const struct examine_request *r = &p->in.request;

	switch (r->kind) {
	case EXAMINE_BUILD_ID:
		return parse_build_id(&p->out, fds, n);
	case EXAMINE_PERF_MAP:
		return read_perf_map(r, &p->out, fds, n);
	case EXAMINE_TASK:
		return read_task_memory(r, &p->out, fds, n);
	case EXAMINE_PROBE:
		return read_probes(p, fds, answers);
	}
	return parse_symbols(&p->in, &p->out, fds);
}

static bool request_is_valid(const struct opened *in, ssize_t len, size_t n_fds)
{
	return len == sizeof(*in) && !examine_request__check(&in->request, sizeof(in->request)) &&
	       in->n_files <= OPENED_FDS_MAX && in->n_debug <= OPENED_FDS_MAX &&
	       in->n_files + in->n_debug == n_fds;
}

_Static_assert(offsetof(struct answer, names) == sizeof(struct examine_head),
	       "names follow the head");

void parser__run(int files, int answers, const struct demangler *demangler)
{
	struct parser *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fds[OPENED_FDS_MAX];
	size_t n_fds;

	if (p == MAP_FAILED || sandbox__parser())
		_exit(1);
	p->demangler = demangler;
	for (;;) {
		ssize_t n = channel__receive(files, &p->in, sizeof(p->in), fds, OPENED_FDS_MAX,
					     &n_fds, 0);

		if (n <= 0 || !request_is_valid(&p->in, n, n_fds))
			_exit(0);
		memset(&p->out.head, 0, sizeof(p->out.head));
		p->out.used = 0;
		p->out.head.number = p->in.request.number;
		p->out.head.error = parse_files(p, fds, n_fds, answers);
		if (send_parser_answer(&p->out, answers))
			_exit(0);
		/* after the answer: closing a file may call its server, which may hang */
		while (n_fds)
			close(fds[--n_fds]);
	}
}
