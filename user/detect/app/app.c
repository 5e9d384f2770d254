// SPDX-License-Identifier: GPL-2.0-only
/* app: messages that programs send to the application socket. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/proc_file.h"
#include "detect/app/app_socket.h"
#include "detect/inject/inject.h"

#define TID_KEY "tid"

struct app {
	struct app_client client; /* first, so that it converts to struct app */
	struct app_socket *socket;
	struct inject *inject;
	/* The values of a message that the rules of each bank need, by slot; "": none. The inactive
	 * bank is written while the thread reads the other one. */
	struct app_want {
		char key[APP_KEY_MAX + 1];
		bool is_string;
	} want[2][FRBPF_MAX_ARGS];
};

/* Get the thread that sent @m, as @m says: the kernel reports only the process. */
static pid_t thread_of(const struct app_message *m, pid_t pid)
{
	const struct app_arg *arg = app_message__arg(m, TID_KEY);
	pid_t tid = arg && arg->number > 0 && arg->number <= INT32_MAX ? arg->number : pid;

	return tid == pid || proc_file__is_thread(pid, tid) ? tid : pid;
}

static void fill_sender(const struct app *a, const struct app_message *m,
			const struct app_sender *s, struct frbpf_event *e)
{
	int cpu;

	e->val[EVENT_SUBJECT][FRBPF_FIELD_UID][0] = s->uid;
	e->val[EVENT_SUBJECT][FRBPF_FIELD_PID][0] = s->pid;
	if (s->pid) {
		pid_t tid = thread_of(m, s->pid);

		proc_subject__fill(e, EVENT_SUBJECT, tid,
				   inject__wants(a->inject, FRBPF_FIELD_CGROUP));
		cpu = proc_subject__cpu(tid);
		e->cpu = cpu < 0 ? 0 : cpu;
	}
	proc_subject__set_current(e);
}

static void fill_args(const struct app *a, const struct app_message *m, uint32_t bank,
		      struct frbpf_event *e)
{
	__u64(*val)[2] = e->val[EVENT_SUBJECT] + FRBPF_FIELD_ARG;

	memset(val, 0, FRBPF_MAX_ARGS * sizeof(*val));
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		const struct app_want *want = &a->want[bank][i];
		const struct app_arg *arg = want->key[0] ? app_message__arg(m, want->key) : NULL;

		if (arg && want->is_string)
			memcpy(val[i], arg->text, sizeof(arg->text));
		else if (arg)
			val[i][0] = arg->number;
	}
	e->bank = 1 + bank;
}

/* Evaluate a message. If other rules come into force meanwhile, fill the event in again. */
static void on_app_message(struct app_client *c, const struct app_message *m,
			   const struct app_sender *s)
{
	const struct app *a = (const struct app *)c;
	struct frbpf_event e = { .time = s->time, .value = m->duration };
	int err;

	fill_sender(a, m, s, &e);
	if (inject__is_outside(a->inject, s->pid, &e))
		return;
	e.in_scope = 1;
	do {
		fill_args(a, m, inject__bank(a->inject), &e);
		err = inject__event(a->inject, &e);
	} while (err == -EAGAIN);
}

static int app_load(struct source *s, const struct source_env *env)
{
	struct app *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	s->skel = a;
	a->socket = env->app_socket;
	a->client.name = s->target;
	a->client.fn = on_app_message;
	return inject__load(s, env, &a->inject);
}

static int app_attach(struct source *s)
{
	struct app *a = s->skel;

	return app_socket__join(a->socket, &a->client, s->err);
}

static int app_write(struct source *s, uint32_t bank, const struct rule_table *table,
		     struct err *err)
{
	struct app *a = s->skel;

	memset(a->want[bank], 0, sizeof(a->want[bank]));
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		const struct rule_arg *arg = table->args[i];

		if (!arg)
			continue;
		snprintf(a->want[bank][i].key, sizeof(a->want[bank][i].key), "%s", arg->name);
		a->want[bank][i].is_string = arg->type == EXPR_STRING;
	}
	return 0;
}

static void app_free(struct source *s)
{
	struct app *a = s->skel;

	if (!a)
		return;
	app_socket__leave(a->socket, &a->client);
	inject__free(a->inject);
	free(a);
}

const struct source_ops source_app = {
	.source = FRBPF_SOURCE_APP,
	.name = "app",
	.elf = inject__elf,
	.load = app_load,
	.attach = app_attach,
	.write = app_write,
	.free = app_free,
};
