#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

PERFDATA_CHECK=${FRBPF_HELPERS:-$WORKLOADS/../helpers}/perfdata_check

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	write_rules </dev/null
	frbpf_load
}

teardown() {
	common_teardown
}

# Prints every sample, one a line, as perf script does.
samples() { # FILE...
	local file
	for file in "$@"; do
		perf script -i "$file" --ns -F comm,tid,cpu,time,event,ip,sym -G 2>/dev/null || return
	done | grep -v '^$' | tr -s ' ' | sort
}

@test "a merged file has every sample of the dumps once, and their names" {
	workload burn --seconds 0.2
	frbpf dump --reason first >/dev/null
	workload burn --seconds 0.2
	frbpf dump --reason second >/dev/null # its windows begin at the same time as those of the first dump
	run frbpf merge -o "$BATS_TEST_TMPDIR/all" "$BASE"
	[[ $status == 0 ]] || fail "$output"
	"$PERFDATA_CHECK" "$BATS_TEST_TMPDIR/all" >"$BATS_TEST_TMPDIR/checked" ||
		fail "perfdata_check refuses it: $(cat "$BATS_TEST_TMPDIR/checked")"
	mapfile -t files < <(dumps)
	samples "${files[@]}" | sort -u >"$BATS_TEST_TMPDIR/wanted"
	samples "$BATS_TEST_TMPDIR/all" >"$BATS_TEST_TMPDIR/got"
	cmp "$BATS_TEST_TMPDIR/wanted" "$BATS_TEST_TMPDIR/got" ||
		fail "$(diff "$BATS_TEST_TMPDIR/wanted" "$BATS_TEST_TMPDIR/got" | head -20)"
	grep -q 'frbpf:trigger' "$BATS_TEST_TMPDIR/got"
	same "markers" "$(grep -c 'frbpf:trigger' "$BATS_TEST_TMPDIR/got")" 2
	run frbpf merge -o "$BATS_TEST_TMPDIR/all" "$BASE"
	[[ $status == 1 && $output == *"it exists already: nothing is overwritten without --force"* ]] || fail "$output"
	frbpf merge -f -o "$BATS_TEST_TMPDIR/all" "$(dumps | head -n 1)" "$BASE/session-sched"
	# an incident can be named by its manifest
	[[ $(frbpf merge -f -o "$BATS_TEST_TMPDIR/all" "$(compgen -G "$BASE/incidents/*.json" | head -n 1)") == \
		*"of 2 files"* ]]
}

@test "a file of perf record merges with a dump when both have the same clock" {
	perf record --no-bpf-event -q -k CLOCK_MONOTONIC -e cpu-clock -g -o "$BATS_TEST_TMPDIR/perf.data" \
		-- "$WORKLOADS/burn" --seconds 0.2 >/dev/null
	frbpf dump >/dev/null
	frbpf merge -o "$BATS_TEST_TMPDIR/all" last "$BATS_TEST_TMPDIR/perf.data"
	same "samples" "$(perf script -i "$BATS_TEST_TMPDIR/all" -F event 2>/dev/null |
		grep -v frbpf: | grep -c .)" \
		"$(for f in $(dumps) "$BATS_TEST_TMPDIR/perf.data"; do
			perf script -i "$f" -F event 2>/dev/null
		done | grep -v frbpf: | grep -c .)"
	perf record --no-bpf-event -q -e cpu-clock -o "$BATS_TEST_TMPDIR/other" -- true
	run frbpf merge -o "$BATS_TEST_TMPDIR/none" last "$BATS_TEST_TMPDIR/other"
	[[ $status == 1 && $output == *"perf's own clock"*CLOCK_MONOTONIC* ]] || fail "$output"
	[[ ! -e $BATS_TEST_TMPDIR/none ]]
}
