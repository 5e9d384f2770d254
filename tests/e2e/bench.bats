#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf bench: verdicts on real runs: slower code, and slower machines.

# shellcheck disable=SC2154 # set by bats and the helpers
# shellcheck disable=SC2030,SC2031 # every test is a shell of its own
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
load run_helpers

@test "a much slower run: regressed, status 2, and one more run is recorded" {
	need_perf
	# the run is so slow that neither a pause of the machine nor slow memory can explain it
	save base -- sleep 0.02
	run -2 --separate-stderr frbpf_bench "${ALONE[@]}" --baseline base --when "$NEVER" -o "$OUT" -- \
		bash -c 'echo x >>count; exec sleep 1'
	same "verdict" "$(summary .comparison.verdict)" regressed
	same "status" "$(summary .exit_status)" 2
	same "metric" "$(summary '.comparison.metrics[] | select(.name == "time").verdict')" regressed
	same "rule" "$(summary '.comparison.metrics[] | select(.name == "rule when-1: mean").change')" grew
	# five runs and the additional one; more if a run was disturbed
	same "runs" "$(wc -l <count)" $(($(summary '.runs | length') + 1))
	# no rule fired by its own threshold; in the last run one fired by the threshold from the baseline
	same "fired" "$(summary .fired)" false
	same "captured" "$(summary '[.incidents[] | select(.capture) | .last_window]')" '[false,true]'
	(($(summary '.incidents[0].triggers[0].threshold_ns') < 1000000000))
	perf_quiet script -i "$(summary '.incidents[0].files[] | select(.session == "cpu").file')"
	xmllint --noout "$OUT/junit.xml"
	# the wall time has failed; the CPU time may have failed, too, as a shell runs before the sleep
	between "$(xmllint --xpath 'string(//testsuite/@failures)' "$OUT/junit.xml")" 1 2 "failures"
	same "cases" "$(xmllint --xpath 'count(//testcase)' "$OUT/junit.xml")" 3
	grep -q '^#### against the baseline: regressed' "$OUT/summary.md"
	[[ $stderr == *"regressed: time"* ]]
}

@test "--tolerance: a slowdown within it passes" {
	save base -- sleep 0.1
	run -0 --separate-stderr frbpf_bench "${ALONE[@]}" --tolerance 900% --baseline base --when "$NEVER" -o "$OUT" \
		-- sleep 0.15
	same "verdict" "$(summary .comparison.verdict)" pass
	[[ $stderr == *"pass: "* ]]
	same "failures" "$(xmllint --xpath 'string(//testsuite/@failures)' "$OUT/junit.xml")" 0
}

@test "a busy machine: the verdict is disturbed, not regressed, and --strict fails" {
	save base -- sleep 0.1
	local cpu
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		chrt -i 0 bash -c 'while :; do :; done' </dev/null &>/dev/null 3>&- &
		background+=" $!"
	done
	run -2 --separate-stderr frbpf_bench --strict --repeat 5 --baseline base --when "$NEVER" -o "$OUT" -- sleep 0.3
	same "verdict" "$(summary .comparison.verdict)" disturbed
	same "captured" "$(summary '[.incidents[] | select(.capture)]')" '[]'
	# disturbed runs are repeated, up to three times as many as requested
	same "runs" "$(summary '.runs | length')" 15
	[[ $stderr == *"disturbed, so there is no verdict: others disturbed too many runs"* ]]
	same "skipped" "$(xmllint --xpath 'string(//testsuite/@skipped)' "$OUT/junit.xml")" 2
	# without --strict the status would be 0: see the next test
	same "status" "$(summary .exit_status)" 2
}

@test "another CPU model: a slowdown is disturbed, not regressed" {
	save base -- sleep 0.02
	jq '.cpu = "Another CPU"' base >other
	# if others used the machine, that is reported instead of the different CPU: try again
	for attempt in 1 2 3; do
		run -0 --separate-stderr frbpf_bench "${ALONE[@]}" --baseline other --when "$NEVER" -o "$OUT.$attempt" \
			-- sleep 1
		same "verdict" "$(summary .comparison.verdict "$OUT.$attempt")" disturbed
		same "status" "$(summary .exit_status "$OUT.$attempt")" 0
		[[ $stderr == *"others disturbed"* ]] || break
	done
	[[ $stderr == *"another CPU: "* ]] || fail "$stderr"
}

@test "--against: another command runs in turns with ours, and its recordings are not kept" {
	local n
	run -0 --separate-stderr frbpf_bench "${ALONE[@]}" --tolerance 100% --repeat 8 --when "$WHEN" -o "$OUT" \
		--against "bash -c 'echo -n o >>order; exec sleep 0.2'" -- bash -c 'echo -n n >>order'
	# eight pairs; more if their times differ a lot
	n=$(summary '.runs | length')
	between "$n" 8 32 "pairs"
	same "order" "$(cat order)" "$(yes noon | head -n "$n" | tr -d '\n' | head -c $((2 * n)))"
	same "verdict" "$(summary .comparison.verdict)" pass
	same "the other" "$(summary .comparison.against)" "bash -c 'echo -n o >>order; exec sleep 0.2'"
	same "runs of the other" "$(summary '.against_runs | length')" "$n"
	(($(summary '[.against_runs[] | select(.wall_ns < 200000000)] | length') == 0))
	same "ratio below 1" "$(summary '.comparison.metrics[0].high < 1')" true
	# the rule fires in every run of the other command, which sleeps; only our command counts
	same "fired" "$(summary .fired)" false
	same "matched" "$(summary '.rules[0].matched')" 0
	same "incidents" "$(summary .incidents)" '[]'
	same "files" "$(find "$OUT" -name 'perf.data*' -o -path '*/incidents/*')" ""
	[[ $stderr != *fired* && $stderr == *"pass: as fast as bash -c "* ]] || fail "$stderr"
}

@test "--against: slower than the other is regressed, and one more run is recorded" {
	need_perf
	run -2 --separate-stderr frbpf_bench "${ALONE[@]}" --tolerance 100% --repeat 8 --when "$NEVER" -o "$OUT" \
		--against 'sleep 0.05' -- bash -c 'echo x >>count; exec sleep 0.5'
	same "verdict" "$(summary .comparison.verdict)" regressed
	same "metric" "$(summary '.comparison.metrics[] | select(.name == "time").verdict')" regressed
	same "runs" "$(wc -l <count)" $(($(summary '.runs | length') + 1))
	same "captured" "$(summary '[.incidents[] | select(.capture) | .last_window]')" '[false,true]'
	perf_quiet script -i "$(summary '.incidents[0].files[] | select(.session == "cpu").file')"
	xmllint --noout "$OUT/junit.xml"
	same "case" "$(xmllint --xpath 'count(//testcase[@name="against: time"]/failure)' "$OUT/junit.xml")" 1
	grep -q '^#### against sleep 0\.05: regressed' "$OUT/summary.md" || fail "$(cat "$OUT/summary.md")"
	[[ $stderr == *"regressed: time "*" times the other's"* ]] || fail "$stderr"
}
