#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Names of static functions, as TAP: one test for each directory of user/. A name says what the function is about: it
# has more than one word, and no other file of user/ has it. So gdb, perf and grep find one function.
#
#	scripts/names.sh [DIRECTORY]	that has user/; the default is this tree
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# "NAME FILE" for each static function whose name is on the line with `static`
static_functions() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" -name '*.c' -print0 | sort -z | xargs -0 awk '
		/^static [^=;]*[a-z0-9_]+\(/ && !/inline/ {
			name = $0
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (name !~ /^__attribute/)
				print name, FILENAME
		}' | sort -u
}

n=0 failed=0
all=$(static_functions user)
for directory in user/*/; do
	directory=${directory%/}
	wrong=$(awk -v directory="$directory/" '
		index($2, directory) == 1 && $1 !~ /_/ {print $2 ": " $1 "() has no noun"}
		$1 == name && (index($2, directory) == 1 || index(file, directory) == 1) {
			print $2 ": " $1 "() is also in " file
		}
		{name = $1; file = $2}' <<<"$all")
	((++n))
	if [[ $wrong ]]; then
		echo "not ok $n - static functions of $directory"
		echo "# ${wrong//$'\n'/$'\n'# }"
		failed=1
	else
		echo "ok $n - static functions of $directory"
	fi
done
echo "1..$n"
exit $failed
