#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Recordings of other programs must be complete while our detectors are attached. The witnesses are counters that use no
# tracepoint: context switches by getrusage, system calls by the number of loops.

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints sched:sched_switch
	need_tracepoints raw_syscalls:sys_exit
	common_setup
}

teardown() {
	common_teardown
}

load_detectors() {
	write_rules <<-'EOF'
		[rule-runq]
		when = runqlat > 1us
		[rule-call]
		when = syscall:read,write > 1us
		cooldown = 0s
		if = comm == "nobody-at-all"
	EOF
	frbpf_load
}

# Records EVENTS of all CPUs into FILE while pingpong runs. Sets $pingpong to the output of pingpong.
record_pingpong() { # FILE EVENTS
	timeout -k 5 60 perf record --no-bpf-event -q -a -k mono -m 32M -e "$2" -o "$1" \
		-- "$WORKLOADS/pingpong" --loops 10000 --cpu 0 >"$BATS_TEST_TMPDIR/pingpong" 3>&-
	pingpong=$(cat "$BATS_TEST_TMPDIR/pingpong")
}

no_lost() { # FILE
	perf report --stats -i "$1" >"$BATS_TEST_TMPDIR/stats"
	run ! grep LOST "$BATS_TEST_TMPDIR/stats"
}

# Counts the lines of events() of TID between the two times whose text begins with TEXT. Under load, perf record stores
# a few records twice, with equal times ("out of order events recorded"). These count once.
count_events() { # FILE TID BEGIN END TEXT
	awk -F'\t' -v tid="$2" -v begin="$3" -v end="$4" -v text="$5" \
		'$3 == tid && $5 > begin && $5 < end && (text == "" || index($7, text) == 1) && !seen[$0]++' "$1" |
		wc -l
}

# Prints tid, begin, end, switches and writes of both players.
players() {
	json "$pingpong" '.players[] | "\(.tid) \(.begin_ns) \(.end_ns) \(.switches) \(.writes)"'
}

@test "perf record sees every context switch beside us" {
	load_detectors
	file=$BATS_TEST_TMPDIR/perf.data
	record_pingpong "$file" sched:sched_switch
	no_lost "$file"
	events "$file" sched:sched_switch >"$BATS_TEST_TMPDIR/events"
	while read -r tid begin end switches _; do
		seen=$(count_events "$BATS_TEST_TMPDIR/events" "$tid" "$begin" "$end" "")
		same "switches away from $tid" "$seen" "$switches"
	done < <(players)
}

@test "perf record sees every system call beside us" {
	load_detectors
	file=$BATS_TEST_TMPDIR/perf.data
	record_pingpong "$file" raw_syscalls:sys_enter,raw_syscalls:sys_exit
	no_lost "$file"
	nr=$(json "$pingpong" .write_nr)
	events "$file" 'raw_syscalls:sys_e[a-z]*' | grep -F "NR $nr " >"$BATS_TEST_TMPDIR/both"
	for event in sys_enter sys_exit; do
		grep -F "raw_syscalls:$event" "$BATS_TEST_TMPDIR/both" >"$BATS_TEST_TMPDIR/events"
		while read -r tid begin end _ writes; do
			seen=$(count_events "$BATS_TEST_TMPDIR/events" "$tid" "$begin" "$end" "NR $nr ")
			same "$event of write in $tid" "$seen" "$writes"
		done < <(players)
	done
}

@test "perf stat counts every context switch beside us" {
	load_detectors
	# both counters are enabled together; the second one uses no tracepoint
	timeout -k 5 60 perf stat -x, -e '{sched:sched_switch,context-switches}' -o "$BATS_TEST_TMPDIR/stat" \
		-- "$WORKLOADS/pingpong" --loops 10000 --cpu 0 >/dev/null 3>&-
	tracepoint=$(awk -F, '/sched:sched_switch/ {print $1}' "$BATS_TEST_TMPDIR/stat")
	software=$(awk -F, '/context-switches/ {print $1}' "$BATS_TEST_TMPDIR/stat")
	((software > 1000)) || fail "$(cat "$BATS_TEST_TMPDIR/stat")"
	same "switches by the tracepoint" "$tracepoint" "$software"
}

@test "our own session of the same event is complete beside another perf" {
	# the ring must be large enough to reach back after perf has written its file
	cat >"$RULES" <<-'EOF'
		[session-sched]
		run = -e sched:sched_switch -m 16M --overwrite --switch-output -a
		[rule-runq]
		when = runqlat > 1us
		dump = sched
		if = comm == "nobody-at-all"
	EOF
	frbpf_load
	record_pingpong "$BATS_TEST_TMPDIR/perf.data" sched:sched_switch
	dump=$(frbpf dump --session sched | grep session-sched)
	events "$dump" sched:sched_switch >"$BATS_TEST_TMPDIR/ours"
	events "$BATS_TEST_TMPDIR/perf.data" sched:sched_switch >"$BATS_TEST_TMPDIR/theirs"
	read -r tid _ end _ < <(players)
	# the ring may not reach back to the beginning: compare from its first record on
	first=$(awk -F'\t' 'NR == 1 || $5 < min {min = $5} END {print min}' "$BATS_TEST_TMPDIR/ours")
	ours=$(count_events "$BATS_TEST_TMPDIR/ours" "$tid" "$first" "$end" "")
	theirs=$(count_events "$BATS_TEST_TMPDIR/theirs" "$tid" "$first" "$end" "")
	((ours > 100)) || fail "only $ours switches in our dump"
	same "switches in our dump" "$ours" "$theirs"
}

# The kernel passes one record to all events in turn, the newest event first. Ours must not leave anything in the
# record.
@test "a perf record that began before us reads as if we were not there" {
	write_rules </dev/null
	file=$BATS_TEST_TMPDIR/perf.data
	# shellcheck disable=SC2016 # the inner shell's
	timeout -k 5 60 perf record -q -a -e dummy -o "$file" -- bash -c '
		"$1" load --base "$2" "$3" && for _ in {1..50}; do /bin/true; done' - "$FRBPF" "$BASE" "$RULES" 3>&-
	perf_quiet script --show-mmap-events -i "$file"
	[[ $(grep -c 'PERF_RECORD_MMAP2.*bin/true' "$perf_out") -ge 50 ]]
	# such lines show a build id where perf expects the device
	run ! grep -E 'PERF_RECORD_MMAP2.*<[0-9a-f]*>' "$perf_out"
}

# When two recordings have the same software event, some kernels give one recording the time and id of the other one.
@test "a recording of page faults that began before us gets no events of shipped sessions" {
	local config n=0 samples wrong_time wrong_id
	# check also accepts rules whose features this machine lacks
	for config in "$root"/configs/*.conf; do
		n=$((n + 1))
		run -0 --separate-stderr "$FRBPF" check "$config"
		[[ $stderr != *"get mixed up"* ]] || fail "$stderr"
		sed -n '/^\[session-/,/^$/p; /^\[rule-/,/^$/d' "$config" | sed "s/^\[session-/[session-$n-/; /^dump/d"
	done >"$RULES"
	coproc FAULTS { "$WORKLOADS/share_faults" 3>&-; }
	expect_line "${FAULTS[0]}" ready
	frbpf_load
	between "$(frbpf status --json | jq '.sessions | length')" 20 100 "sessions"
	eval "exec ${FAULTS[1]}>&-"
	read -r -t 30 samples wrong_time wrong_id <&"${FAULTS[0]}"
	between "$samples" 4096 100000 "samples"
	same "times of another clock" "$wrong_time" 0
	same "ids of another event" "$wrong_id" 0
}
