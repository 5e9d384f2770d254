// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/run_process.h"
#include "common/buf.h"
#include "common/cleanup.h"

#define PROGRAM "/proc/self/exe"

static const int handed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM };

static void handed_on_set(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
		sigaddset(ret, handed_on[i]);
}

int run_process__block_signals(sigset_t *ret_old)
{
	sigset_t set;

	handed_on_set(&set);
	return sigprocmask(SIG_BLOCK, &set, ret_old) < 0 ? -errno : 0;
}

/* ---- its arguments ---- */

struct args { /* words, each with a NUL */
	struct buf text;
	size_t n;
	int err;
};

static void args__add(struct args *a, const char *name, const char *value)
{
	a->err = a->err ?: buf__printf(&a->text, "%s%s%s", name, value ? "=" : "", value ?: "");
	a->err = a->err ?: buf__add(&a->text, "", 1);
	a->n++;
}

static void args__add_opts(struct args *a, const struct run_opts *o)
{
	char value[32];

	if (o->rules)
		args__add(a, "--rules", o->rules);
	for (size_t i = 0; i < o->n_whens; i++) {
		args__add(a, "--when", o->whens[i].when);
		if (o->whens[i].condition)
			args__add(a, "--if", o->whens[i].condition);
	}
	for (size_t i = 0; i < o->n_sessions; i++)
		args__add(a, "--session", o->sessions[i]);
	for (size_t i = 0; i < o->n_thresholds; i++) {
		snprintf(value, sizeof(value), "=%lluns", (unsigned long long)o->thresholds[i].ns);
		a->err = a->err ?: buf__printf(&a->text, "--threshold=%s", o->thresholds[i].rule);
		args__add(a, value, NULL);
	}
	if (o->as_user)
		args__add(a, "--user", o->user);
	if (o->log)
		args__add(a, "--log", o->log);
	if (o->optional)
		args__add(a, "--optional", NULL);
	if (o->matches_only)
		args__add(a, "--matches-only", NULL);
	args__add(a, "--last-window", o->last_window ? NULL : "no");
	args__add(a, "--quiet", NULL);
}

/*
 * The words, followed by @command, NULL-terminated. The caller frees the list; the words belong to
 * @a. NULL: out of memory.
 */
static char **args__list(const struct args *a, char *const *command)
{
	size_t n_command = 0, k = 0;
	const char *word = a->text.data;
	char **list;

	while (command[n_command])
		n_command++;
	list = a->err ? NULL : calloc(a->n + n_command + 1, sizeof(*list));
	for (; list && k < a->n; k++, word += strlen(word) + 1)
		list[k] = (char *)word;
	for (size_t i = 0; list && i < n_command; i++)
		list[k++] = command[i];
	return list;
}

/* ---- its life ---- */

/*
 * Wait for the end of @pid, and forward signals to it, but not those of the terminal: the process
 * gets these itself.
 */
static int run_process__wait(pid_t pid)
{
	siginfo_t si;
	sigset_t set;
	int status;

	handed_on_set(&set);
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(&set, &si) > 0 && si.si_signo != SIGCHLD && si.si_code != SI_KERNEL)
			kill(pid, si.si_signo);
	}
}

static int run_process__spawn(char *const *argv, const sigset_t *mask, pid_t *ret)
{
	posix_spawnattr_t attr;
	int err = posix_spawnattr_init(&attr);

	if (err)
		return -err;
	err = posix_spawnattr_setsigmask(&attr, mask);
	err = err ?: posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = err ?: posix_spawn(ret, PROGRAM, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -err;
}

int run_process__run(const struct run_opts *opts, const char *directory, const sigset_t *mask,
		     struct err *err, int *ret_status)
{
	struct args a = { 0 };
	char **argv;
	pid_t pid;
	int code;

	args__add(&a, "frbpf", NULL);
	args__add(&a, "run", NULL);
	args__add(&a, "--output", directory);
	args__add_opts(&a, opts);
	args__add(&a, "--", NULL);
	argv = args__list(&a, opts->command);
	code = argv ? run_process__spawn(argv, mask, &pid) : -ENOMEM;
	free(argv);
	buf__free(&a.text);
	code = code ?: run_process__wait(pid);
	if (code < 0)
		return err_set(err, code, "frbpf run cannot be started: %s", strerror(-code));
	*ret_status = code;
	return 0;
}

#define SUMMARY_MAX (64 << 20) /* bytes */

static json_t *summary__load(int dir, struct err *err)
{
	_cleanup_close_ int fd =
		openat(dir, "summary.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_error_t why;
	struct buf text = { 0 };
	struct stat st;
	json_t *root;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, -errno, "summary.json: %s", strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > SUMMARY_MAX) {
		err_set(err, -EINVAL, "summary.json: not a file of ours");
		return NULL;
	}
	code = buf__read_fd(&text, fd, SUMMARY_MAX);
	if (code) {
		err_set(err, code, "summary.json: %s", strerror(-code));
		buf__free(&text);
		return NULL;
	}
	root = json_loadb(text.len ? text.data : "", text.len, 0, &why);
	buf__free(&text);
	if (!root)
		err_set(err, -EINVAL, "summary.json: line %d: %s", why.line, why.text);
	return root;
}

int run_summary__read(int dir, struct err *err, struct run_summary *ret)
{
	struct run_summary s = { .root = summary__load(dir, err) };
	const json_t *command = json_object_get(s.root, "command");
	const json_t *status = json_object_get(command, "exit_status");
	const char *end = json_string_value(json_object_get(s.root, "ended_by"));

	if (!s.root)
		return -EINVAL;
	s.recorded = json_is_true(json_object_get(s.root, "recorded"));
	s.reason = json_string_value(json_object_get(s.root, "reason")) ?: "";
	s.signal = json_integer_value(json_object_get(command, "signal"));
	s.status = s.signal ? 128 + s.signal : json_integer_value(status);
	s.command_ended = json_is_integer(status) && end && strcmp(end, "command") == 0;
	s.rules = json_object_get(s.root, "rules");
	s.incidents = json_object_get(s.root, "incidents");
	if (!json_is_object(command) || !json_is_array(s.rules) || !json_is_array(s.incidents)) {
		json_decref(s.root);
		return err_set(err, -EINVAL, "summary.json: a field is missing");
	}
	*ret = s;
	return 0;
}

static uint64_t json_number(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? n : 0;
}

/* The bucket that begins at @ns. */
static int bucket_of(uint64_t ns)
{
	return ns > 1 ? 63 - __builtin_clzll(ns) : 0;
}

static void read_histogram(const json_t *j, struct histogram *ret)
{
	const json_t *buckets = json_object_get(j, "buckets"), *b;
	size_t i;

	*ret = (struct histogram){ .n = json_number(j, "n"),
				   .max = json_number(j, "max_ns"),
				   .sum = json_number(j, "sum_ns") };
	json_array_foreach (buckets, i, b) {
		int k = bucket_of(json_number(b, "from_ns"));

		if (k < FRBPF_MAX_VALUES)
			ret->buckets[k] = json_number(b, "n");
	}
}

bool run_summary__histogram(const json_t *rule, struct histogram *ret)
{
	const json_t *values = json_object_get(rule, "values");
	bool has_values = json_is_object(values);

	read_histogram(has_values ? values : json_object_get(rule, "matches"), ret);
	return has_values;
}

/* Are the rules those of the series? The rules file may have changed. */
static bool summary__has_rules(const struct run_summary *s, const struct series *of)
{
	const json_t *rule;
	size_t i;

	if (json_array_size(s->rules) != of->n_rules)
		return false;
	json_array_foreach (s->rules, i, rule) {
		const char *name = json_string_value(json_object_get(rule, "name"));

		if (!name || strcmp(name, of->rules[i].name) != 0)
			return false;
	}
	return true;
}

int run_summary__sample(const struct run_summary *s, struct series *to, struct err *err)
{
	const json_t *cost = json_object_get(s->root, "cost"), *rule;
	struct run_sample *run;
	struct machine_use *m;
	size_t i;

	if (!json_is_object(cost))
		return err_set(err, -EINVAL, "the run was not measured");
	if (!summary__has_rules(s, to))
		return err_set(err, -EINVAL, "the rules file has changed between two runs");
	run = series__add(to);
	if (!run)
		return err_set(err, -ENOMEM, "out of memory");
	m = &run->machine;
	run->wall = json_number(cost, "wall_ns");
	run->cpu = json_number(cost, "cpu_ns");
	run->switches = json_number(cost, "switches");
	run->preempted = json_number(cost, "preempted");
	m->capacity = json_number(cost, "capacity_ns");
	m->others = json_number(cost, "others_ns");
	m->steal = json_number(cost, "steal_ns");
	m->throttled = json_number(cost, "throttled_ns");
	m->hot = json_number(cost, "hot");
	m->pressure_cpu = json_number(cost, "pressure_cpu_ns");
	m->pressure_io = json_number(cost, "pressure_io_ns");
	m->pressure_memory = json_number(cost, "pressure_memory_ns");
	json_array_foreach (s->rules, i, rule) {
		run_summary__histogram(rule, &run->rules[i]);
	}
	return 0;
}

void run_summary__free(struct run_summary *s)
{
	json_decref(s->root);
	*s = (struct run_summary){ 0 };
}
