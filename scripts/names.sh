#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Names of static functions, as TAP: one test for each directory of user/, and one for bpf/. A name says what the
# function is about: it has more than one word, one of them is a noun, and no other file of user/ has it. So gdb, perf
# and grep find one function.
#
#	scripts/names.sh [DIRECTORY]	that has user/ and bpf/; the default is this tree
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# A name made of these words alone says nothing: verbs, prepositions, pronouns and the like.
no_nouns='about|add|all|and|as|at|before|below|by|do|find|first|for|from|get|give|gone|has|in|into|is|it|keep|make|mark'
no_nouns+='|merge|new|next|not|of|off|old|on|one|or|other|out|own|read|rest|same|second|set|take|tell|that|then|this|to'
no_nouns+='|too|try|two|up|wanted|whole|why|with|write'

# "NAME FILE" for each static function whose name is on the line with `static`; in BPF programs also for inline ones
# and for those that the verifier checks by themselves
static_functions() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" -name '*.[ch]' -print0 | sort -z | xargs -0 awk '
		FILENAME !~ /\.c$/ && FILENAME !~ /^bpf/ {next}
		/^(static|__noinline) [^=;]*[a-z0-9_]+\(/ && (!/inline/ || FILENAME ~ /^bpf/) {
			name = $0
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (name !~ /^__attribute/)
				print name, FILENAME
		}' | sort -u
}

n=0 failed=0
all=$(static_functions user)$'\n'$(static_functions bpf)
for directory in user/*/ bpf/; do
	directory=${directory%/}
	wrong=$(awk -v directory="$directory/" -v no_noun="^(($no_nouns)(_|\$))+\$" '
		index($2, directory) == 1 && ($1 !~ /_/ || $1 ~ no_noun) {print $2 ": " $1 "() has no noun"}
		$1 == name && directory != "bpf/" && (index($2, directory) == 1 || index(file, directory) == 1) {
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
