#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the names of static functions, as TAP: one test for each directory of user/ and of tests/, and one for bpf/. A
# name says what the function is about: it has more than one word, and one of them is a noun. No other file of user/ has
# a static function of this name, nor has another BPF program, so gdb, perf and grep find one function. bpf/ and user/
# share a name only if both functions do the same: see `both`.
#
# A static function of a test has no name of a function of user/ or bpf/, static or not: tests are linked with user/,
# and frbpf shows the functions of workloads. One word is enough for its name, but it must say more than a verb. Two
# tests may have helpers of the same name, as each test is a program of its own. `setup` or `spawn` reads better there
# than with the test's name in front.
#
#	scripts/names.sh [DIRECTORY]	a tree with user/ and bpf/, and perhaps tests/; default: this tree
set -u
# shellcheck source=check/tap.sh
. "$(dirname "$0")/check/tap.sh"
cd "${1:-$(dirname "$0")/..}" || exit 1

# A name of only these words says nothing. They are verbs, prepositions, pronouns and the like.
no_nouns='about|add|all|and|as|at|before|below|by|close|do|find|first|for|from|get|give|gone|has|in|into|is|it'
no_nouns+='|keep|make|mark|merge|new|next|not|of|off|old|on|one|open|or|other|out|own|print|read|rest|same|second|set'
no_nouns+='|take|tell|that|then|this|to|too|try|two|up|wanted|whole|why|with|write'
no_noun="^(($no_nouns)(_|\$))+\$"

# NAME: why bpf/ and user/ share it
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

# NAME: why tests/ and one of user/ or bpf/ share it
tests_too='
now_ns: workloads read the same clock, without the headers of user/
'

# Prints "NAME FILE" for each static function whose name is on the line with `static`. In BPF programs, inline functions
# count, too, and functions that the verifier checks separately (__noinline).
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

# Prints "NAME FILE" for each function of any kind whose name is on the first line of its definition or declaration.
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

# Prints "NAME FILE" for each static function of a directory of tests, also if it is inline or has attributes.
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

# Prints what is wrong with the names of DIRECTORY: no noun, or the name of another function. Names that are listed in
# `tests_too` are printed alone: "NAME".
names_of_tests() { # DIRECTORY
	awk -v reasons="$tests_too" -v no_noun="$no_noun" '
		FILENAME != "-" {where[$1] = $2; next}
		$1 ~ no_noun {print $2 ": " $1 "() has no noun"}
		!($1 in where) {next}
		index(reasons, "\n" $1 ": ") {print $1; next}
		{print $2 ": " $1 "() is also in " where[$1]}' <(echo "$others") - < <(test_functions "$1")
}

# Prints names that two BPF programs share. A function that a header of bpf/ declares may have a definition in each.
shared_in_bpf() {
	awk '$2 !~ /^bpf\// {next}
		$2 ~ /\.h$/ {declared[$1] = 1}
		{where[$1] = where[$1] " " $2; files[$1]++}
		END {
			for (name in files)
				if (files[name] > 1 && !(name in declared))
					print name "() is in" where[name]
		}' <<<"$all" | sort
}

# Prints names that bpf/ and user/ share but `both` lacks, and names in `both` that they do not share.
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
	[[ $directory != bpf ]] || wrong+=${wrong:+$'\n'}$(shared_names; shared_in_bpf)
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
