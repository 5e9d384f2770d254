// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/merge/merge.h"
#include "cmd/cmd.h"
#include "cmd/operand.h"
#include "common/log.h"
#include "common/new_file.h"
#include "common/printable.h"
#include "confine/reading.h"

#define SECONDS_MAX 3600 /* of CPU time */

/* Add the recordings of @what to @all. 0, or EXIT_FAILED with an error printed. */
static int add_operand(const struct location_hint *hint, const char *what, struct recordings *all)
{
	struct recordings found = { 0 };
	int status = cmd_find_recordings(hint, what, &found);

	for (size_t i = 0; i < found.n && !status; i++) {
		for (size_t k = 0; k < found.v[i].n_files && !status; k++)
			if (recordings__add(all, found.v[i].name, found.v[i].files[k])) {
				log_error("out of memory");
				status = EXIT_FAILED;
			}
	}
	recordings__free(&found);
	return status;
}

static const char **list_paths(const struct recordings *r, size_t *ret_n)
{
	const char **v;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].n_files;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return NULL;
	*ret_n = 0;
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->v[i].n_files; k++)
			v[(*ret_n)++] = r->v[i].files[k];
	return v;
}

/* Runs in a process that can only read. NULL: an error was printed. */
static json_t *merge_to_json(void *arg)
{
	const struct merge_request *req = arg;
	struct merge_result res;
	struct err err = { 0 };

	if (merge__files(req, &err, &res)) {
		log_error("%s", make_printable(err.msg));
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I}", "records", (json_int_t)res.records, "doubles",
			 (json_int_t)res.doubles, "refused", (json_int_t)res.refused);
}

static void print_result(const struct merge_request *req, const json_t *res)
{
	json_int_t refused = json_integer_value(json_object_get(res, "refused"));
	json_int_t doubles = json_integer_value(json_object_get(res, "doubles"));

	if (refused)
		log_warn("%lld records of %s were left out: perf cannot read them",
			 (long long)refused, req->out);
	printf("%s: %lld records of %zu file%s", req->out,
	       (long long)json_integer_value(json_object_get(res, "records")), req->n_paths,
	       req->n_paths == 1 ? "" : "s");
	if (doubles)
		printf(", %lld duplicates left out", (long long)doubles);
	putchar('\n');
}

static int merge_to_file(const struct merge_request *req, struct new_file *f)
{
	struct err err = { 0 };
	json_t *res = NULL;
	int code = reading__run(merge_to_json, (void *)req, SECONDS_MAX, f->fd, &err, &res);

	if (code) {
		if (err.msg[0])
			log_error("%s", err.msg);
		new_file__drop(f);
		return EXIT_FAILED;
	}
	code = new_file__publish(f);
	if (code)
		log_error("%s: cannot be written: %s", req->out, strerror(-code));
	else
		print_result(req, res);
	json_decref(res);
	return code ? EXIT_FAILED : EXIT_DONE;
}

static int merge_recordings(const struct recordings *r, struct merge_request *req, bool replace)
{
	const char **paths = list_paths(r, &req->n_paths);
	struct err err = { 0 };
	struct new_file f;
	int status = EXIT_FAILED;

	req->paths = paths;
	if (!paths) {
		log_error("out of memory");
	} else if (new_file__create("-o", req->out, 0600, replace, &err, &f)) {
		log_error("%s", err.msg);
	} else {
		req->fd = f.fd;
		status = merge_to_file(req, &f);
	}
	free(paths);
	return status;
}

static int run_merge(int argc, char **argv)
{
	static const struct option long_opts[] = { { "output", required_argument, NULL, 'o' },
						   { "force", no_argument, NULL, 'f' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct recordings found = { 0 };
	struct location_hint hint = { 0 };
	struct merge_request req = { .out = NULL };
	bool replace = false;
	enum cmd_parse p;
	int opt, status = 0;

	while ((p = cmd_next_option(&cmd_merge, argc, argv, ":o:fh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'o')
			req.out = optarg;
		else
			replace = true;
	}
	if (p == CMD_EXIT)
		return opt;
	if (!req.out)
		return cmd_usage_error(&cmd_merge, "-o FILE is required: the file for the result");
	if (optind == argc)
		return cmd_usage_error(&cmd_merge, "takes the recordings to merge");
	for (int i = optind; i < argc && !status; i++)
		status = add_operand(&hint, argv[i], &found);
	argv[0] = (char[]){ "frbpf merge" };
	req.cmdline = (const char *const *)argv;
	status = status ?: merge_recordings(&found, &req, replace);
	recordings__free(&found);
	return status;
}

const struct command cmd_merge = {
	.name = "merge",
	.run = run_merge,
	.usage = "[-f] -o FILE RECORDING...",
	.summary = "one perf.data file from several, in the order of time",
	.help = "A RECORDING is a perf.data file of this machine, such as a dump; a directory "
		"(all\n"
		"perf.data* below it); or an incident as for `frbpf show`. Records that several\n"
		"files contain are written once. All times must be from one clock: record with\n"
		"`perf record -k CLOCK_MONOTONIC`.\n\n"
		"  -o, --output FILE   the merged file\n"
		"  -f, --force         replace FILE if it exists\n",
};
