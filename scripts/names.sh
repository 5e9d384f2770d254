#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Names of static functions, as TAP: one test for each directory of user/, and one for bpf/. A name says what the
# function is about: it has more than one word, one of them is a noun, and no other file of user/ has it. So gdb, perf
# and grep find one function. One of bpf/ has the name of one of user/ only if both are the same thing: see `both`.
#
#	scripts/names.sh [DIRECTORY]	that has user/ and bpf/; the default is this tree
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# A name made of these words alone says nothing: verbs, prepositions, pronouns and the like.
no_nouns='about|add|all|and|as|at|before|below|by|do|find|first|for|from|get|give|gone|has|in|into|is|it|keep|make|mark'
no_nouns+='|merge|new|next|not|of|off|old|on|one|or|other|out|own|read|rest|same|second|set|take|tell|that|then|this|to'
no_nouns+='|too|try|two|up|wanted|whole|why|with|write'

# NAME: why a function of bpf/ and one of user/ share it
both='
node_holds: user/rules evaluates conditions as the engine does
prefix_holds: the same
match_counts_as_part: user/trial decides as the engine does
share_add: the same
share_get: the same
share_lap: the same
share_put: the same
request_key: user/analyse/retrace measures what the source does
request_op: the same
span_key: the same
wait_begin: the same
wait_end: the same
'

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

# Names that bpf/ and user/ share but `both` lacks, and names of `both` that they do not share
shared_names() {
	awk -v both="$both" '
		BEGIN {
			for (n = split(both, line, "\n"); n; n--)
				if (split(line[n], of, ": "))
					listed[of[1]] = 1
		}
		{where[$1, $2 ~ /^bpf/] = $2; names[$1]}
		END {
			for (name in names)
				if ((name, 0) in where && (name, 1) in where && !(name in listed))
					print where[name, 1] ": " name "() is also in " where[name, 0]
			for (name in listed)
				if (!((name, 0) in where && (name, 1) in where))
					print "scripts/names.sh: `both` has " name ", which bpf/ and user/ do not share"
		}' <<<"$all" | sort
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
	[[ $directory != bpf ]] || wrong+=${wrong:+$'\n'}$(shared_names)
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
