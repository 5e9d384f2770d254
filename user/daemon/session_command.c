// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/nearest_word.h"
#include "daemon/session_command.h"

/*
 * Is the program found by the session's process, which has an empty environment? A relative path is
 * not checked: it counts from the session's directory.
 */
static bool has_program(const char *name)
{
	char dirs[256], path[PATH_MAX], *save = NULL;

	if (strchr(name, '/'))
		return name[0] != '/' || access(name, X_OK) == 0;
	if (!confstr(_CS_PATH, dirs, sizeof(dirs)))
		return true;
	for (char *dir = strtok_r(dirs, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (name[0] && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* "|", ">FILE", "2>&1", "&" ...: only a shell understands them, and no shell reads this line */
static bool is_shell_word(const char *word)
{
	return (*word && strchr("|<>", *word)) || !strcmp(word, "&") || !strcmp(word, "&&") ||
	       !strncmp(word, "2>", 2);
}

/* Does the command begin with "perf record", copied along with its options? */
static bool is_perf_record(char *const *command)
{
	if (!strcmp(command[0], "sudo"))
		command++;
	if (command[0] && !strcmp(command[0], "perf"))
		command++;
	return command[0] && !strcmp(command[0], "record");
}

static int no_program(struct diags *d, const struct source_text *src, struct span span,
		      const char *name)
{
	static const char *const words[] = { "evidence", NULL };

	if (is_shell_word(name))
		return diags__error(d, src, span,
				    "no shell reads this line: remove '%s' and what follows", name);
	if (nearest_word(name, strlen(name), words))
		return diags__error(d, src, span,
				    "there is no program '%s' for the session to run (did you mean "
				    "'evidence'?)",
				    name);
	return diags__error(d, src, span,
			    "there is no program '%s' for the session to run (options begin with "
			    "'-')",
			    name);
}

int session_command__check(struct diags *d, const struct source_text *src, struct span span,
			   char *const *command)
{
	if (is_perf_record(command))
		return diags__error(
			d, src, span,
			"a line has only what follows `perf record`: remove `perf record`");
	if (!has_program(command[0]))
		return no_program(d, src, span, command[0]);
	for (size_t i = 1; command[i]; i++)
		if (is_shell_word(command[i]))
			return diags__warn(d, src, span,
					   "no shell reads this line: '%s' becomes an argument of "
					   "%s; to use a shell, write sh -c '...'",
					   command[i], command[0]),
			       0;
	return 0;
}
