/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is said between us and the processes that look into files of others. A request is a struct
 * examine_request as it is; an answer is a head and then names. All are datagrams between processes of
 * one program on one machine. Whoever receives one checks it: a file may have taken the parser over.
 */
#ifndef FRBPF_EXAMINE_MESSAGE_H
#define FRBPF_EXAMINE_MESSAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/build_id.h"

enum examine_kind {
	EXAMINE_BUILD_ID, /* of the file that is mapped */
	EXAMINE_SYMBOLS,  /* at offsets of the file that has the build id */
	EXAMINE_VDSO,	  /* at offsets of the vDSO that has it */
	EXAMINE_PERF_MAP, /* at addresses of code that the process made itself */
	EXAMINE_PROBE,	  /* what a probe needs to know of the file that comes along */
	EXAMINE_REACH, /* whether the file can be opened at all; the answer is that there is one */
	EXAMINE_KINDS,
};

#define EXAMINE_PLACES_MAX 256
#define EXAMINE_LINK_MAX   256
#define EXAMINE_NAME_MAX   4096	       /* bytes; longer names are left out */
#define EXAMINE_ANSWER_MAX (64u << 10) /* bytes; what does not fit is left out */

/* What is asked of a file that probes go into. */
enum examine_what {
	EXAMINE_FUNCTION,
	EXAMINE_USDT,
	EXAMINE_LIST_FUNCTIONS,
	EXAMINE_LIST_USDT,
	EXAMINE_WHATS,
};

#define EXAMINE_PROVIDER_MAX 256
#define EXAMINE_SYMBOL_MAX   4096
#define EXAMINE_BODY_MAX     (512u << 20) /* bytes, of all parts of an answer */

struct examine_probe {
	uint32_t what;
	uint32_t latency;		     /* 1: where it returns, too */
	uint64_t offset;		     /* behind the symbol */
	char provider[EXAMINE_PROVIDER_MAX]; /* of EXAMINE_USDT */
	char symbol[EXAMINE_SYMBOL_MAX];     /* or the probe's name; of a list a glob */
};

struct examine_request {
	uint32_t number; /* set by examiner__ask() */
	uint32_t kind;
	uint32_t pid; /* who has it mapped, [start, end) */
	uint32_t n_places;
	uint64_t start, end;
	uint64_t ino, ino_generation; /* ino 0: not known */
	uint32_t maj, min;
	struct build_id id; /* size 0: not known */
	uint8_t zero[3];
	char path[PATH_MAX];	     /* as mapped; of EXAMINE_PROBE in messages, too */
	char link[EXAMINE_LINK_MAX]; /* name of its debug file; "": not known */
	uint64_t places[EXAMINE_PLACES_MAX];
	struct examine_probe probe;
};

/* 0 or -EBADMSG. */
int examine_request__check(const void *msg, size_t len);

/* May a file of that name be looked for in a folder? "": none is to be. */
bool examine_link__is_valid(const char link[static EXAMINE_LINK_MAX]);

struct examine_head {
	uint32_t number; /* of the request */
	int32_t error;	 /* 0 or a negative errno: nothing is known of the file */
	uint32_t n_names;
	uint32_t more; /* of EXAMINE_PROBE: 1: another part follows */
	struct build_id
		id; /* of EXAMINE_BUILD_ID; of EXAMINE_PROBE with -EAGAIN: ask again with it */
	uint8_t zero[3];
	char link
		[EXAMINE_LINK_MAX]; /* of EXAMINE_SYMBOLS and EXAMINE_PROBE: the file that has the rest; "": not told */
};

/* Behind the head, n_names times: this and then the bytes of the name, without a NUL. */
struct examine_name {
	uint32_t place; /* index into places[] */
	uint32_t len;
	uint64_t offset; /* bytes from the start of the function */
};

/* A name of an answer; it need not end in a NUL. */
struct examine_named {
	uint32_t place, len;
	uint64_t offset;
	const char *name;
};

/* Is it a whole answer to @request? 0 or -EBADMSG; the head is copied. */
int examine_answer__check(const void *msg, size_t len, const struct examine_request *request,
			  struct examine_head *ret);
/* The same of a part of an answer to EXAMINE_PROBE; what stands behind its head is probe_found.h's, or words. */
int examine_part__check(const void *msg, size_t len, const struct examine_request *request,
			struct examine_head *ret);
/* The names of one that was accepted, one after the other: *at begins with 0. False: that was all. */
bool examine_answer__next(const void *msg, size_t len, size_t *at, struct examine_named *ret);

#endif
