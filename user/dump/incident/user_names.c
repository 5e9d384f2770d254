// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/incident/stack_frames.h"
#include "dump/incident/user_names.h"
#include "symbols/symbols.h"

#define FILE_WAIT 3000000000ULL /* ns for one file */

/* A request about one file, and the frames that it is for. */
struct asked {
	struct examine_request request;
	struct asked_place {
		uint64_t at;
		size_t stack, frame;
		char *symbol; /* NULL: not known. Owned */
		uint64_t offset;
	} places[EXAMINE_PLACES_MAX];
	struct asked *next; /* owned */
};

struct user_names {
	struct asked *first;
};

static int frame_file_kind(const struct map *map)
{
	switch (symbols__source(map->file->name)) {
	case SYMBOLS_FILE: /* without a build id, another file may be at that path now */
		return map_file__build_id(map->file)->size ? EXAMINE_SYMBOLS : -1;
	case SYMBOLS_VDSO:
		return EXAMINE_VDSO;
	case SYMBOLS_PERF_MAP:
		return EXAMINE_PERF_MAP;
	default:
		return -1;
	}
}

static bool request_is_about(const struct examine_request *r, int kind, uint32_t pid,
			     const struct map *map)
{
	const struct build_id *id = map_file__build_id(map->file);

	if (r->kind != (uint32_t)kind || r->n_places == EXAMINE_PLACES_MAX)
		return false;
	if (kind == EXAMINE_PERF_MAP)
		return r->pid == pid;
	return r->id.size == id->size && !memcmp(r->id.data, id->data, id->size) &&
	       !strcmp(r->path, map->file->name);
}

static struct asked *get_asked(struct user_names *names, int kind, uint32_t pid,
			       const struct map *map)
{
	struct asked *a;

	for (a = names->first; a; a = a->next)
		if (request_is_about(&a->request, kind, pid, map))
			return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->request.kind = kind;
	a->request.pid = pid;
	a->request.start = map->start;
	a->request.end = map->end;
	a->request.id = *map_file__build_id(map->file);
	memcpy(a->request.path, map->file->name, map->file->name_len);
	a->next = names->first;
	names->first = a;
	return a;
}

int user_names__add(struct user_names **names, uint32_t pid, const struct map *map, uint64_t at,
		    size_t stack, size_t frame)
{
	int kind = frame_file_kind(map);
	struct asked *a;
	uint32_t i;

	if (kind < 0 || map->file->name_len >= sizeof(a->request.path))
		return 0;
	if (!*names)
		*names = calloc(1, sizeof(**names));
	a = *names ? get_asked(*names, kind, pid, map) : NULL;
	if (!a)
		return -ENOMEM;
	i = a->request.n_places++;
	a->request.places[i] = kind == EXAMINE_PERF_MAP ? at : at - map->start + map->pgoff;
	a->places[i] = (struct asked_place){ .at = at, .stack = stack, .frame = frame };
	return 0;
}

void user_names__join(struct user_names **names, struct user_names *more)
{
	struct asked **end;

	if (!*names) {
		*names = more;
		return;
	}
	for (end = &(*names)->first; *end; end = &(*end)->next)
		;
	*end = more ? more->first : NULL;
	free(more);
}

static void take_answer(struct asked *a, const struct examine_answer *answer)
{
	struct examine_named named;
	size_t at = 0;

	while (examine_answer__next(answer->msg, answer->len, &at, &named)) {
		struct asked_place *p = &a->places[named.place];

		free(p->symbol);
		p->symbol = strndup(named.name, named.len);
		p->offset = named.offset;
	}
}

/* Ask for one file; ask again if it names a separate debug file. */
static int ask_user_names(struct asked *a, struct examiner *examiner, uint64_t deadline,
			  struct examine_answer *answer)
{
	uint64_t limit = now_ns() + FILE_WAIT;
	int err;

	if (deadline < limit)
		limit = deadline;
	err = examiner__ask(examiner, EXAMINER_NAMES, &a->request, limit, answer);
	if (err)
		return err;
	take_answer(a, answer);
	if (!answer->head.link[0])
		return 0;
	memcpy(a->request.link, answer->head.link, sizeof(a->request.link));
	err = examiner__ask(examiner, EXAMINER_NAMES, &a->request, limit, answer);
	if (!err)
		take_answer(a, answer);
	return err;
}

bool user_names__ask(struct user_names *names, struct examiner *examiner, uint64_t deadline)
{
	_cleanup_free_ struct examine_answer *answer = malloc(sizeof(*answer));
	bool all = answer;

	for (struct asked *a = names->first; a && answer; a = a->next)
		all &= !ask_user_names(a, examiner, deadline, answer);
	return all;
}

int user_names__take_over(struct user_names *names, struct incident *inc)
{
	int err = 0;

	for (struct asked *a = names->first; a; a = a->next)
		for (uint32_t i = 0; i < a->request.n_places; i++) {
			struct asked_place *p = &a->places[i];

			if (p->symbol)
				err = stack_frames__set_user(inc, p->stack, p->frame, p->symbol,
							     p->offset, p->at)
					      ?: err;
		}
	return err;
}

void user_names__free(struct user_names *names)
{
	struct asked *next;

	for (struct asked *a = names ? names->first : NULL; a; a = next) {
		next = a->next;
		for (uint32_t i = 0; i < a->request.n_places; i++)
			free(a->places[i].symbol);
		free(a);
	}
	free(names);
}
