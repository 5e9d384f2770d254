#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Sessions without --overwrite after `frbpf start`. Such a session writes its perf.data all the time. The file is
# compared with a perf.data of perf record.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	export PERF_CONFIG_NOSYSTEM=1
}

teardown() {
	[[ ! ${recorder:-} ]] || kill -INT "$recorder" 2>/dev/null || true
	[[ ! ${switching:-} ]] || kill "$switching"
	common_teardown
}

start() {
	frbpf start --config "$RULES"
}

ended() { # SESSION
	! frbpf status | grep -q "\[[0-9]*:$1\]"
}

@test "a session without --overwrite has every event that a simultaneous perf record has" {
	mkfifo "$BATS_TEST_TMPDIR/"{go,ctl,ack}
	# both record the same process, from before its exec until it ends
	sh -c 'read -r x <"$1"; exec "$2" --waits 100 --wait 1' mix "$BATS_TEST_TMPDIR/go" "$WORKLOADS/mix" >/dev/null \
		3>&- &
	local pid=$! ours theirs
	sessions >"$RULES" <<-END
		one -e sched:sched_switch -e sched:sched_waking -m 8M -p $pid
	END
	perf record -q -e sched:sched_switch -e sched:sched_waking -m 8M -p "$pid" -o "$BATS_TEST_TMPDIR/perf.data" \
		-D -1 --control "fifo:$BATS_TEST_TMPDIR/ctl,$BATS_TEST_TMPDIR/ack" &>"$BATS_TEST_TMPDIR/perf.out" 3>&- &
	recorder=$!
	start
	# perf creates its file before it enables its events: wait for its answer
	echo enable >"$BATS_TEST_TMPDIR/ctl"
	grep -q ack <"$BATS_TEST_TMPDIR/ack"
	echo >"$BATS_TEST_TMPDIR/go"
	wait "$pid" || true
	wait "$recorder" || true
	recorder=
	# like perf record, the session ends with its target
	wait_until 60 ended one || fail "$(frbpf status)"
	ours=$BASE/session-one/perf.data
	theirs=$BATS_TEST_TMPDIR/perf.data
	grep -q 'Captured and wrote .* MB perf.data (.* samples)' "$BASE/session-one/output"
	for file in "$ours" "$theirs"; do
		perf script -F event,trace -i "$file" 2>/dev/null | grep 'comm=mix' >"$file.events" || true
	done
	(($(wc -l <"$theirs.events") > 0)) || fail "perf has $(wc -l <"$theirs.events") events"
	diff <(sort "$ours.events") <(sort "$theirs.events")
	perf_quiet report -i "$ours" --stdio
	[[ $(perf evlist -i "$ours") == *sched:sched_switch* ]]
	# evlist prints the same lines for both files, except for the clock and wake-ups
	diff <(attrs "$ours") <(attrs "$theirs")
}

# Prints the attributes from perf evlist -v, without those that we choose differently.
attrs() { # FILE
	perf evlist -v -i "$1" 2>/dev/null | grep '^sched:' | sed -E -e 's/, (watermark|use_clockid): 1//g' \
		-e 's/, (clockid|wakeup_watermark|wakeup_events|\{ wakeup_events, wakeup_watermark \}): [0-9]+//g' \
		-e 's/, (mmap|comm|task|mmap2|comm_exec|ksymbol|bpf_event|context_switch|freq|disabled|enable_on_exec|sample_id_all|inherit|exclude_guest|LOST): 1//g' \
		-e 's/, sample_type: [A-Z_|]+, read_format: [A-Z_|]+//'
}

@test "the file reads while it is written, and after a kill; the next start keeps it as perf.data.old" {
	sessions >"$RULES" <<-'END'
		one -e sched:sched_wakeup -a
	END
	start
	local file=$BASE/session-one/perf.data pid
	workload mix --waits 5 --wait 1 >/dev/null
	wait_until 60 perf_finds "$file" mix || fail "$(perf script -i "$file" 2>&1 | tail -n 3)"
	pid=$(daemon_pid)
	kill -KILL "$pid"
	wait_until 60 is_gone "$pid"
	perf_quiet script -i "$file"
	grep -q '^ *mix .*sched:sched_wakeup\|comm=mix' "$perf_out"
	cp "$file" "$BATS_TEST_TMPDIR/killed"
	start
	cmp "$file.old" "$BATS_TEST_TMPDIR/killed"
	[[ -s $file ]]
	run -1 frbpf dump
	[[ $output == *"writes its file all the time"* ]] ||
		[[ $output == *"every session writes its file all the time"* ]]
	[[ $(frbpf status -v) == *"writes:     $file, "* ]]
}

perf_finds() { # FILE COMM
	perf script -i "$1" 2>/dev/null | grep -q "$2"
}

daemon_pid() {
	frbpf status --json | jq .pid
}

@test "with --switch-output a dump ends the file, another begins, and no event is lost in between" {
	sessions >"$RULES" <<-'END'
		one -e sched:sched_process_exit -a --switch-output
		small -e sched:sched_switch -a --max-size 1M
	END
	start
	local n=0 seen
	for _ in 1 2 3; do
		for _ in {1..20}; do
			"$WORKLOADS/mix" --rounds 1 >/dev/null
		done
		frbpf dump --session one >/dev/null
	done
	perf bench sched pipe -l 20000 >/dev/null # more than 1 MB of switches
	wait_until 60 ended small || fail "$(frbpf status)"
	frbpf stop
	same "files" "$(find "$BASE/session-one" -name 'perf.data*' | wc -l)" 4
	[[ ! -e $BASE/session-one/perf.data ]]
	for file in "$BASE"/session-one/perf.data.*; do
		perf_quiet script -F comm,event -i "$file"
		seen=$(grep -c '^ *mix .*sched_process_exit' "$perf_out") || true
		((n += seen)) || true
		grep -q frbpf:trigger "$perf_out"
	done
	same "processes" "$n" 60
	grep -q 'perf size limit reached (1024 KB), stopping session' "$BASE/session-small/output"
	(($(stat -c %s "$BASE/session-small/perf.data") < 4000000))
	perf_quiet script -i "$BASE/session-small/perf.data"
}

@test "every sample of a plain session has a name, from its first one on, also after a dump began another file" {
	(while :; do "$WORKLOADS/pingpong" --loops 20000 >/dev/null; done) 3>&- &
	switching=$!
	sessions >"$RULES" <<-'END'
		one -e sched:sched_switch -a -m 4M --switch-output
		two -e sched:sched_switch -a -m 4M
		three -e sched:sched_switch -a -m 4M
	END
	start
	for _ in 1 2 3; do
		frbpf dump --session one >/dev/null
	done
	frbpf stop
	for file in "$BASE"/session-{one,two,three}/perf.data*; do
		perf script -F comm,tid,time,event -i "$file" >"$BATS_TEST_TMPDIR/script" 2>/dev/null
		grep -q 'sched_switch:' "$BATS_TEST_TMPDIR/script"
		# perf prints ":TID" for a task without a name
		if grep '^ *:[0-9]' "$BATS_TEST_TMPDIR/script"; then
			fail "$file"
		fi
	done
}

n_of_size() { # N: at least
	(($(find "$BASE/session-size" -name 'perf.data.2*' | wc -l) >= $1))
}

@test "without --overwrite: -n gives no sample, -z all of them, and a dump by size may be larger than the rings" {
	sessions >"$RULES" <<-'END'
		none -e cpu-clock -n -a
		zip -e sched:sched_process_exit -z3 -a
		size -e sched:sched_switch -a -m 64K --switch-output=512K
	END
	run -0 start
	[[ $output != *"overwrites records"* ]] || fail "its rings are drained: $output"
	run -0 "$FRBPF" check "$RULES"
	[[ $output == *"overwrites records"* ]] || fail "rings would be overwritten: $output"
	for _ in {1..20}; do
		"$WORKLOADS/mix" --rounds 1 >/dev/null
	done
	perf bench sched pipe -l 20000 >/dev/null # more than 512 KB of switches
	wait_until 60 n_of_size 1 || fail "no dump by size: $(ls -l "$BASE/session-size")"
	frbpf stop
	for file in "$BASE"/session-{none,zip}/perf.data "$BASE"/session-size/perf.data.*; do
		perf script -F comm,event -i "$file" >"$file.said" 2>/dev/null || fail "perf refuses $file"
	done
	same "samples with -n" "$(grep -c : "$BASE/session-none/perf.data.said")" 0
	same "processes with -z" "$(grep -c '^ *mix .*sched_process_exit' "$BASE/session-zip/perf.data.said")" 20
	perf report --header-only -i "$BASE/session-zip/perf.data" 2>/dev/null | grep -q 'compressed : Zstd' ||
		fail "it is not compressed"
	same "dumps by size without an event" "$(grep -Lr sched_switch "$BASE"/session-size/*.said)" ""
}

@test "a file with rules records into rings, and check says so" {
	sessions >"$RULES" <<-'END'
		one -e cpu-clock -a
	END
	run -0 "$FRBPF" check "$RULES"
	[[ $output == *"without --overwrite: records into an overwritable ring all the same; \`frbpf start\` writes its perf.data all the time"* ]]
	printf '[rule-x]\nwhen = runqlat > 1h\n' >>"$RULES"
	run -0 "$FRBPF" check "$RULES"
	[[ $output == *"without --overwrite: records into an overwritable ring all the same, which rules dump"* ]]
	frbpf start --config "$RULES"
	frbpf dump >/dev/null
	perf_quiet script -i "$(dumps one)"
	[[ ! -e $BASE/session-one/perf.data ]]
}
