#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Names of static functions, as TAP: one test for each directory of user/ and of tests/, and one for bpf/. A name says
# what the function is about: it has more than one word, one of them is a noun, and no other file of user/ has it. So
# gdb, perf and grep find one function. A function of bpf/ has the name of one of user/ only if both do the same thing:
# see `both`.
#
# A static function of a test does not share its name with a function of user/ or bpf/, static or not: tests are linked
# with user/, and frbpf shows the functions of workloads. Its name, too, has a word that says something, but one word is
# enough. Two tests may have helpers of the same name: each test is a program of its own, and `setup` or `spawn` reads
# better there than the same with the test's name in front.
#
#	scripts/names.sh [DIRECTORY]	that has user/ and bpf/, and maybe tests/; the default is this tree
set -u
# shellcheck source=check/tap.sh
. "$(dirname "$0")/check/tap.sh"
cd "${1:-$(dirname "$0")/..}" || exit 1

# A name made of these words alone says nothing: verbs, prepositions, pronouns and the like.
no_nouns='about|add|all|and|as|at|before|below|by|do|find|first|for|from|get|give|gone|has|in|into|is|it|keep|make|mark'
no_nouns+='|merge|new|next|not|of|off|old|on|one|or|other|out|own|read|rest|same|second|set|take|tell|that|then|this|to'
no_nouns+='|too|try|two|up|wanted|whole|why|with|write'
no_noun="^(($no_nouns)(_|\$))+\$"

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

# NAME: why a function of tests/ and one of user/ or bpf/ share it
tests_too='
now_ns: workloads read the same clock, without the headers of user/
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

# "NAME FILE" for each function of any kind whose name is on the first line of its definition or declaration
any_functions() { # DIRECTORY...
	# shellcheck disable=SC2016 # of awk
	find "$@" -name '*.[ch]' -print0 | sort -z | xargs -0 awk '
		/^[a-z][^=;(]*[ *][a-z0-9_]+\(/ && !/^(typedef|else|return) / {
			name = $0
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (name !~ /^__attribute/ && !seen[name]++)
				print name, FILENAME
		}'
}

# "NAME FILE" for each static function of a directory of tests, inline ones and those with attributes, too
test_functions() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" \( -name '*.[ch]' -o -name '*.cc' \) -print0 | sort -z | xargs -0 awk '
		/^(__attribute__\(\(.*\)\) )?static / {
			name = $0
			while (sub(/__attribute__\(\([^()]*(\([^()]*\))?[^()]*\)\)/, "", name))
				;
			if (name ~ /^[^(]*=/ || !sub(/\(.*/, "", name))
				next
			sub(/.*[ *]/, "", name)
			print name, FILENAME
		}'
}

# Those of them that have no noun, or the name of another function without a reason; "NAME" for those that have one
names_of_tests() { # DIRECTORY
	awk -v reasons="$tests_too" -v no_noun="$no_noun" '
		FILENAME != "-" {where[$1] = $2; next}
		$1 ~ no_noun {print $2 ": " $1 "() has no noun"}
		!($1 in where) {next}
		index(reasons, "\n" $1 ": ") {print $1; next}
		{print $2 ": " $1 "() is also in " where[$1]}' <(echo "$others") - < <(test_functions "$1")
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

all=$(static_functions user)$'\n'$(static_functions bpf)
for directory in user/*/ bpf/; do
	directory=${directory%/}
	wrong=$(awk -v directory="$directory/" -v no_noun="$no_noun" '
		index($2, directory) == 1 && ($1 !~ /_/ || $1 ~ no_noun) {print $2 ": " $1 "() has no noun"}
		$1 == name && directory != "bpf/" && (index($2, directory) == 1 || index(file, directory) == 1) {
			print $2 ": " $1 "() is also in " file
		}
		{name = $1; file = $2}' <<<"$all")
	[[ $directory != bpf ]] || wrong+=${wrong:+$'\n'}$(shared_names)
	result "static functions of $directory" "$wrong"
done

others=$(any_functions user bpf)
used=
for directory in tests/*/; do
	compgen -G "$directory*.c" >/dev/null || continue
	twins=$(names_of_tests "${directory%/}")
	used+=$'\n'$twins
	result "static functions of ${directory%/}" "$(grep ' ' <<<"$twins")"
done
while IFS=: read -r name _; do
	[[ ! $name || ! -d tests ]] || grep -qx "$name" <<<"$used" ||
		result "static functions of tests" "scripts/names.sh: \`tests_too\` has $name, which tests/ does not share"
done <<<"$tests_too"
echo "1..$n"
exit $failed
