// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/dump_name.h"
#include "common/json_text.h"
#include "dump/base/base_scan.h"
#include "dump/base/removal_log.h"
#include "dump/base/manifest.h"
#include "dump/base/recovery.h"
#include "perfdata/marker.h"

#define DRAFT_MAX (16 << 20)

/* The content of the draft; NULL: it does not exist or cannot be read. */
static json_t *read_draft(const struct base_scan *s, const struct base_incident *inc)
{
	_cleanup_close_ int fd = -1;
	struct buf text = { 0 };
	char file[64];
	json_t *j = NULL;

	if (!(inc->files & BASE_DRAFT))
		return NULL;
	snprintf(file, sizeof(file), BASE_DIR_DRAFT_PREFIX "%s.json", inc->name);
	fd = openat(s->b->incidents_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && buf__read_fd(&text, fd, DRAFT_MAX) == 0 && text.len)
		j = json_loadb(text.data, text.len, 0, NULL);
	buf__free(&text);
	if (json_is_object(j))
		return j;
	json_decref(j);
	return NULL;
}

static json_t *json_found(const struct marker_found *m)
{
	const struct marker_trigger *t = &m->text;
	json_t *time = manifest__moment(m->realtime_offset, m->time);

	if (strcmp(t->source, "manual") == 0)
		return json_pack("{s:n, s:s, s:o, s:o}", "rule", "source", "manual", "reason",
				 json_text(t->reason, SIZE_MAX), "time", time);
	return json_pack("{s:o, s:o, s:s, s:o, s:I, s:I, s:o, s:I, s:{s:I, s:I, s:o, s:o}}", "rule",
			 json_text(t->rule, SIZE_MAX), "when", json_text(t->source, SIZE_MAX),
			 "source", "unknown", "time", time, "value_ns", (json_int_t)t->value_ns,
			 "threshold_ns", (json_int_t)t->threshold_ns, "key",
			 *t->key ? json_text(t->key, SIZE_MAX) : json_null(), "cpu",
			 (json_int_t)m->cpu, "subject", "pid", (json_int_t)t->pid, "tid",
			 (json_int_t)t->tid, "comm", json_text(t->comm, SIZE_MAX), "process",
			 json_text(t->process, SIZE_MAX));
}

static int add_found_dump(const struct marker_found *m, void *arg)
{
	return json_array_append_new(arg, json_found(m)) ? -ENOMEM : 0;
}

/* Read the markers of the first dump that has any. Empty: none has. */
static json_t *read_markers(const struct base_scan *s, const struct base_incident *inc)
{
	json_t *list = json_array();
	char file[DUMP_NAME_SIZE];

	for (size_t i = 0; list && i < s->n_sessions && !json_array_size(list); i++) {
		_cleanup_close_ int fd = -1;

		if (!dump_name__find(s->sessions[i].fd, inc->name, file))
			fd = openat(s->sessions[i].fd, file,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			marker_file__triggers(fd, add_found_dump, list);
	}
	return list;
}

/* Make a manifest from markers, if the draft cannot be used. NULL: there are no markers. */
static json_t *make_found_incident(const struct base_scan *s, const struct base_incident *inc)
{
	json_t *triggers = read_markers(s, inc);

	if (!json_array_size(triggers)) {
		json_decref(triggers);
		return NULL;
	}
	return json_pack("{s:i, s:s, s:s, s:o, s:[]}", "schema", MANIFEST_SCHEMA, "incident",
			 inc->name, "names", "partial", "triggers", triggers, "merged");
}

/* Make a manifest for files without a usable draft and without markers. */
static json_t *make_stranger(const struct base_incident *inc)
{
	return json_pack("{s:i, s:s, s:[{s:n, s:s, s:s}], s:[]}", "schema", MANIFEST_SCHEMA,
			 "incident", inc->name, "triggers", "rule", "source", "unknown", "reason",
			 "found without a manifest, and without a marker in its files", "merged");
}

static json_t *recover_session(const struct base_scan *s, const struct base_session *session,
			       const struct base_incident *inc)
{
	char path[PATH_MAX + NAME_MAX + 80], file[DUMP_NAME_SIZE];
	struct stat st;

	if (dump_name__find(session->fd, inc->name, file) ||
	    fstatat(session->fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	snprintf(path, sizeof(path), "%s/%s/%s", s->b->path, session->name, file);
	return json_pack("{s:o, s:o, s:n, s:I}", "name",
			 json_text(session->name + strlen("session-"), NAME_MAX), "file",
			 json_text(path, sizeof(path)), "error", "bytes", (json_int_t)st.st_size);
}

static json_t *recover_sessions(const struct base_scan *s, const struct base_incident *inc)
{
	json_t *list = json_array(), *j;

	for (size_t i = 0; i < s->n_sessions; i++) {
		j = recover_session(s, &s->sessions[i], inc);
		if (j)
			json_array_append_new(list, j);
	}
	return list;
}

static void finish_incident(const struct base_scan *s, const struct base_incident *inc,
			    struct recovery_report *ret)
{
	json_t *m = read_draft(s, inc);
	size_t *count = m ? &ret->finished : &ret->adopted;
	_cleanup_free_ char *text = NULL;
	struct err err;

	m = m ?: make_found_incident(s, inc);
	m = m ?: make_stranger(inc);
	if (m && json_object_set_new(m, "sessions", recover_sessions(s, inc)) == 0 &&
	    json_object_set_new(m, "recovered", json_true()) == 0)
		text = json_dumps(m, JSON_INDENT(2));
	json_decref(m);
	if (text && base_dir__write_manifest(s->b, inc->name, text, strlen(text), &err) == 0)
		(*count)++;
	else
		ret->failed++;
}

/* Log an incident that was cut off before its first file, from its draft. */
static void log_cut_off(const struct base_scan *s, const struct base_incident *inc)
{
	json_t *m = read_draft(s, inc);
	struct buf lines = { 0 };
	struct err err;

	if (m && removal_log__add(&lines, inc->name, m, "killed before its first file", 0) == 0)
		removal_log__write(s->b, &lines, &err); /* if that fails, remove it anyway */
	buf__free(&lines);
	json_decref(m);
}

static void remove_rest_files(const struct base_scan *s, const struct base_incident *inc,
			      struct recovery_report *ret)
{
	uint64_t failed;

	if (base_scan__remove(s, inc, &failed))
		ret->failed++;
	else
		ret->removed++;
}

/* Set pending names to "partial": nobody will look them up any more. */
static int edit_names(json_t *manifest, void *arg)
{
	const char *names = json_string_value(json_object_get(manifest, "names"));

	if (!names || strcmp(names, "pending") != 0)
		return 0;
	return json_object_set_new(manifest, "names", json_string("partial")) ? -ENOMEM : 1;
}

static void recover_incident(const struct base_dir *b, const char *name,
			     struct recovery_report *ret)
{
	struct err err = { 0 };
	int code = manifest__edit(b, name, edit_names, NULL, &err);

	if (code && code != -ENOENT) /* leave what cannot be read as it is */
		ret->failed++;
	base_dir__drop_draft(b, name);
}

int recovery__run(const struct base_dir *b, struct recovery_report *ret)
{
	struct base_scan s;
	int err = base_scan__read(b, &s);

	*ret = (struct recovery_report){ 0 };
	for (size_t i = 0; !err && i < s.n; i++) {
		const struct base_incident *inc = &s.v[i];

		if (inc->files & BASE_GONE) {
			remove_rest_files(&s, inc, ret);
		} else if (inc->files & BASE_MANIFEST) {
			recover_incident(b, inc->name, ret);
		} else if (inc->n_dumps) {
			finish_incident(&s, inc, ret);
		} else {
			log_cut_off(&s, inc);
			remove_rest_files(&s, inc, ret);
		}
	}
	base_scan__free(&s);
	return err;
}
