#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf bench: several runs, baselines and exit status; nothing here compares times.

# shellcheck disable=SC2154 # set by bats and the helpers
# shellcheck disable=SC2030,SC2031 # every test is a shell of its own
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load run_helpers

@test "--repeat: every run is separate, begins in the same state, and is in the summary" {
	run -0 --separate-stderr frbpf_bench --repeat 3 --when "$NEVER" -o "$OUT" -- \
		bash -c 'sleep 0.01; ulimit -n; grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status'
	same "runs" "$(summary '.runs | length')" 3
	same "values" "$(summary '.rules[0].values.n')" 3
	same "comparison" "$(summary .comparison)" null
	# Signals 29 and up are left out: the C library uses two of them, and ignores them only until the process has
	# threads.
	same "lines" "$(sed -E 's/[0-9a-f]{9}([0-9a-f]{7})$/\1/' <<<"$output" | sort | uniq -c | awk '$1 % 3')" ""
	(($(summary '[.runs[] | select(.wall_ns < 10000000)] | length') == 0))
	grep -q ', 3 runs, ' "$OUT/summary.md"
	# runs without an incident leave only their reports
	same "directory" "$(cd "$OUT" && echo *)" "junit.xml log summary.json summary.md"
}

@test "--repeat ends with the status of a failing command, and writes no baseline" {
	run -3 --separate-stderr frbpf_bench --repeat 9 --save-baseline "$work/base" --when "$NEVER" -o "$OUT" -- \
		bash -c 'echo x >>count; (($(wc -l <count) < 3)) || exit 3'
	same "runs" "$(wc -l <count)" 3
	[[ $stderr == *"no baseline is written"* && ! -e base ]]
}

@test "a rule that fires in any run fails all of them" {
	local -x GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$work/page
	touch page
	run -2 --separate-stderr frbpf_bench --repeat 3 --when "$WHEN" -o "$OUT" -- \
		bash -c 'echo x >>count; (($(wc -l <count) != 2)) || sleep 0.2'
	same "fired" "$(summary '.rules[0].matched')" 1
	same "incidents" "$(summary '[.incidents[].run]')" '[2]'
	# single runs print no annotations; the whole series prints one
	same "annotations" "$(grep -c ^:: <<<"$stderr")" 1
	same "page" "$(grep -c '^### frbpf' page)" 1
	same "its run" "$(summary '.incidents | length' "$OUT/run-2")" 1
	[[ -e $(summary '.incidents[0].files[0].file') && ! -e $OUT/run-1 && ! -e $OUT/run-3 ]]
}

@test "bad baselines: one clear error, 125, nothing run and nothing overwritten" {
	save base -- true
	refuse() { # WANTED ARGUMENTS...
		local wanted=$1
		shift
		run -125 --separate-stderr frbpf_bench -o "$OUT" "$@" -- touch ran
		[[ $stderr == *"$wanted"* ]] || fail "$stderr"
		[[ ! -e ran && ! -e $OUT ]]
	}
	local sum
	sum=$(sha256sum base)
	refuse 'of other rules: ' --baseline base --when "$WHEN"
	refuse 'of other rules: ' --baseline base --when "$NEVER" --when "$WHEN"
	refuse 'of other sessions: ' --baseline base --when "$NEVER" --session '-e cpu-clock'
	refuse '--matches-only' --baseline base --when "$NEVER" --matches-only
	refuse 'No such file' --baseline none --when "$NEVER"
	jq '.version = 99' base >newer
	refuse 'of another version: 99' --baseline newer --when "$NEVER"
	head -c 700 base >cut.json
	refuse '--baseline cut.json: damaged: line' --baseline cut.json --when "$NEVER"
	jq '.runs = .runs[:4]' base >few
	refuse 'it has 4 runs' --baseline few --when "$NEVER"
	# this error would affect all runs
	jq '.command = "another one"' base >another
	mkdir "$OUT"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --baseline another --when "$NEVER" -- touch ran
	[[ $stderr == *"the baseline is of another command: another one"* && ! -e ran ]] || fail "$stderr"
	rmdir "$OUT"
	mkfifo fifo
	refuse '--baseline fifo: ' --baseline fifo --when "$NEVER"
	refuse 'it exists already' --save-baseline base --when "$NEVER"
	refuse '--save-baseline none/base: No such file' --save-baseline none/base --when "$NEVER"
	refuse 'not a regular file' --force --save-baseline fifo --when "$NEVER"
	refuse 'needs 5 runs or more' --repeat 4 --save-baseline new --when "$NEVER"
	refuse '--tolerance 5: a percentage' --tolerance 5 --baseline base --when "$NEVER"
	refuse '--for is an option of `frbpf run`' --for 5s --repeat 5 --when "$NEVER"
	refuse '-a is an option of `frbpf run`' -a --repeat 5 --when "$NEVER"
	refuse '--repeat, --baseline, --save-baseline or --against is needed' --when "$NEVER"
	refuse '--force needs --save-baseline' --force --baseline base --when "$NEVER"
	same "file" "$(sha256sum base)" "$sum"
}

@test "options of frbpf bench are refused by frbpf run, which names frbpf bench" {
	local option
	for option in --repeat=3 --baseline=a --save-baseline=a --against=true --tolerance=5% --others-limit=5% \
		--strict --force; do
		run -125 --separate-stderr "$FRBPF" run -o "$OUT" "$option" -- touch ran
		[[ $stderr == *"${option%%=*} is an option of "'`frbpf bench`'* && ! -e ran && ! -e $OUT ]] ||
			fail "$stderr"
	done
}

@test "--force replaces a baseline whole" {
	save base -- true
	local before
	before=$(jq .created_ns base)
	run -0 frbpf_bench "${ALONE[@]}" --repeat 6 --force --save-baseline base --when "$NEVER" -o "$OUT" -- true
	same "runs" "$(jq '.runs | length' base)" 6
	[[ $(jq .created_ns base) != "$before" ]]
	same "left" "$(find . -name '.base*')" ""
}

@test "--against with a command that is missing or fails: 125, and nothing is compared" {
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against no-such-command -- touch ran
	[[ $stderr == *"--against no-such-command: no such program"* && ! -e ran && ! -e $OUT ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against "$work" -- touch ran
	[[ $stderr == *"--against $work: no such program"* && ! -e ran && ! -e $OUT ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --agianst true -- touch ran
	[[ $stderr == *"unknown option '--agianst' (did you mean '--against'?)"* ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against "bash -c 'exit 3" -- touch ran
	[[ $stderr == *"a quote has no end"* && ! -e ran && ! -e $OUT ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against true --baseline base -- touch ran
	[[ $stderr == *"--against excludes --baseline"* && ! -e ran && ! -e $OUT ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against true --repeat 7 -- touch ran
	[[ $stderr == *"8 pairs of runs or more"* && ! -e ran && ! -e $OUT ]] || fail "$stderr"
	run -125 --separate-stderr frbpf_bench -o "$OUT" --against "bash -c 'exit 3'" -- true
	[[ $stderr == *"--against: bash ended with status 3: nothing is compared"* ]] || fail "$stderr"
	same "comparison" "$(summary .comparison)" null
}

@test "--against: a signal from the keyboard that ends the other command ends all runs, with its status" {
	run -130 --separate-stderr frbpf_bench -o "$OUT" \
		--against "bash -c 'echo o >>order; kill -INT \$PPID; sleep 50'" -- \
		bash -c 'echo n >>order'
	same "order" "$(tr -d '\n' <order)" no
	same "comparison" "$(summary .comparison)" null
	same "status" "$(summary .exit_status)" 130
	[[ $stderr == *"nothing is compared"* ]] || fail "$stderr"
}
