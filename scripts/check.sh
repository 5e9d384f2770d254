#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds and runs the tests, all of them or by part.
#
#	scripts/check.sh [lint|unit|san|fuzz|e2e]...
#
#	lint	shellcheck over the scripts and the bats files
#	unit	unit tests
#	san	the same with AddressSanitizer and UBSan
#	fuzz	every fuzz target for FUZZ_TIME seconds (3)
#	e2e	end to end, as root: with ./frbpf and then, what goes through most of it, with the one built with
#		sanitizers; SAN_SUITES="a b" names others, SAN_SUITES=all takes all of them
#
# One line per suite. The last line is "N passed, N failed, N skipped"; exit status 1 when one failed.
set -u
cd "$(dirname "$0")/.." || exit 1

UNIT_LIMIT=60	 # s, per program
E2E_LIMIT=60	 # s, per test
E2E_FILE_LIMIT=300
SAN_DEFAULT="block check diff dump events span spike tracepoint"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-check.XXXXXX") || exit 1
child=
total_passed=0 total_failed=0 total_skipped=0
# what `make check` was called with must not change what is built here
unset MAKEFLAGS MFLAGS MAKELEVEL SAN O

# Processes that were started with a path below our directory: a daemon that a test left behind.
leftovers() {
	local cmdline
	for cmdline in /proc/[0-9]*/cmdline; do
		[[ -r $cmdline ]] || continue
		[[ $(tr '\0' ' ' 2>/dev/null <"$cmdline") == *"$tmp/"* ]] || continue
		cmdline=${cmdline%/cmdline}
		[[ ${cmdline##*/} == "$child" ]] || echo "${cmdline##*/}"
	done
}

cleanup() {
	[[ $child ]] && kill "$child" 2>/dev/null && wait "$child" 2>/dev/null
	child=
	leftovers | xargs -r kill -KILL 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command for at most LIMIT seconds, its output to $tmp/out. In the background, so that our traps work.
limited() { # LIMIT COMMAND...
	local limit=$1 status
	shift
	timeout -k 10 "$limit" "$@" </dev/null >"$tmp/out" 2>&1 &
	child=$!
	wait "$child"
	status=$?
	child=
	return $status
}

suite_begin() { # NAME
	suite=$1 suite_passed=0 suite_failed=0 suite_skipped=0 suite_began=${EPOCHREALTIME/[.,]/}
	suite_notes=$tmp/notes
	: >"$suite_notes"
	[[ -t 1 ]] && printf '%-24s ...\r' "$suite"
	return 0
}

suite_end() { # [REMARK]
	local us=$((${EPOCHREALTIME/[.,]/} - suite_began)) remark=${1-}
	printf '%-24s %4d passed %3d failed %3d skipped %5d.%01d s%s\n' "$suite" "$suite_passed" \
		"$suite_failed" "$suite_skipped" $((us / 1000000)) $((us / 100000 % 10)) \
		"${remark:+  ($remark)}"
	cat "$suite_notes"
	((total_passed += suite_passed, total_failed += suite_failed, total_skipped += suite_skipped))
	return 0
}

# One failed test; its output, cut to what a screen holds, comes from standard input. The memory map at the end of
# a sanitizer's report helps nobody. Not for the end of a pipeline: it would count in a subshell.
suite_fail() { # TITLE
	((++suite_failed))
	{
		echo "  FAILED: $1"
		sed '/^Shadow bytes around/,$d' | tail -n 60 | sed 's/^/  | /'
	} >>"$suite_notes"
}

# Adds the TAP in $tmp/out to the suite. What a program said of a test stands below the test's line.
# Results that the plan promises and that are not there have failed.
suite_add_tap() { # TITLE STATUS
	local title=$1 status=$2 planned ok bad skip
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tmp/out" | awk '{n += $1} END {print n + 0}')
	skip=$(grep -cE '^(not )?ok .*# SKIP' <<<"$(sed 's/# skip/# SKIP/' "$tmp/out")")
	bad=$(grep -E '^not ok ' "$tmp/out" | grep -cv '# SKIP')
	ok=$(grep -E '^ok ' "$tmp/out" | grep -civ '# SKIP')
	((suite_passed += ok, suite_skipped += skip))
	sed -nE 's/^(not )?ok [0-9]+ (.*# (skip|SKIP).*)/  skipped: \2/p' "$tmp/out" >>"$suite_notes"
	if ((bad)); then
		suite_fail "$title" < <(awk '/^not ok / && !/# SKIP/ {show = 1; print; next}
			/^(ok|not ok) / {show = 0} show' "$tmp/out")
		((suite_failed += bad - 1))
	fi
	if ((ok + bad + skip < planned)); then
		suite_fail <"$tmp/out" \
			"$title: $((planned - ok - bad - skip)) of $planned tests did not run, $(status_words "$status")"
		((suite_failed += planned - ok - bad - skip - 1))
	elif ((status && !bad)); then
		suite_fail <"$tmp/out" "$title: $(status_words "$status")"
	fi
}

status_words() { # STATUS
	case $1 in
	124 | 137) echo "out of time" ;;
	*) if (($1 > 128)); then echo "ended by signal $(($1 - 128))"; else echo "exit status $1"; fi ;;
	esac
}

# A build has no tests to count unless it fails; then its part is not run.
build() { # NAME MAKE-ARGUMENTS...
	local name=$1 status
	shift
	suite_begin "$name"
	limited 600 make -j"$(nproc)" "$@"
	status=$?
	((status)) && suite_fail <"$tmp/out" "make $*: $(status_words $status)"
	suite_end
	return $status
}

# Sources exist before their programs do; names of programs without a source are of another time.
programs() { # OUTPUT-DIR SOURCE...
	local dir=$1 source
	shift
	for source in "$@"; do
		[[ -e $source ]] && echo "$dir/${source%.c}"
	done
}

check_lint() {
	local file
	suite_begin lint
	if ! command -v shellcheck >/dev/null; then
		suite_skipped=1
		suite_end "shellcheck is not installed"
		return
	fi
	for file in scripts/*.sh scripts/*/*.sh tests/*/*.sh .ci/run tests/e2e/*.bash tests/e2e/*.bats; do
		[[ -e $file ]] || continue
		if limited 60 shellcheck -x -P SCRIPTDIR "$file"; then
			((++suite_passed))
		else
			suite_fail "shellcheck $file" <"$tmp/out"
		fi
	done
	suite_end
}

run_unit() { # NAME OUTPUT-DIR
	local bin
	suite_begin "$1"
	for bin in $(programs "$2" tests/unit/test_*.c); do
		limited $UNIT_LIMIT env CMOCKA_MESSAGE_OUTPUT=TAP "$bin"
		suite_add_tap "${bin##*/}" $?
	done
	suite_end
}

check_unit() {
	build "build" all unit workloads && run_unit unit .output
}

check_san() {
	build "build (sanitizers)" SAN=1 all unit && run_unit "unit (sanitizers)" .output-san
}

check_fuzz() {
	local bin seconds=${FUZZ_TIME:-3}
	local -a bins
	mapfile -t bins < <(programs .output tests/fuzz/fuzz_*.c)
	((${#bins[@]})) || return
	build "build (fuzz)" all "${bins[@]}" || return
	for bin in "${bins[@]}"; do
		suite_begin "${bin##*/}"
		if limited $((seconds + 90)) scripts/fuzz.sh "$seconds" "$bin"; then
			suite_passed=1
			suite_end "$(sed 's/^[^:]*: //' "$tmp/out")"
		else
			suite_fail "${bin##*/}" <"$tmp/out"
			suite_end
		fi
	done
}

skip_e2e() { # WHY
	local tests
	suite_begin "end to end"
	tests=$(cat tests/e2e/*.bats | grep -c '^@test ')
	suite_skipped=$((2 * tests))
	suite_end "$1"
}

# Sanitizers write into files, because a daemon has no terminal.
run_e2e() { # NAME FRBPF FILE...
	local name=$1 program=$2 file base report
	local -a pids
	shift 2
	for file in "$@"; do
		[[ -e $file ]] || continue
		base=$tmp/e2e
		mkdir -p "$base"
		suite_begin "$name ${file##*/}"
		limited $E2E_FILE_LIMIT env FRBPF="$PWD/$program" TMPDIR="$base" \
			FRBPF_WORKLOADS="$PWD/.output/tests/workloads" BATS_TEST_TIMEOUT=$E2E_LIMIT \
			ASAN_OPTIONS="log_path=$tmp/sanitizer" \
			UBSAN_OPTIONS="print_stacktrace=1:log_path=$tmp/sanitizer" bats --tap "$file"
		suite_add_tap "${file##*/}" $?
		for report in "$tmp"/sanitizer.*; do
			[[ -e $report ]] || continue
			suite_fail "sanitizer report" <"$report"
			rm -f "$report"
		done
		mapfile -t pids < <(leftovers)
		if ((${#pids[@]})); then
			suite_fail "processes left behind" < <(ps -o pid,args -p "${pids[*]}")
			kill -KILL "${pids[@]}" 2>/dev/null
		fi
		rm -rf "$base"
		suite_end
	done
}

san_suites() {
	local name
	if [[ ${SAN_SUITES-} == all ]]; then
		printf '%s\n' tests/e2e/*.bats
	else
		for name in ${SAN_SUITES:-$SAN_DEFAULT}; do
			echo "tests/e2e/$name.bats"
		done
	fi
}

check_e2e() {
	local -a files
	compgen -G 'tests/e2e/*.bats' >/dev/null || return
	if ((EUID)); then
		skip_e2e "needs root"
	elif ! command -v bats >/dev/null; then
		skip_e2e "bats is not installed: scripts/deps.sh"
	else
		build "build" all workloads && run_e2e e2e frbpf tests/e2e/*.bats
		mapfile -t files < <(san_suites)
		build "build (sanitizers)" SAN=1 all && run_e2e e2e-san .output-san/frbpf "${files[@]}"
	fi
}

parts=("$@")
((${#parts[@]})) || parts=(lint unit san fuzz e2e)
for part in "${parts[@]}"; do
	if ! declare -F "check_$part" >/dev/null; then
		echo "usage: scripts/check.sh [lint|unit|san|fuzz|e2e]..." >&2
		exit 2
	fi
done
for part in "${parts[@]}"; do
	"check_$part"
done
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
((total_failed == 0))
