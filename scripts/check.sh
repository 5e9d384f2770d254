#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds and runs all tests, or parts of them.
#
#	scripts/check.sh [lint|unit|san|fuzz|e2e|storm]...
#
#	lint	which directory may include which (scripts/layers.sh), names of functions (scripts/names.sh),
#		variables of errors and length of lines (scripts/idioms.sh); shellcheck on scripts and bats files,
#		those without a suffix (scripts/bench), too
#	unit	unit tests
#	san	unit tests with AddressSanitizer and UBSan
#	fuzz	every fuzz target for FUZZ_TIME seconds (3)
#	e2e	end-to-end tests, as root, with ./frbpf. The suites that cover most of it run again with the sanitizer
#		build; SAN_SUITES="a b" names other suites for that, SAN_SUITES=all takes all of them
#	storm	tests/e2e/storm.bats and tests/unit/test_out_of_memory in their long form: takes an hour, runs only
#		if it is named
#
# Jobs that do not depend on the kernel run in parallel with the rest: builds, fuzz targets, pure unit tests (those that
# skip nothing). Suites marked "with: others" run three at a time. All others run alone: with the normal build before
# these, with the sanitizer build after these.
#
# The mark is in the first comment of a unit test, and before "load helpers" in an end-to-end suite. A marked suite
# mostly waits. Its rules and results are about its own processes, files and cgroups, not about the whole machine. Each
# suite has its own /run/frbpf.
#
# Prints a line for each suite when it is over. The last line is "N passed, N failed, N skipped". Exit status 1: a test
# failed.
#
# A failed test on the real kernel runs once more, at the end and alone. If it passes then, the suite's lines call it
# "unsteady" and show its first output. It is still a defect of the test or of frbpf, to be fixed in any case. A run
# forgives UNSTEADY_LIMIT of them. Sanitizer reports, findings of fuzz targets and leftover processes have no second
# chance.
set -u
cd "$(dirname "$0")/.." || exit 1

# Limits for tests that hang. Even on a slow machine, nothing should come near them.
BUILD_LIMIT=1200 # s
UNIT_LIMIT=240	 # s, per program
E2E_LIMIT=300	 # s, per test
E2E_FILE_LIMIT=1200
LANES=3 # how many of the tests that mostly wait run at once
UNSTEADY_LIMIT=3
SAN_DEFAULT="check dump spike tracepoint hostile bait hung"
FUZZ_TIME=${FUZZ_TIME:-3}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-check.XXXXXX") || exit 1
# shellcheck source=check/jobs.sh
. scripts/check/jobs.sh
# shellcheck source=check/report.sh
. scripts/check/report.sh
# the arguments of `make check` must not change what is built here
unset MAKEFLAGS MFLAGS MAKELEVEL SAN O

cleanup() {
	end_lanes
	leftovers "$tmp" | xargs -r kill -KILL 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- what to do

suites=()	   # their titles
declare -A jobs_of # the jobs of each suite, separated by blanks
declare -A targets # for the jobs build-all and build-san: arguments of make
lint=()		   # jobs
pure=()		   # jobs that run beside anything; a build comes before the jobs that need it
alone=() beside=() # jobs that depend on the kernel
san_alone=() san_beside=()

add_suite() { # TITLE JOB...
	suites+=("$1")
	jobs_of[$1]=${*:2}
}

needs_build() { # all|san MAKE-ARGUMENT...
	if [[ ! ${targets[$1]-} ]]; then
		add_suite "build $1" "build-$1"
		[[ $1 == all ]] || pure+=("build-$1")
	fi
	targets[$1]+=" ${*:2}"
}

# Succeeds if the first comment of FILE says "with: others".
may_have_others() { # FILE
	local line
	while read -r line && [[ $line != 'load '* && $line != '#include'* ]]; do
		[[ $line != *'with: others'* ]] || return 0
	done <"$1"
	return 1
}

# Jobs with sanitizers come last, as their build takes until then.
add_to_kernel() { # NAME FILE
	local with=alone
	may_have_others "$2" && with=beside
	case $1 in
	san-* | s-*) with=san_$with ;;
	esac
	local -n jobs=$with
	jobs+=("$1")
}

# Succeeds for scripts, which may have no suffix, and for files that scripts source.
is_shell() { # FILE
	local line
	[[ $1 == *.@(sh|bash|bats) ]] || { read -r line <"$1" && [[ $line == '#!/bin/bash' ]]; }
}

check_lint() {
	local file
	local -a files=()
	for file in layers names idioms; do
		add_suite "$file" "lint-$file"
		lint+=("lint-$file")
	done
	if ! command -v shellcheck >/dev/null; then
		skip_suite lint 1 "shellcheck is not installed"
		return
	fi
	for file in scripts/*.sh scripts/*/* configs/*.bash tests/*/*.sh .ci/run tests/*/*.bash tests/e2e/*.bats; do
		[[ -e $file ]] && is_shell "$file" && files+=("lint-${file//\//%}")
	done
	add_suite lint "${files[@]}"
	lint+=("${files[@]}")
}

# Large suites come first, as they take the longest.
largest_first() { # FILE...
	ls -S -- "$@"
}

# A test that may be skipped depends on the kernel. kernel_files has the sources of such tests, and headers that may
# skip.
declare -A kernel_files=()
find_kernel_files() {
	local line file header found=yes
	local -a includes
	while read -r file; do
		kernel_files[$file]=yes
	done < <(grep -lE 'skip\(\)|geteuid' tests/unit/*.[ch])
	mapfile -t includes < <(grep -HoE '^#include "[a-z_]*\.h"' tests/unit/*.[ch])
	while [[ $found ]]; do
		found=
		for line in "${includes[@]}"; do
			file=${line%%:*} header=${line#*\"}
			if [[ ! ${kernel_files[$file]-} && ${kernel_files[tests/unit/${header%\"}]-} ]]; then
				kernel_files[$file]=yes found=yes
			fi
		done
	done
}

add_unit() { # unit|san TITLE
	local source name
	local -a names=()
	((${#kernel_files[@]})) || find_kernel_files
	while read -r source; do
		name=${source##*/}
		name=$1-${name%.c}
		names+=("$name")
		if [[ ${kernel_files[$source]-} ]]; then
			add_to_kernel "$name" "$source"
		else
			pure+=("$name")
		fi
	done < <(largest_first tests/unit/test_*.c)
	add_suite "$2" "${names[@]}"
}

check_unit() {
	needs_build all all unit workloads
	add_unit unit unit
}

check_san() {
	needs_build san SAN=1 all unit
	add_unit san "unit (sanitizers)"
}

check_fuzz() {
	local source name
	needs_build san SAN=1
	for source in tests/fuzz/fuzz_*.c; do
		name=$(basename "$source" .c)
		needs_build san ".output-san/tests/fuzz/$name"
		add_suite "$name" "fuzz-$name"
		pure+=("fuzz-$name")
	done
}

san_suites() {
	local name
	if [[ ${SAN_SUITES-} == all ]]; then
		printf '%s\n' "${e2e_files[@]}"
	else
		for name in ${SAN_SUITES:-$SAN_DEFAULT}; do
			[[ -e tests/e2e/$name.bats ]] && echo "tests/e2e/$name.bats"
		done
	fi
}

# Names of these jobs are short, because they become part of paths of sockets and in rules, whose length is limited.
add_e2e() { # e|s TITLE FILE...
	local i kind=$1 title=$2
	local -A number=()
	shift 2
	for i in "${!e2e_files[@]}"; do
		number[${e2e_files[i]}]=$i
	done
	for file in "$@"; do
		i=${number[$file]}
		add_suite "$title $(basename "$file")" "$kind-$i"
		add_to_kernel "$kind-$i" "$file"
	done
}

can_e2e() {
	local why=
	((EUID == 0)) || why="needs root"
	command -v bats >/dev/null || why="bats is not installed: scripts/deps.sh"
	[[ ! $why ]] || skip_suite "end to end" "$(cat tests/e2e/*.bats | grep -c '^@test ')" "$why"
	[[ ! $why ]]
}

check_e2e() {
	local file
	local -a files
	can_e2e || return
	needs_build all all workloads
	mapfile -t files < <(largest_first "${e2e_files[@]}")
	add_e2e e e2e "${files[@]}"
	needs_build san SAN=1 all
	mapfile -t files < <(san_suites)
	add_e2e s e2e-san "${files[@]}"
}

check_storm() {
	export FRBPF_LONG=yes
	UNIT_LIMIT=7200 E2E_LIMIT=2400 E2E_FILE_LIMIT=7200
	needs_build all all workloads .output/tests/unit/test_out_of_memory
	add_suite "storm test_out_of_memory" unit-test_out_of_memory
	alone+=(unit-test_out_of_memory)
	! can_e2e || add_e2e e storm tests/e2e/storm.bats
}

# --- the jobs

run_job() { # NAME[.again]
	local what=${1#*-}
	what=${what%.again}
	case $1 in
	lint-layers | lint-names | lint-idioms) limited 60 "scripts/$what.sh" ;;
	lint-*) limited 60 shellcheck -x -P SCRIPTDIR "${what//%//}" ;;
	build-*) build_job "$what" ;;
	unit-*) limited "$UNIT_LIMIT" env CMOCKA_MESSAGE_OUTPUT=TAP ".output/tests/unit/$what" ;;
	san-*) limited "$UNIT_LIMIT" env CMOCKA_MESSAGE_OUTPUT=TAP ".output-san/tests/unit/$what" ;;
	fuzz-*) limited $((FUZZ_TIME + 90)) scripts/fuzz.sh "$FUZZ_TIME" ".output-san/tests/fuzz/$what" ;;
	e-*) e2e_job "$1" "$PWD/frbpf" "${e2e_files[what]}" ;;
	s-*) e2e_job "$1" "$PWD/.output-san/frbpf" "${e2e_files[what]}" ;;
	esac
}

build_job() { # all|san
	local -a arguments
	read -ra arguments <<<"${targets[$1]}"
	limited $BUILD_LIMIT make -j"$(nproc)" "${arguments[@]}"
}

# The job's directory has the temporary files of the suite, too. Sanitizers report into files there, because a daemon
# has no terminal.
e2e_job() { # NAME[.again] FRBPF FILE
	local dir=$tmp/$1 status only=.
	local -a pids
	[[ $1 == *.again ]] && only=$(failed_regex "$tmp/${1%.again}/out")
	limited $E2E_FILE_LIMIT "${own_run[@]}" env FRBPF="$2" TMPDIR="$dir" \
		FRBPF_WORKLOADS="$PWD/.output/tests/workloads" BATS_TEST_TIMEOUT=$E2E_LIMIT \
		ASAN_OPTIONS="log_path=$dir/sanitizer" \
		UBSAN_OPTIONS="print_stacktrace=1:log_path=$dir/sanitizer" bats --tap --filter "$only" "$3"
	status=$?
	# processes that end by themselves when their test's directory is gone may need a moment
	for _ in {1..100}; do
		mapfile -t pids < <(leftovers "$dir")
		((${#pids[@]})) || return $status
		sleep 0.1
	done
	ps -o pid,args -p "${pids[*]}" >"$dir/left"
	kill -KILL "${pids[@]}" 2>/dev/null
	return $status
}

# Sets own_run to a prefix for commands that gives each command its own /run/frbpf. If that is not allowed, own_run is
# empty.
find_own_run() {
	# shellcheck disable=SC2016 # of the inner shell
	own_run=(unshare -m sh -c 'mkdir -p /run/frbpf && mount -t tmpfs -o mode=755 frbpf /run/frbpf && exec "$@"' -)
	"${own_run[@]}" true 2>/dev/null || own_run=()
}

# These jobs run at a lower priority: the tests beside them get the CPU first.
pure_jobs() {
	renice -n 5 "$BASHPID" >/dev/null
	side_by_side "$(nproc)" "${pure[@]}"
}

all_jobs() {
	side_by_side "$(nproc)" "${lint[@]}"
	[[ ! ${targets[all]-} ]] || side_by_side 1 build-all
	in_background pure_jobs
	side_by_side 1 "${alone[@]}"
	side_by_side $LANES "${beside[@]}" "${san_beside[@]}"
	side_by_side 1 "${san_alone[@]}"
	wait "${lanes[@]}"
}

# --- results

# Reports a suite that has no jobs, because something that it needs is missing here.
skip_suite() { # TITLE N WHY
	suite_begin "$1"
	suite_skipped=$2
	suite_end 0 "$3"
}

suite_is_over() { # TITLE
	local name
	for name in ${jobs_of[$1]}; do
		is_over "$name" || return
	done
}

# Prints the jobs of a suite that may run again: tests on the real kernel.
jobs_to_repeat() { # TITLE
	local name status
	for name in ${jobs_of[$1]}; do
		[[ $name == @(unit|san|e|s)-* ]] || continue
		read_status "$name"
		[[ $status == [1-9]* ]] && may_try_again "$name" && echo "$name"
	done
	return 0
}

add_result() { # NAME
	local dir=$tmp/$1 status report
	read_status "$1"
	case $1 in
	build-*) [[ $status == 0 ]] || suite_fail "make: $(status_words "$status")" <"$dir/out" ;;
	fuzz-* | lint-*%*)
		if [[ $status == 0 ]]; then
			((++suite_passed))
			[[ $1 == lint-* ]] || remark=$(sed 's/^[^:]*: //' "$dir/out")
		else
			suite_fail "${1//%//}" <"$dir/out"
		fi
		;;
	e-* | s-*) suite_add_tap "${suite#* }" "$status" "$dir/out" ;;
	*) suite_add_tap "${1#*-}" "$status" "$dir/out" ;;
	esac
	[[ ! -e $dir/unsteady ]] || cat "$dir/unsteady" >>"$suite_notes"
	for report in "$dir"/sanitizer.*; do
		[[ -e $report ]] && suite_fail "sanitizer report" <"$report"
	done
	[[ ! -e $dir/left ]] || suite_fail "processes left behind" <"$dir/left"
}

# Prints the line of a suite, with the time that its jobs took. If its build has failed, it has no line: the build has
# one.
report() { # TITLE
	local name status took us=0 remark=
	suite_begin "$1"
	for name in ${jobs_of[$1]}; do
		read_status "$name"
		[[ $status == unbuilt ]] && return
		read -r took <"$tmp/$name/us"
		((us += took))
		add_result "$name"
	done
	suite_end $us "$remark"
	for name in ${jobs_of[$1]}; do
		[[ $name == build-* ]] || rm -rf "${tmp:?}/$name" "${tmp:?}/$name.again"
	done
}

# Reports each suite when it is over. Suites that are to be repeated go to $repeated instead.
report_all() {
	local title running
	local -a open=("${suites[@]}") later
	repeated=()
	while ((${#open[@]})); do
		later=() running=$(jobs -pr)
		for title in "${open[@]}"; do
			if ! suite_is_over "$title"; then
				later+=("$title")
			elif [[ $(jobs_to_repeat "$title") ]]; then
				repeated+=("$title")
			else
				report "$title"
			fi
		done
		open=("${later[@]}")
		if [[ ! $running && ${open[*]} ]]; then
			suite_begin "jobs"
			suite_fail "ended before: ${open[*]}" </dev/null
			suite_end 0
			return
		fi
		sleep 2 # each round starts processes for every suite that is not over
	done
}

repeat_failed() {
	local title name
	for title in "${repeated[@]}"; do
		for name in $(jobs_to_repeat "$title"); do
			side_by_side 1 "$name.again"
			forgive "$name"
		done
		report "$title"
	done
}

parts=("$@")
((${#parts[@]})) || parts=(lint fuzz unit san e2e)
for part in "${parts[@]}"; do
	if ! declare -F "check_$part" >/dev/null; then
		echo "usage: scripts/check.sh [lint|unit|san|fuzz|e2e|storm]..." >&2
		exit 2
	fi
done
e2e_files=(tests/e2e/*.bats)
for part in "${parts[@]}"; do
	"check_$part"
done
find_own_run
in_background all_jobs
report_all
wait "${lanes[@]}"
repeat_failed
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
((total_failed == 0))
