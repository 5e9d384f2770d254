// SPDX-License-Identifier: GPL-2.0-only
/*
 * Manifests that `frbpf show` and `ls` read. They are untrusted: people pass incidents on, and
 * others choose names in them.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "confine/reading.h"
#include "fuzz_dir.h"

/*
 * These replace the library's functions. The fuzzer itself writes files, and sanitizers need much
 * address space.
 */
int reading__begin_command(void)
{
	return 0;
}

/* Not called: only for `frbpf show --kallsyms`. */
int reading__run(reading_fn fn, void *arg, unsigned int seconds, int out, struct err *err,
		 json_t **ret)
{
	return -ENOSYS;
}

static void run_command(const struct command *cmd, const char *option)
{
	char *argv[] = { (char *)cmd->name, (char *)"--base", fuzz_dir, (char *)option, NULL };

	optind = 0; /* restarts getopt() */
	cmd->run(option ? 4 : 3, argv);
	fflush(stdout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL);
	int dir = fuzz_dir__open();

	if (!json) /* the commands would only print an error of jansson */
		return 0;
	json_decref(json);
	mkdirat(dir, "incidents", 0700);
	fuzz_dir__write("incidents/2026010100000000.json", data, size);
	if (!freopen("/dev/null", "w", stdout))
		return 0;
	run_command(&cmd_show, NULL);
	run_command(&cmd_show, "--json");
	run_command(&cmd_ls, NULL);
	run_command(&cmd_ls, "--json");
	unlinkat(dir, "incidents/2026010100000000.json", 0);
	unlinkat(dir, "incidents", AT_REMOVEDIR);
	return 0;
}
