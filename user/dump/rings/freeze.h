/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking the content of many rings at one moment. Two ways:
 *
 *	pause  flag every ring as paused, copy them, resume each as soon as it is copied. One
 *	       instant over all CPUs; what happens on a CPU while its ring is paused is lost, and
 *	       counted by the kernel.
 *	live   only read the heads; copy later, in any thread, while writers go on. Nothing is
 *	       lost; the oldest part that writers reach during the copy is given up.
 */
#ifndef FRBPF_DUMP_RINGS_FREEZE_H
#define FRBPF_DUMP_RINGS_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/session.h"
#include "rules/ruleset.h"

/* What was seen of one ring. Times in ns; paused 0: it was not. */
struct ring_shot {
	uint64_t head;	/* when frozen */
	uint64_t after; /* after the copy: what lies between was claimed by writers meanwhile */
	uint64_t paused, resumed;
};

struct freeze_report {
	uint64_t begun;	   /* before the first ring was paused or read */
	uint64_t frozen;   /* after the last one was */
	uint64_t finished; /* after the last was copied and resumed; live: equal to frozen */
	uint64_t bytes;	   /* copied */
	bool live;
};

/* Longest time, by estimate, that rings may be paused for, and that a real-time thread may copy
 * for. */
#define FREEZE_PAUSE_MAX_NS 5000000ULL

/* What copying into touched memory costs on this machine, measured: ns per MiB. */
uint64_t freeze__measure_copy(void);

/* Whether copying @bytes stays below FREEZE_PAUSE_MAX_NS: then it may be done paused, and in real
 * time. */
bool freeze__is_short(uint64_t bytes, uint64_t ns_per_mib);

/* Pause all rings of @sessions; shots[i] has one entry per CPU of session i. Begins @ret. */
void freeze__pause(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		   struct freeze_report *ret);
/* Then copy them and resume each as soon as it is copied. Completes @ret. */
void freeze__copy_and_resume(struct session *const *sessions, struct ring_shot *const *shots,
			     size_t n, struct freeze_report *ret);

/* Read the heads of all rings; freeze__copy_live() must follow for every session. */
void freeze__mark(struct session *const *sessions, struct ring_shot *const *shots, size_t n,
		  struct freeze_report *ret);
void freeze__copy_live(struct session *s, struct ring_shot *shots);

/* When the rings of one CPU were paused, the last few times: what a LOST record in a ring is
 * explained by. */
#define GAP_LOG_SIZE 16

struct gap_log {
	struct {
		uint64_t paused, resumed; /* ns */
	} v[GAP_LOG_SIZE];
	size_t n; /* ever added */
};

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed);
/* The last pause that began at or before @time; false when there is none. A ring takes records
 * again before `resumed` was read, so the LOST record of a pause can be older than its end. */
bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed);

#endif
