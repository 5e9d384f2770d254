#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Wrong lines of perf record (tests/rules/record-lines.tsv). Each has one error, at its place, whatever is wrong with
# the other sessions. perf refuses these lines as listed.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

# A file may have 64 sessions, and check lists 50 mistakes.
AT_ONCE=50

setup() {
	common_setup
	corpus=$BATS_TEST_TMPDIR/corpus
	grep -v '^#' "$root/tests/rules/record-lines.tsv" >"$corpus"
	(($(wc -l <"$corpus") >= 150)) || fail "the corpus has $(wc -l <"$corpus") lines"
}

teardown() {
	common_teardown
}

one_session() { # NUMBER LINE
	printf '[session-s%d]\nrun = %s\n' "$1" "$2"
}

# check_lines FROM TO: puts rows of the corpus into one file as sessions, and compares the errors that check prints
check_lines() {
	local line column words n=0 file=$BATS_TEST_TMPDIR/rules.$1
	printf '[daemon]\nbase = %s\n' "$BASE" >"$file.conf"
	: >"$file.wanted"
	while IFS=$'\t' read -r line column words _; do
		((n += 1))
		one_session "$n" "$line" >>"$file.conf"
		printf '%d:%d: error: %s\n' $((2 * n + 2)) $((column + 6)) "$words" >>"$file.wanted"
	done < <(sed -n "$1,$2p" "$corpus")
	run -1 "$FRBPF" check "$file.conf"
	errors_of "$output" >"$file.got"
	same "errors of lines $1 to $2" "$(wc -l <"$file.got")" "$n"
	while IFS= read -r line <&3 && IFS= read -r words <&4; do
		[[ $words == "$line"* ]] || fail "'$words' does not begin with '$line'"
	done 3<"$file.wanted" 4<"$file.got"
}

@test "each wrong line of perf record has one error, at its place" {
	need_root
	need_tracepoints
	local from
	for ((from = 1; from <= $(wc -l <"$corpus"); from += AT_ONCE)); do
		check_lines "$from" $((from + AT_ONCE - 1))
	done
}

@test "the seeds of the parser's fuzz target have every option" {
	local seeds=$root/tests/fuzz/seeds/fuzz_record_opts names name n=0
	names=$("$FRBPF" events --options | grep -oE '^.{4}--[a-z-]+' | cut -c 5-)
	while read -r name; do
		grep -qaE -- "$name( |=|\$)" "$seeds"/* || fail "no seed has $name"
		((n += 1))
	done <<<"$names"
	((n > 80)) || fail "$n options"
}

@test "sessions that the kernel refuses are all named, by start and by load, and nothing runs" {
	need_root
	need_btf
	local n
	printf '[daemon]\nbase = %s\n' "$BASE" >"$RULES"
	for n in {1..12}; do # no software event has a history of branches
		one_session "$n" "-e cpu-clock $( ((n % 2)) || echo -b) -a --overwrite" >>"$RULES"
	done
	run -1 frbpf start --config "$RULES"
	[[ $output == *"failed: session 's2': "*"remove -b"*"session 's12'"* ]] || fail "$output"
	for n in {1..12}; do
		if ((n % 2)); then
			[[ $output != *"'s$n'"* ]] || fail "start names session s$n: $output"
		else
			[[ $output == *"'s$n'"* ]] || fail "start does not name session s$n: $output"
		fi
	done
	run -1 frbpf load "$RULES"
	[[ $output == *"error: session 's2': "*"'s4'"*"'s6'"*"'s8'"*"'s10'"*"'s12'"* ]] || fail "$output"
	[[ ! $(daemons_of "$BASE") ]] || fail "a daemon runs"
}

# Prints "LINE:COLUMN: error: WORDS" for each error in TEXT, the output of a command.
errors_of() { # TEXT
	sed -nE 's/^[^ ]*\.conf:([0-9]+:[0-9]+: error: .*)/\1/p' <<<"$1"
}

@test "tasks and cgroups that are gone: load and start say so at their places, and nothing runs" {
	need_root
	need_btf
	local n=0 line wanted
	printf '[daemon]\nbase = %s\n' "$BASE" >"$RULES"
	for line in '-p 4194304' '-e cpu-clock -G no/such/cgroup -a' '-e cpu-clock -t 1,4194304' \
		'-e cpu-clock -u 54399'; do
		((n += 1))
		one_session "$n" "$line" >>"$RULES"
	done
	wanted=$(printf '%s\n' '4:10: error: process 4194304: it has ended' \
		"6:23: error: cgroup 'no/such/cgroup': No such file or directory" \
		'8:25: error: thread 4194304: it has ended' "10:23: error: user '54399' has no task")
	run -1 frbpf load "$RULES"
	same "load says" "$(errors_of "$output")" "$wanted"
	run -1 frbpf start --config "$RULES"
	same "start says" "$(errors_of "$output")" "$wanted"
	run -1 "$FRBPF" check "$RULES"
	same "check says" "$(errors_of "$output")" "$wanted"
	[[ ! $(daemons_of "$BASE") ]] || fail "a daemon runs"
}

@test "perf accepts and refuses lines as the corpus says" {
	need_root
	need_perf
	need_tracepoints
	cd "$BATS_TEST_TMPDIR"
	# This perf would record the lines that it accepts, so they are left out. Other versions must only refuse the
	# wrong lines; 6.1 must use the same words.
	awk -F '\t' '$4 != "takes it" && $4 != "crashes" {printf "%s%c%s%c", $1, 0, $4, 0}' "$corpus" >rows
	[[ $(perf version) == 'perf version 6.1.'* ]] && export SAME_WORDS=yes
	# shellcheck disable=SC2016 # of the inner shell
	xargs -0 -n 2 -P 4 sh -c '
		set -f
		words=$2 line=$1
		[ "$words" != usage ] || words="Usage: perf record"
		eval "set -- $line"
		out=$(timeout -k 5 60 perf record -B -N --synth=no --no-bpf-event -o "$$.data" "$@" -- true 2>&1 </dev/null)
		status=$?
		rm -f "$$.data"
		if [ $status = 0 ] || [ $status = 124 ]; then
			echo "$line: perf takes it"
		elif [ "${SAME_WORDS-}" ]; then
			case $out in
			*"$words"*) ;;
			*) echo "$line: not \"$words\": $(echo "$out" | head -n 3)" ;;
			esac
		fi' - <rows >complaints
	[[ ! -s complaints ]] || fail "$(cat complaints)"
}
