#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Looks for tests that depend on the speed of the machine: runs end-to-end suites again and again while a workload
# takes the CPUs away at random times, as the hypervisor of a busy host does. As root, after `make all workloads`.
#
#	scripts/flakes.sh [--times N] [SUITE...]	N times (5) the suites of tests/e2e with these names (all)
#
# One line per failed test, with what it said; at the end how often each has failed. Exit status 1 when one has.
set -u
cd "$(dirname "$0")/.." || exit 1

times=5
if [[ ${1-} == --times ]]; then
	times=${2-}
	shift 2
fi
suites=("$@")
((${#suites[@]})) || mapfile -t suites < <(basename -s .bats tests/e2e/*.bats)
for suite in "${suites[@]}"; do
	[[ $times =~ ^[1-9][0-9]*$ && -e tests/e2e/$suite.bats ]] && continue
	echo "usage: scripts/flakes.sh [--times N] [SUITE...]" >&2
	exit 2
done

tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-flakes.XXXXXX") || exit 1
.output/tests/workloads/cpu_thief &
thief=$!
trap 'kill "$thief"; rm -rf "$tmp"' EXIT

for ((i = 1; i <= times; i++)); do
	for suite in "${suites[@]}"; do
		mkdir "$tmp/t"
		env FRBPF="$PWD/frbpf" FRBPF_WORKLOADS="$PWD/.output/tests/workloads" TMPDIR="$tmp/t" \
			BATS_TEST_TIMEOUT=120 bats --tap "tests/e2e/$suite.bats" </dev/null >"$tmp/out" 2>&1
		awk -v suite="$suite" '/^not ok / && !/# (skip|SKIP)/ {
				show = 1
				name = $0
				sub(/^not ok [0-9]* /, "", name)
				print suite ": " name >>failed
			}
			/^ok / {show = 0}
			show {print suite ": " $0}' failed="$tmp/failed" "$tmp/out"
		rm -rf "$tmp/t"
	done
	echo "round $i of $times is over"
done
[[ -e $tmp/failed ]] || exit 0
sort "$tmp/failed" | uniq -c
exit 1
