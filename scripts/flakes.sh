#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Looks for tests that depend on the speed of the machine. Runs end-to-end suites and unit tests again and again, while
# a workload takes the CPUs away at random times, as the hypervisor of a busy host does. Needs root. Run
# `make all workloads unit` first.
#
#	scripts/flakes.sh [--times N] [--longest MS] [NAME...]
#
#	--times		how often (5)
#	--longest	the longest time in ms for which a CPU is away (60); try 400 as well
#	NAME		a suite of tests/e2e, such as run_ci, or a program of tests/unit, such as test_detectors;
#			default: all suites of tests/e2e
#
# Prints a line per failed test with its output, and at the end how often each test has failed. Exit status 1 if one has
# failed.
set -u
cd "$(dirname "$0")/.." || exit 1

usage() {
	echo "usage: scripts/flakes.sh [--times N] [--longest MS] [NAME...]" >&2
	exit 2
}

times=5 thief_args=()
while [[ ${1-} == --* ]]; do
	case $1 in
	--times) times=${2-} ;;
	--longest) thief_args=(--longest "${2-}") ;;
	*) usage ;;
	esac
	shift 2 || usage
done
names=("$@")
((${#names[@]})) || mapfile -t names < <(basename -s .bats tests/e2e/*.bats)
[[ $times =~ ^[1-9][0-9]*$ ]] || usage
for name in "${names[@]}"; do
	[[ -e tests/e2e/$name.bats || -x .output/tests/unit/$name ]] || usage
done

tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-flakes.XXXXXX") || exit 1
.output/tests/workloads/cpu_thief "${thief_args[@]}" &
thief=$!
trap 'kill "$thief"; rm -rf "$tmp"' EXIT

run_one() { # NAME: its TAP
	if [[ -e tests/e2e/$1.bats ]]; then
		env FRBPF="$PWD/frbpf" FRBPF_WORKLOADS="$PWD/.output/tests/workloads" TMPDIR="$tmp/t" \
			BATS_TEST_TIMEOUT=300 bats --tap "tests/e2e/$1.bats"
	else
		env TMPDIR="$tmp/t" CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 240 ".output/tests/unit/$1" ||
			echo "not ok 0 exit status $?"
	fi
}

for ((i = 1; i <= times; i++)); do
	for name in "${names[@]}"; do
		mkdir "$tmp/t"
		run_one "$name" </dev/null >"$tmp/out" 2>&1
		awk -v name="$name" '/^not ok / && !/# (skip|SKIP)/ {
				show = 1
				test = $0
				sub(/^not ok [0-9]* (- )?/, "", test)
				print name ": " test >>failed
			}
			/^ok / {show = 0}
			show {print name ": " $0}' failed="$tmp/failed" "$tmp/out"
		rm -rf "$tmp/t"
	done
	echo "round $i of $times is over"
done
[[ -e $tmp/failed ]] || exit 0
sort "$tmp/failed" | uniq -c
exit 1
