// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "daemon/daemon_core.h"
#include "record/event_attr.h"

/* The index of the session of @x in the active set in force; -ENOENT: it has been replaced. */
static int find_proxy_session(const struct daemon *d, const struct proxy *x)
{
	const struct active_set *g = recorder__active_set(d->bring_up.recorder);

	for (size_t i = 0; i < g->n_dumpers; i++) {
		if (g->dumpers[i]->proxy == x)
			return i;
	}
	return -ENOENT;
}

/*
 * Dump a session. As in perf, a plain session without --switch-output ignores the request: its file
 * has everything already.
 */
static void dump_session(struct daemon *d, const struct proxy *x, int i, const char *what)
{
	if (!dumper__makes_dumps(recorder__active_set(d->bring_up.recorder)->dumpers[i]))
		return;
	if (recorder__dump(d->bring_up.recorder, 1ULL << i, what) < 0)
		log_warn("session '%s': %s: too many dumps are in progress: this one is skipped",
			 x->name, what);
}

/* End a session. @why NULL: its process was killed, so no last dump is made. */
static void stop_session(struct daemon *d, struct proxy *x, int i, enum session_end end,
			 const char *why)
{
	if (d->stop || x->over)
		return;
	log_info("session '%s' ends: %s", x->name, why ?: "its process was killed");
	rulebook__end_session(d->rulebook, i, why ? end : SESSION_KILLED);
}

/* Handle "enable" and "disable" of the control fifo, for one event or all. */
static void switch_events(const struct dumper *d, struct proxy *x, const char *event, bool on)
{
	char line[PROXY_TEXT_MAX];
	int err = session__switch(d->session, event, on);

	if (err == -ENOENT)
		snprintf(line, sizeof(line), "failed: can't find '%s' event\n", event);
	else if (err)
		snprintf(line, sizeof(line), "failed: %s\n", strerror(-err));
	else if (event)
		snprintf(line, sizeof(line), "Event %s %sabled\n", event, on ? "en" : "dis");
	else
		snprintf(line, sizeof(line), "Events %sabled\n", on ? "en" : "dis");
	proxy__print(x, line);
}

/* Describe an event like perf evlist: its name; with -F its rate, with -v all attributes. */
static void describe_event(const struct event *ev, const char *options, struct buf *b)
{
	int err = buf__add_str(b, ev->name);

	if (strstr(options, "-v"))
		err = err ?: buf__add_str(b, ": ") ?: attr_text__format(&ev->attr, b);
	else if (strstr(options, "-F"))
		err = err
			      ?: buf__printf(b, ": sample_%s=%llu",
					     ev->attr.freq ? "freq" : "period",
					     (unsigned long long)ev->attr.sample_freq);
	if (err || buf__add_str(b, "\n"))
		log_error("out of memory for the list of events");
}

static void list_session_events(const struct dumper *d, struct proxy *x, const char *options)
{
	for (size_t i = 0; i < d->session->events->n; i++) {
		struct buf b = { 0 };

		describe_event(&d->session->events->v[i], options ?: "", &b);
		proxy__print(x, b.data ?: "");
		buf__free(&b);
	}
}

/* Handle a line of the control fifo. It is acknowledged when it is done. */
static void control_session(struct daemon *d, struct proxy *x, int i, const char *line)
{
	const struct dumper *dumper = recorder__active_set(d->bring_up.recorder)->dumpers[i];
	const char *rest = strchr(line, ' ');
	size_t len = rest ? (size_t)(rest - line) : strlen(line);

	rest = rest ? rest + strspn(rest, " ") : NULL;
	rest = rest && *rest ? rest : NULL;
	if (len == 6 && !strncmp(line, "enable", 6))
		switch_events(dumper, x, rest, true);
	else if (len == 7 && !strncmp(line, "disable", 7))
		switch_events(dumper, x, rest, false);
	else if (len == 6 && !strncmp(line, "evlist", 6))
		list_session_events(dumper, x, rest);
	proxy__ack(x);
}

static void on_proxy(struct proxy *x, enum proxy_op op, const char *text, void *arg)
{
	struct daemon *d = arg;
	int i = find_proxy_session(d, x);

	if (op == PROXY_TROUBLE)
		log_warn("session '%s': %s", x->name, text);
	else if (i < 0 && op == PROXY_CONTROL)
		proxy__ack(x); /* the session was just ended, by "stop" */
	else if (i >= 0 && op == PROXY_CONTROL)
		control_session(d, x, i, text);
	else if (i >= 0 && op == PROXY_DUMP)
		dump_session(d, x, i, text);
	else if (i >= 0 && op == PROXY_STOP)
		stop_session(d, x, i, SESSION_STOPPED, text);
	else if (i >= 0 && op == PROXY_EXITED)
		stop_session(d, x, i, SESSION_OVER, text);
}

void session_events__end_full(struct daemon *d)
{
	const struct active_set *g = recorder__active_set(d->bring_up.recorder);

	for (size_t i = 0; i < g->n_dumpers; i++) {
		struct dumper *dumper = g->dumpers[i];

		if (!atomic_load(&dumper->full) || dumper->full_seen || !dumper->proxy)
			continue;
		dumper->full_seen = true;
		stop_session(d, dumper->proxy, i, SESSION_STOPPED, "its file is complete");
		return; /* the sessions have changed */
	}
}

void session_events__process(struct daemon *d)
{
	proxies__process(d->proxies, on_proxy, d);
}

/* Uses perf record's messages, as its users wait for them. */
void session_events__report_dump(const struct daemon *d, const struct incident *inc)
{
	char text[1024];

	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		const struct dump_result *res = &inc->results[i];
		struct proxy *x = res->session ? inc->active->dumpers[i]->proxy : NULL;

		if (!x)
			continue;
		if (res->error)
			snprintf(text, sizeof(text), "failed: %s\n", res->error_text);
		else if (d->stop || x->over)
			snprintf(text, sizeof(text),
				 "[ perf record: Woken up 1 times to write data ]\n"
				 "[ perf record: Dump %s ]\n"
				 "[ perf record: Captured and wrote %.3f MB "
				 "%s.<timestamp> ]\n",
				 res->file, res->bytes / 1024.0 / 1024.0,
				 res->session->output.name[0] ? res->session->output.name
							      : "perf.data");
		else
			snprintf(text, sizeof(text),
				 "[ perf record: dump data: Woken up 1 times ]\n"
				 "[ perf record: Dump %s ]\n",
				 res->file);
		proxy__print(x, text);
	}
}

void session_events__dump_last(struct daemon *d)
{
	const struct active_set *g = recorder__active_set(d->bring_up.recorder);
	uint64_t all = active_set__all_sessions(g);

	for (size_t i = 0; d->opts->perf_habits && i < g->n_dumpers; i++)
		dumper__set_ends(g->dumpers[i]);
	if (d->opts->perf_habits && all &&
	    recorder__dump(d->bring_up.recorder, all, "the recorder ends") < 0)
		log_warn("too many dumps are in progress: the final one is skipped");
}
