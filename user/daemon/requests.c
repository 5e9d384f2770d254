// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/printable.h"
#include "daemon/daemon_core.h"
#include "daemon/recorder.h"
#include "daemon/status_json.h"
#include "rules/rules_files.h"

static void answer_dump(struct daemon *d, struct waiting_dump *w, const struct incident *inc)
{
	json_t *files = json_array(), *errors = json_array();
	char path[PATH_MAX + 256];

	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		const struct dump_result *res = &inc->results[i];

		if (!res->session)
			continue;
		snprintf(path, sizeof(path), "%s/session-%s/%s", d->base.path, res->session->name,
			 res->error ? "" : res->file);
		if (res->error)
			json_array_append_new(errors,
					      json_sprintf("session '%s': %s", res->session->name,
							   res->error_text));
		else
			json_array_append_new(files, json_text(path, SIZE_MAX));
	}
	control_client__reply(w->client, json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "incident",
						   inc->name, "files", files, "errors", errors));
	w->client = NULL;
}

void requests__answer_dump(struct daemon *d, const struct incident *inc)
{
	for (size_t i = 0; i < DUMPS_WAITING_MAX; i++) {
		if (d->waiting[i].client && d->waiting[i].incident == inc->number)
			answer_dump(d, &d->waiting[i], inc);
	}
}

static void serve_status(struct daemon *d, struct control_client *c, const json_t *request)
{
	struct status_sources s = {
		.base = d->base.path,
		.rules_path = rulebook__path(d->rulebook),
		.started = d->started,
		.recorder = d->bring_up.recorder,
		.detectors = d->bring_up.detectors,
		.sideband = d->bring_up.sideband,
		.overlay = rulebook__overlay(d->rulebook),
		.retainer = d->retainer,
		.examiner = d->opts->examiner,
	};

	control_client__reply(
		c, status_json__make(&s, json_is_true(json_object_get(request, "held"))));
}

static void serve_ping(struct daemon *d, struct control_client *c, const json_t *request)
{
	control_client__reply(c, json_pack("{s:b, s:i}", "ok", 1, "pid", (int)getpid()));
}

static void serve_load(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *path = json_string_value(json_object_get(request, "path"));
	struct buf text = { 0 };
	int err;

	if (!path || path[0] != '/' || strlen(path) >= RULES_FILES_LIST_MAX) {
		control_client__refuse(c, "load: no absolute path in the request");
		return;
	}
	err = rulebook__load(d->rulebook, path, &text);
	if (err)
		control_client__reply(
			c, json_pack("{s:b, s:o}", "ok", 0, "error",
				     json_text(text.len ? text.data : strerror(-err), SIZE_MAX)));
	else
		control_client__reply(c, json_pack("{s:b, s:i, s:o}", "ok", 1, "pid", (int)getpid(),
						   "warnings",
						   json_text(text.len ? text.data : "", SIZE_MAX)));
	buf__free(&text);
}

static void serve_dump(struct daemon *d, struct control_client *c, const json_t *request)
{
	const struct active_set *g = recorder__active_set(d->bring_up.recorder);
	const char *session = json_string_value(json_object_get(request, "session"));
	const char *reason = json_string_value(json_object_get(request, "reason"));
	uint64_t mask = active_set__all_sessions(g);
	struct waiting_dump *w = NULL;
	int64_t number;
	int i;

	if (session) {
		i = active_set__find_session(g, session);
		if (i < 0) {
			control_client__refuse(c, "no session '%s' here: `frbpf status` lists them",
					       session);
			return;
		}
		mask &= 1ULL << i;
	}
	if (!mask && g->n_dumpers) {
		control_client__refuse(c,
				       "%s%s%s its file all the time, without --switch-output: "
				       "there is nothing to dump; write --overwrite to have a ring",
				       session ? "session '" : "every session writes",
				       session ?: "", session ? "' writes" : "");
		return;
	}
	if (!mask) {
		control_client__refuse(c, "no session is recorded here");
		return;
	}
	for (i = 0; i < DUMPS_WAITING_MAX && !w; i++) {
		if (!d->waiting[i].client)
			w = &d->waiting[i];
	}
	number = w ? recorder__dump(d->bring_up.recorder, mask, reason ? reason : "frbpf dump")
		   : -EBUSY;
	if (number < 0) {
		control_client__refuse(
			c, "too many dumps are in progress: try again when they are written");
		return;
	}
	*w = (struct waiting_dump){ .client = c, .incident = number };
}

static uint64_t request_end_time(const json_t *request)
{
	json_int_t ns = json_integer_value(json_object_get(request, "for_ns"));

	return ns > 0 ? now_ns() + ns : OVERLAY_FOREVER;
}

static void send_request_answer(struct control_client *c, int code, const struct err *err)
{
	if (code)
		control_client__refuse(c, "%s", err->msg);
	else
		control_client__reply(c, json_pack("{s:b}", "ok", 1));
}

static void serve_mute(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "rule")) ?: "";
	bool off = json_is_true(json_object_get(request, "off"));
	struct err err = { 0 };

	send_request_answer(
		c, rulebook__mute(d->rulebook, name, off ? 0 : request_end_time(request), &err),
		&err);
}

static void serve_arm(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *when = json_string_value(json_object_get(request, "when")) ?: "";
	const char *condition = json_string_value(json_object_get(request, "if"));
	const char *off = json_string_value(json_object_get(request, "off"));
	char name[RULESET_NAME_MAX + 1];
	struct err err = { 0 };

	if (off)
		send_request_answer(c, rulebook__disarm(d->rulebook, off, &err), &err);
	else if (rulebook__arm(d->rulebook, when, condition, request_end_time(request), name, &err))
		control_client__refuse(c, "%s", err.msg);
	else
		control_client__reply(c, json_pack("{s:b, s:s}", "ok", 1, "rule", name));
}

void requests__note_stop(struct daemon *d, const char *what, int pid, unsigned int uid)
{
	struct buf comm = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (pid && buf__read_file(&comm, path, 64) == 0 && comm.len)
		comm.data[strcspn(comm.data, "\n")] = '\0';
	snprintf(d->stopped_by, sizeof(d->stopped_by), "by %s from %s (pid %d, uid %u)", what,
		 comm.len ? make_printable(comm.data) : "a process that has ended", pid, uid);
	buf__free(&comm);
	d->stop = true;
}

static void serve_stop(struct daemon *d, struct control_client *c, const json_t *request)
{
	struct ucred peer = { .uid = (uid_t)-1 };

	d->stopping[d->n_stopping++] = c;
	if (d->stop)
		return;
	control_client__peer(c, &peer);
	requests__note_stop(d, "a request", peer.pid, peer.uid);
}

static const struct {
	const char *name;
	void (*serve)(struct daemon *d, struct control_client *c, const json_t *request);
} requests[] = {
	{ "status", serve_status }, { "ping", serve_ping }, { "load", serve_load },
	{ "mute", serve_mute },	    { "arm", serve_arm },   { "dump", serve_dump },
	{ "stop", serve_stop },
};

void requests__serve(struct control_client *c, const json_t *request, void *arg)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	struct daemon *d = arg;

	if (d->ended) { /* the parts that could answer are gone */
		if (cmd && strcmp(cmd, "stop") == 0)
			serve_stop(d, c, request);
		else
			control_client__refuse(c, "the daemon is ending");
		return;
	}
	for (size_t i = 0; cmd && i < ARRAY_SIZE(requests); i++) {
		if (strcmp(requests[i].name, cmd) == 0) {
			requests[i].serve(d, c, request);
			return;
		}
	}
	control_client__refuse(c, "this daemon does not know the request '%s'", cmd ? cmd : "");
}

/* Also answers clients that asked while the last incidents were written. */
void requests__answer_stops(struct daemon *d)
{
	struct pollfd pfd = { .fd = d->control ? control__fd(d->control) : -1, .events = POLLIN };

	d->ended = true;
	for (int i = 0; i < CONTROL_CLIENTS_MAX && poll(&pfd, 1, 0) == 1; i++)
		control__process(d->control);
	for (size_t i = 0; i < d->n_stopping; i++)
		control_client__reply(d->stopping[i],
				      json_pack("{s:b, s:i}", "ok", 1, "pid", (int)getpid()));
}
