#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds and runs the tests, all of them or by part.
#
#	scripts/check.sh [lint|unit|san|fuzz|e2e|storm]...
#
#	lint	who may include whom (scripts/layers.sh), names of functions (scripts/names.sh), variables of errors
#		(scripts/idioms.sh); shellcheck over the scripts and the bats files
#	unit	unit tests
#	san	the same with AddressSanitizer and UBSan
#	fuzz	every fuzz target for FUZZ_TIME seconds (3)
#	e2e	end to end, as root: with ./frbpf and then, what goes through most of it, with the one built with
#		sanitizers; SAN_SUITES="a b" names others, SAN_SUITES=all takes all of them
#	storm	tests/e2e/storm.bats and tests/unit/test_out_of_memory in their long form, an hour: not a part of "everything"
#
# Independent tests run side by side: fuzz targets, one on each CPU. Four at a time, since they mostly wait, run unit
# tests that skip nothing or say "with: others" in their first comment, and end-to-end suites that say so before their
# "load helpers". Their rules and results are about their own processes, files and cgroups, not about the whole machine.
# Everything else runs alone, except that later parts are built beside unit tests. Each suite has its own /run/frbpf.
# One line per suite. The last line is "N passed, N failed, N skipped"; exit status 1 when one failed.
#
# A failed test on the real kernel runs once more, alone. If it passes then, the suite's lines call it "unsteady" and
# show its first output: a defect of the test or of frbpf, to be fixed in any case. A run forgives UNSTEADY_LIMIT of
# them. Reports of sanitizers, findings of fuzz targets and leftovers of a test have no second chance.
set -u
cd "$(dirname "$0")/.." || exit 1

# Limits for tests that hang. Nothing on a slow machine should come near them.
UNIT_LIMIT=240	 # s, per program
E2E_LIMIT=300	 # s, per test
E2E_FILE_LIMIT=1200
LANES=4 # of tests that mostly wait
UNSTEADY_LIMIT=3
SAN_DEFAULT="check dump spike tracepoint hostile hung"

ahead= # what builds for later parts
tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-check.XXXXXX") || exit 1
out=$tmp/out # what the command that runs has said
child=
lanes=()
total_passed=0 total_failed=0 total_skipped=0
unsteady=0 # tests that were forgiven
# arguments of `make check` must not change what is built here
unset MAKEFLAGS MFLAGS MAKELEVEL SAN O

# Processes started with a path below a directory, or by one of its tests: leftovers of a test.
leftovers() { # DIRECTORY
	# the pattern comes from a file: grep's own arguments must not match
	grep -lsF -f <(echo "$1/") /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
}

end_child() {
	[[ $child ]] && kill "$child" 2>/dev/null && wait "$child" 2>/dev/null
	child=
}

cleanup() {
	end_child
	[[ $ahead && $(jobs -pr) == *"$ahead"* ]] && kill "$ahead" && wait "$ahead"
	((${#lanes[@]})) && kill "${lanes[@]}" 2>/dev/null && wait "${lanes[@]}" 2>/dev/null
	leftovers "$tmp" | xargs -r kill -KILL 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command for at most LIMIT seconds, its output to $out. In the background, so that our traps work.
limited() { # LIMIT COMMAND...
	local limit=$1 status
	shift
	timeout -k 10 "$limit" "$@" </dev/null >"$out" 2>&1 &
	child=$!
	wait "$child"
	status=$?
	child=
	return $status
}

# Runs JOB NAME for each name, in that order, N at a time. A job's directory $tmp/NAME begins empty. It gets the output
# ("out"), the exit status ("status") and the time taken ("us").
side_by_side() { # N JOB NAME...
	local n=$1
	shift
	while ((n--)); do
		run_lane "$@" &
		lanes+=("$!")
	done
	wait "${lanes[@]}"
	lanes=()
}

# Takes the next job that no other lane has taken, until there is none.
run_lane() { # JOB NAME...
	local job=$1 name status began
	shift
	lanes=()
	trap end_child EXIT
	for name in "$@"; do
		mkdir "$tmp/$name" 2>/dev/null || continue
		out=$tmp/$name/out began=${EPOCHREALTIME/[.,]/}
		"$job" "$name"
		status=$?
		echo $((${EPOCHREALTIME/[.,]/} - began)) >"$tmp/$name/us"
		echo $status >"$tmp/$name/status"
	done
}

# Makes $out, a local variable of the caller, the output of a job, and returns the job's status.
job_result() { # NAME
	out=$tmp/$1/out
	return "$(cat "$tmp/$1/status")"
}

suite_begin() { # NAME
	suite=$1 suite_passed=0 suite_failed=0 suite_skipped=0 suite_began=${EPOCHREALTIME/[.,]/}
	suite_notes=$tmp/notes
	: >"$suite_notes"
	[[ -t 1 ]] && printf '%-24s ...\r' "$suite"
	return 0
}

suite_end() { # [REMARK] [TIME: us, if it is over]
	local us=${2:-$((${EPOCHREALTIME/[.,]/} - suite_began))} remark=${1-}
	printf '%-24s %4d passed %3d failed %3d skipped %5d.%01d s%s\n' "$suite" "$suite_passed" \
		"$suite_failed" "$suite_skipped" $((us / 1000000)) $((us / 100000 % 10)) \
		"${remark:+  ($remark)}"
	cat "$suite_notes"
	((total_passed += suite_passed, total_failed += suite_failed, total_skipped += suite_skipped))
	return 0
}

# One failed test; its output, cut to a screen, comes from standard input, without the memory map at the end of a
# sanitizer's report. Not for the end of a pipeline: it would count in a subshell.
suite_fail() { # TITLE
	((++suite_failed))
	{
		echo "  FAILED: $1"
		sed '/^Shadow bytes around/,$d' | tail -n 60 | sed 's/^/  | /'
	} >>"$suite_notes"
}

# Adds the TAP in $out to the suite. Output of a test is below the test's line. Results that the plan promises and that
# are missing have failed.
suite_add_tap() { # TITLE STATUS
	local title=$1 status=$2 planned ok bad skip
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$out" | awk '{n += $1} END {print n + 0}')
	skip=$(grep -cE '^(not )?ok .*# SKIP' <<<"$(sed 's/# skip/# SKIP/' "$out")")
	bad=$(grep -E '^not ok ' "$out" | grep -cv '# SKIP')
	ok=$(grep -E '^ok ' "$out" | grep -civ '# SKIP')
	((suite_passed += ok, suite_skipped += skip))
	sed -nE 's/^(not )?ok [0-9]+ (.*# (skip|SKIP).*)/  skipped: \2/p' "$out" >>"$suite_notes"
	if ((bad)); then
		suite_fail "$title" < <(awk '/^not ok / && !/# SKIP/ {show = 1; print; next}
			/^(ok|not ok) / {show = 0} show' "$out")
		((suite_failed += bad - 1))
	fi
	if ((ok + bad + skip < planned)); then
		suite_fail <"$out" \
			"$title: $((planned - ok - bad - skip)) of $planned tests did not run, $(status_words "$status")"
		((suite_failed += planned - ok - bad - skip - 1))
	elif ((status && !bad)); then
		suite_fail <"$out" "$title: $(status_words "$status")"
	fi
}

# The names of tests that failed, one a line, from the TAP in FILE.
failed_tests() { # FILE
	sed -nE '/# (skip|SKIP)/d; s/^not ok [0-9]+ (- )?//p' "$1"
}

# Whether the tests that failed in the job NAME passed in the job NAME.again. Then they count as passed.
forgive() { # NAME
	local dir=$tmp/$1 again=$tmp/$1.again
	local -a names
	mapfile -t names < <(failed_tests "$dir/out")
	[[ $(cat "$again/status") == 0 ]] && (($(grep -c '^ok ' "$again/out") >= ${#names[@]})) || return
	((unsteady += ${#names[@]}))
	{
		printf '  unsteady, passed the second time: %s\n' "${names[@]}"
		awk '/^not ok / && !/# (skip|SKIP)/ {show = 1} /^ok / {show = 0} show' "$dir/out" |
			tail -n 60 | sed 's/^/  | /'
	} >>"$suite_notes"
	sed -i '/# \(skip\|SKIP\)/!s/^not ok /ok /' "$dir/out"
	echo 0 >"$dir/status"
}

# Whether so few tests of the job NAME failed that they may run again, and nothing else failed.
may_try_again() { # NAME
	local dir=$tmp/$1 failures planned ran
	failures=$(failed_tests "$dir/out" | wc -l)
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$dir/out")
	ran=$(grep -cE '^(not )?ok ' "$dir/out")
	((failures && failures <= UNSTEADY_LIMIT - unsteady && ran == ${planned:-0})) || return
	! compgen -G "$dir/sanitizer.*" >/dev/null && [[ ! -e $dir/left ]]
}

status_words() { # STATUS
	case $1 in
	124 | 137) echo "out of time" ;;
	*) if (($1 > 128)); then echo "ended by signal $(($1 - 128))"; else echo "exit status $1"; fi ;;
	esac
}

# Builds for a later PART, if it is to run, while tests of this one wait, with the CPU time that they leave. What fails
# here is built again, and reported, by the part that needs it.
build_ahead() { # PART MAKE-ARGUMENTS...
	[[ " ${parts[*]} " == *" $1 "* ]] || return
	timeout -k 10 600 nice make -j"$(nproc)" "${@:2}" </dev/null >/dev/null 2>&1 &
	ahead=$!
}

# A build has no tests to count unless it fails; then its part is not run.
build() { # NAME MAKE-ARGUMENTS...
	local name=$1 status
	shift
	suite_begin "$name"
	[[ $ahead ]] && wait "$ahead"
	ahead=
	limited 600 make -j"$(nproc)" "$@"
	status=$?
	((status)) && suite_fail <"$out" "make $*: $(status_words $status)"
	suite_end
	return $status
}

# Lists programs whose source exists; programs without a source are outdated.
programs() { # OUTPUT-DIR SOURCE...
	local dir=$1 source
	shift
	for source in "$@"; do
		[[ -e $source ]] && echo "$dir/${source%.c}"
	done
}

lint_job() { # lint/FILE
	limited 60 shellcheck -x -P SCRIPTDIR "${1#lint/}"
}

lint_tree() { # NAME of a script that says TAP
	suite_begin "$1"
	limited 60 "scripts/$1.sh"
	suite_add_tap "$1.sh" $?
	suite_end
}

check_lint() {
	lint_tree layers
	lint_tree names
	lint_tree idioms
	local file out # not before: lint_tree() has the $out of all
	local -a files=()
	suite_begin lint
	if ! command -v shellcheck >/dev/null; then
		suite_skipped=1
		suite_end "shellcheck is not installed"
		return
	fi
	for file in scripts/*.sh scripts/*/*.sh configs/*.bash tests/*/*.sh .ci/run tests/e2e/*.bash tests/e2e/*.bats; do
		[[ -e $file ]] || continue
		files+=("lint/$file")
		mkdir -p "$tmp/lint/${file%/*}"
	done
	side_by_side "$(nproc)" lint_job "${files[@]}"
	for file in "${files[@]}"; do
		if job_result "$file"; then
			((++suite_passed))
		else
			suite_fail "shellcheck ${file#lint/}" <"$out"
		fi
	done
	suite_end
}

unit_job() { # PROGRAM[.again]
	limited $UNIT_LIMIT env CMOCKA_MESSAGE_OUTPUT=TAP "${1%.again}"
}

# Tests that may be skipped look at the kernel, and often at the whole machine.
looks_at_machine() { # PROGRAM
	local source=tests/unit/${1##*/}.c
	local -a own
	grep -q '^ \* with: others' "$source" && return 1
	mapfile -t own < <(grep -o 'tests/unit/[a-z_]*\.h' "$1.d")
	grep -qE 'skip\(\)|geteuid' "$source" "${own[@]}"
}

# The largest mostly take the longest, so they should begin first.
largest_first() { # FILE...
	ls -S -- "$@"
}

run_unit() { # NAME OUTPUT-DIR
	local bin out
	local -a sources bins alone=() others=()
	suite_begin "$1"
	mapfile -t sources < <(largest_first tests/unit/test_*.c)
	mapfile -t bins < <(programs "$2" "${sources[@]}")
	for bin in "${bins[@]}"; do
		if looks_at_machine "$bin"; then
			alone+=("$bin")
		else
			others+=("$bin")
		fi
	done
	mkdir -p "$tmp/$2/tests/unit"
	side_by_side $LANES unit_job "${others[@]}"
	side_by_side 1 unit_job "${alone[@]}"
	for bin in "${bins[@]}"; do
		may_try_again "$bin" || continue
		side_by_side 1 unit_job "$bin.again"
		forgive "$bin"
	done
	for bin in "${bins[@]}"; do
		job_result "$bin"
		suite_add_tap "${bin##*/}" $?
	done
	suite_end
}

check_unit() {
	build "build" all unit workloads || return
	build_ahead san SAN=1 all unit
	run_unit unit .output
}

check_san() {
	local -a bins
	build "build (sanitizers)" SAN=1 all unit || return
	mapfile -t bins < <(fuzz_programs)
	build_ahead fuzz all "${bins[@]}"
	run_unit "unit (sanitizers)" .output-san
}

fuzz_programs() {
	programs .output tests/fuzz/fuzz_*.c
}

fuzz_job() { # PROGRAM
	limited $((${FUZZ_TIME:-3} + 90)) scripts/fuzz.sh "${FUZZ_TIME:-3}" "$1"
}

check_fuzz() {
	local bin
	local -a bins
	mapfile -t bins < <(fuzz_programs)
	((${#bins[@]})) || return
	build "build (fuzz)" all "${bins[@]}" || return
	local out
	mkdir -p "$tmp/.output/tests/fuzz"
	side_by_side "$(nproc)" fuzz_job "${bins[@]}"
	for bin in "${bins[@]}"; do
		suite_begin "${bin##*/}"
		if job_result "$bin"; then
			suite_passed=1
			suite_end "$(sed 's/^[^:]*: //' "$out")" "$(cat "$tmp/$bin/us")"
		else
			suite_fail "${bin##*/}" <"$out"
			suite_end "" "$(cat "$tmp/$bin/us")"
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

# The job's directory also has the suite's temporary files. Its name is short, because paths of sockets and in rules are
# limited. Sanitizers write into files, because a daemon has no terminal.
e2e_job() { # NUMBER in e2e_files[.again]
	local dir=$tmp/$1 status only=.
	local -a pids
	[[ $1 == *.again ]] && only=$(failed_regex "$tmp/${1%.again}/out")
	limited $E2E_FILE_LIMIT "${own_run[@]}" env FRBPF="$PWD/$e2e_program" TMPDIR="$dir" \
		FRBPF_WORKLOADS="$PWD/.output/tests/workloads" BATS_TEST_TIMEOUT=$E2E_LIMIT \
		ASAN_OPTIONS="log_path=$dir/sanitizer" \
		UBSAN_OPTIONS="print_stacktrace=1:log_path=$dir/sanitizer" bats --tap --filter "$only" "${e2e_files[${1%.again}]}"
	status=$?
	# processes that end by themselves once their test's directory is gone may need a moment
	for _ in {1..100}; do
		mapfile -t pids < <(leftovers "$dir")
		((${#pids[@]})) || return $status
		sleep 0.1
	done
	ps -o pid,args -p "${pids[*]}" >"$dir/left"
	kill -KILL "${pids[@]}" 2>/dev/null
	return $status
}

# A regular expression for the names of the failed tests alone, from the TAP in FILE.
failed_regex() { # FILE
	printf '^(%s)$' "$(failed_tests "$1" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')"
}

runs_beside_others() { # FILE
	sed '/^load /q' "$1" | grep -q '^# with: others'
}

report_e2e() { # NUMBER
	local dir=$tmp/$1 report out
	job_result "$1"
	suite_add_tap "${e2e_files[$1]##*/}" $?
	for report in "$dir"/sanitizer.*; do
		[[ -e $report ]] && suite_fail "sanitizer report" <"$report"
	done
	[[ -e $dir/left ]] && suite_fail "processes left behind" <"$dir/left"
	suite_end "" "$(cat "$dir/us")"
	rm -rf "$dir" "$dir.again"
}

# own_run becomes a prefix for commands that gives them their own /run/frbpf; empty if that is not allowed.
find_own_run() {
	# shellcheck disable=SC2016 # of the inner shell
	own_run=(unshare -m sh -c 'mkdir -p /run/frbpf && mount -t tmpfs -o mode=755 frbpf /run/frbpf && exec "$@"' -)
	"${own_run[@]}" true 2>/dev/null || own_run=()
}

run_e2e() { # NAME FRBPF FILE...
	local name=$1 e2e_program=$2 i
	local file
	local -a e2e_files=("${@:3}") beside=() own_run
	local -A number=()
	find_own_run
	for i in "${!e2e_files[@]}"; do
		number[${e2e_files[i]}]=$i
	done
	while read -r file; do
		runs_beside_others "$file" && beside+=("${number[$file]}")
	done < <(largest_first "${e2e_files[@]}")
	suite_begin "$name, side by side"
	side_by_side $LANES e2e_job "${beside[@]}"
	for i in "${!e2e_files[@]}"; do
		suite_begin "$name ${e2e_files[i]##*/}"
		[[ -d $tmp/$i ]] || side_by_side 1 e2e_job "$i"
		if may_try_again "$i"; then
			side_by_side 1 e2e_job "$i.again"
			forgive "$i"
		fi
		report_e2e "$i"
	done
}

san_suites() {
	local name
	if [[ ${SAN_SUITES-} == all ]]; then
		printf '%s\n' tests/e2e/*.bats
	else
		for name in ${SAN_SUITES:-$SAN_DEFAULT}; do
			[[ -e tests/e2e/$name.bats ]] && echo "tests/e2e/$name.bats"
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

check_storm() {
	export FRBPF_LONG=yes
	E2E_LIMIT=2400 E2E_FILE_LIMIT=7200
	if ((EUID)); then
		skip_e2e "needs root"
	else
		build "build" all workloads .output/tests/unit/test_out_of_memory || return
		run_e2e storm frbpf tests/e2e/storm.bats
		suite_begin "storm test_out_of_memory"
		limited $E2E_FILE_LIMIT env CMOCKA_MESSAGE_OUTPUT=TAP .output/tests/unit/test_out_of_memory
		suite_add_tap test_out_of_memory $?
		suite_end
	fi
}

parts=("$@")
((${#parts[@]})) || parts=(lint unit san fuzz e2e)
for part in "${parts[@]}"; do
	if ! declare -F "check_$part" >/dev/null; then
		echo "usage: scripts/check.sh [lint|unit|san|fuzz|e2e|storm]..." >&2
		exit 2
	fi
done
for part in "${parts[@]}"; do
	"check_$part"
done
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
((total_failed == 0))
