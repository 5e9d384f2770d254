#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A workload waits on purpose and measures the wait. One incident must have the same values. The tests compare values
# with the workload's own measurement, and expect nothing of the speed of the machine.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
}

teardown() {
	common_teardown
}

# check_value NAME MS TOOK BEGIN END: the value of the manifest must be at least 90 % of MS, and within the workload's
# measurement. The victim may lose the CPU again (to the freeze) before it reads its clock.
check_value() {
	local value time
	value=$(manifest "$1" value)
	time=$(manifest "$1" time)
	between "$value" $(($2 * 900000)) "$3" "value of the manifest"
	between "$time" $(($4 + value)) "$5" "time of the trigger"
}

# check_markers NAME SESSION COMM PID TID: the dump has both markers, with the times of the manifest and the subject
check_markers() {
	local dump=$BASE/session-$2/perf.data.$1 time value comm pid tid cpu ns name text
	time=$(manifest "$1" time)
	value=$(manifest "$1" value)
	same "number of frbpf:trigger in $2" "$(events "$dump" frbpf:trigger | wc -l)" 1
	same "number of frbpf:begin in $2" "$(events "$dump" frbpf:begin | wc -l)" 1
	IFS=$'\t' read -r comm pid tid cpu ns name text < <(events "$dump" frbpf:trigger)
	same "comm of $name" "$comm" "$3"
	same "pid of $name" "$pid" "$4"
	same "tid of $name" "$tid" "$5"
	same "cpu of $name" "$cpu" "$(manifest "$1" cpu)"
	same "time of $name" "$ns" "$time"
	[[ $text == *"$(manifest "$1" rule)"* ]] || fail "marker does not name the rule: $text"
	IFS=$'\t' read -r comm pid tid cpu ns name text < <(events "$dump" frbpf:begin)
	same "comm of $name" "$comm" "$3"
	same "tid of $name" "$tid" "$5"
	same "time of $name" "$ns" $((time - value))
}

# Prints the kernel and user frames of the manifest's trigger, innermost first: "symbol+0x1f". Functions without a name,
# as in a stripped C library, are printed as perf does.
manifest_frames() { # NAME
	named "$BASE/incidents/$1.json"
	jq -r '.triggers[0].stacks | (.kernel + .user)[] |
		if .symbol then "\(.symbol) \(.symbol_offset)" else "[unknown]" end' "$BASE/incidents/$1.json" |
		awk 'NF == 2 {printf "%s+0x%x\n", $1, $2; next} 1'
}

# Prints the same frames from the marker, as perf shows them.
marker_frames() { # DUMP
	perf script -i "$1" -F event,ip,sym,symoff 2>/dev/null | awk -v RS= '/^ *frbpf:trigger/' |
		awk 'NF == 2 && $1 ~ /^[0-9a-f]+$/ {print $2}'
}

# The manifest has the same functions as perf shows, and none of them belongs to the BPF program that took the stack.
check_frames() { # NAME DUMP
	manifest_frames "$1" >"$BATS_TEST_TMPDIR/ours"
	marker_frames "$2" >"$BATS_TEST_TMPDIR/perfs"
	[[ -s $BATS_TEST_TMPDIR/ours ]] || fail "no frames"
	diff "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/perfs" >&2 || fail "not the frames of perf script"
	run ! grep -E 'bpf_prog_|bpf_trace_run|__traceiter|__bpf_trace' "$BATS_TEST_TMPDIR/perfs"
	run -0 frbpf show "$1"
	[[ $output == *"  kernel     $(head -n 1 "$BATS_TEST_TMPDIR/ours") "* ]] || fail "show: $output"
}

@test "a run-queue wait makes one incident with who, what and how long" {
	write_rules <<-'EOF'
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "frbpf-victim"
	EOF
	frbpf_load
	spike=$(workload runq_spike --ms 80)
	wait_for_incident "$BASE" 1
	frbpf_finish
	name=$(incidents "$BASE")
	same "number of incidents" "$(wc -l <<<"$name")" 1
	[[ $name =~ ^[0-9]{16}$ ]] || fail "name of the incident: $name"

	same "rule" "$(manifest "$name" rule)" spike
	same "threshold" "$(manifest "$name" threshold)" 20000000
	same "comm" "$(manifest "$name" comm)" frbpf-victim
	same "process" "$(manifest "$name" process)" runq_spike
	same "pid" "$(manifest "$name" pid)" "$(json "$spike" .pid)"
	same "tid" "$(manifest "$name" tid)" "$(json "$spike" .tid)"
	same "cpu" "$(manifest "$name" cpu)" "$(json "$spike" .cpu)"
	check_value "$name" 80 "$(json "$spike" .wait_ns)" "$(json "$spike" .begin_ns)" "$(json "$spike" .end_ns)"
	same "contradicted" "$(jq .contradicted "$BASE/incidents/$name.json")" false

	same "dumps" "$(dumps)" "$BASE/session-cpu/perf.data.$name"$'\n'"$BASE/session-sched/perf.data.$name"
	for session in cpu sched; do
		check_markers "$name" "$session" frbpf-victim "$(json "$spike" .pid)" "$(json "$spike" .tid)"
	done
}

# Prints the result of comparing RULE's trigger with the events of the dump: "agrees", "contradicted", or why they
# cannot be compared.
compared() { # RULE
	jq -r --arg rule "$1" '.triggers[] | select(.rule == $rule) |
		if .contradicted then "contradicted" else .cannot_tell // "agrees" end' "$BASE"/incidents/*.json
}

@test "the events of a dump are compared with a call, a span and a hit" {
	cat >"$RULES" <<-'EOF'
		[daemon]
		merge = 1ms
		[session-ends]
		run = -e syscalls:sys_enter_clock_nanosleep -e syscalls:sys_exit_clock_nanosleep -e sched:sched_process_exec -e sched:sched_process_exit -m 2M --overwrite --switch-output -a
		[session-filtered]
		run = -e syscalls:sys_enter_clock_nanosleep -e syscalls:sys_exit_clock_nanosleep --filter 'ret == 0' -m 64K --overwrite --switch-output -a
		[rule-call]
		when = syscall:clock_nanosleep > 20ms
		if = comm == "frbpf-call"
		[rule-filtered]
		when = syscall:clock_nanosleep > 20ms
		if = comm == "frbpf-filtered"
		dump = filtered
		[rule-span]
		when = sched:sched_process_exec -> sched:sched_process_exit by tid > 20ms
		if = comm == "frbpf-span"
		[rule-hit]
		when = sched:sched_process_exit
		if = comm == "frbpf-hit"
	EOF
	frbpf_load
	for name in call filtered hit; do
		workload slow_syscall --ms 40 --comm "frbpf-$name" >/dev/null
		wait_for_incident "$BASE" $((++n))
	done
	cp "$WORKLOADS/slow_syscall" "$BATS_TEST_TMPDIR/frbpf-span"
	"$BATS_TEST_TMPDIR/frbpf-span" --ms 40 >/dev/null
	wait_for_incident "$BASE" 4
	for name in call span hit; do
		same "$name" "$(compared "$name")" agrees
	done
	same "filtered" "$(compared filtered)" "no session recorded its events"
	same "contradicted" "$(jq .contradicted "$BASE"/incidents/*.json | sort -u)" false
	run -0 frbpf show filtered:last
	[[ $output == *"unproven   cannot tell"*": no session recorded its events"* ]]
}

@test "the switch that ended the wait is directly beside the marker" {
	# post: perf may record the switch after the trigger, and the CPU may be taken away in between
	write_rules <<-'EOF'
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "frbpf-victim"
		post = 300ms
	EOF
	sed -i 's/-m 1M/-m 8M/' "$RULES" # in that time, another test may switch very often
	frbpf_load
	spike=$(workload runq_spike --ms 80)
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	tid=$(json "$spike" .tid)
	cpu=$(manifest "$name" cpu)
	time=$(manifest "$name" time)
	# the last switch of that CPU before the trigger, or the first one after it: perf's probe and ours run in the
	# order in which they were registered
	beside=$(events "$BASE/session-sched/perf.data.$name" sched:sched_switch |
		awk -F'\t' -v cpu="$cpu" -v time="$time" '
			$4 != cpu {next}
			$5 < time {before = $0; next}
			{after = $0; exit}
			END {print before; print after}')
	[[ $beside == *"next_comm=frbpf-victim next_pid=$tid "* ]] || fail "switches beside: $beside"
	# the wakeup is close to the begin marker: it lies between the workload's begin and the trigger
	wakeup=$(events "$BASE/session-sched/perf.data.$name" sched:sched_wakeup |
		awk -F'\t' -v tid="$tid" -v time="$time" 'index($7, "pid=" tid " ") && $5 < time {ns = $5}
			END {print ns}')
	[[ $wakeup ]] || fail "no wakeup of $tid before the trigger"
	between "$wakeup" "$(json "$spike" .begin_ns)" "$time" "time of the wakeup"
}

@test "a slow system call makes one incident with who, what and how long" {
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep,fsync > 300ms
		if = comm == "frbpf-victim"
	EOF
	sed -i 's/-m 1M/-m 4M/' "$RULES" # the ring must reach back 400 ms, whatever else switches meanwhile
	frbpf_load
	slow=$(workload slow_syscall --ms 400)
	wait_for_incident "$BASE" 1
	frbpf_finish
	name=$(incidents "$BASE")
	same "number of incidents" "$(wc -l <<<"$name")" 1
	same "rule" "$(manifest "$name" rule)" slow
	same "comm" "$(manifest "$name" comm)" frbpf-victim
	same "process" "$(manifest "$name" process)" slow_syscall
	same "pid" "$(manifest "$name" pid)" "$(json "$slow" .pid)"
	same "tid" "$(manifest "$name" tid)" "$(json "$slow" .tid)"
	[[ $(manifest "$name" key) == *clock_nanosleep* ]]
	between "$(manifest "$name" value)" 400000000 "$(json "$slow" .took_ns)" value
	check_value "$name" 400 "$(json "$slow" .took_ns)" "$(json "$slow" .begin_ns)" "$(json "$slow" .end_ns)"
	for session in cpu sched; do
		check_markers "$name" "$session" frbpf-victim "$(json "$slow" .pid)" "$(json "$slow" .tid)"
	done
}

@test "a trigger has the stack of its subject: the marker as a callchain, the manifest with files and offsets" {
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep > 100ms
		if = comm == "frbpf-victim"
	EOF
	frbpf_load
	workload slow_syscall --ms 150
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	# frame pointers lead from the C library's call to the workload's own function
	perf script -i "$BASE/session-cpu/perf.data.$name" -F event,ip,sym,dso |
		awk -v RS= /frbpf:trigger/ >"$BATS_TEST_TMPDIR/chain"
	grep -q 'victim_main.*slow_syscall' "$BATS_TEST_TMPDIR/chain" || fail "$(cat "$BATS_TEST_TMPDIR/chain")"
	grep -q 'sys.*kernel' "$BATS_TEST_TMPDIR/chain" || fail "$(cat "$BATS_TEST_TMPDIR/chain")"
	named "$BASE/incidents/$name.json"
	frame=$(jq -c '.triggers[0].stacks.user[0]' "$BASE/incidents/$name.json")
	[[ $(jq -r .module <<<"$frame") == */libc* ]] || fail "$frame"
	# the user frame has an offset in the file; perf must show the same function for this address
	offset=$(jq .offset <<<"$frame")
	((offset > 0)) || fail "$frame"
	same "kernel frames" "$(jq '.triggers[0].stacks.kernel | length > 1' "$BASE/incidents/$name.json")" true
	# the manifest names the same functions as perf
	check_frames "$name" "$BASE/session-cpu/perf.data.$name"
	grep -q '^victim_main+0x' "$BATS_TEST_TMPDIR/ours" || fail "$(cat "$BATS_TEST_TMPDIR/ours")"
	same "user part" "$(jq -r '.triggers[0].stacks.user_from' "$BASE/incidents/$name.json")" trigger
	same "kernel" "$(jq -r '.triggers[0].stacks.kernel[0].module' "$BASE/incidents/$name.json")" '[kernel.kallsyms]'
}

@test "a subject that did not run: its kernel stack, and the user stack of its last switch-out" {
	write_rules <<-'EOF'
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "frbpf-victim"
	EOF
	frbpf_load
	workload runq_spike --ms 80
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "user part" "$(jq -r '.triggers[0].stacks.user_from' "$BASE/incidents/$name.json")" sched_switch
	check_frames "$name" "$BASE/session-sched/perf.data.$name"
	# perf shows the user stack at the last switch; its user addresses are offsets in files there
	tid=$(manifest "$name" tid)
	perf script -i "$BASE/session-sched/perf.data.$name" --ns -F tid,time,event,ip --tid "$tid" 2>/dev/null |
		awk -v RS= -v at="$(manifest "$name" time)" '/sched:sched_switch/ {
			t = $2; sub(":", "", t); sub("[.]", "", t); if (t + 0 <= at + 0) last = $0
		} END {print last}' | grep -Eo '^\s+[0-9a-f]+$' | tr -d '[:blank:]' >"$BATS_TEST_TMPDIR/switch"
	jq -r '.triggers[0].stacks.user[].offset' "$BASE/incidents/$name.json" |
		xargs printf '%x\n' >"$BATS_TEST_TMPDIR/user"
	[[ -s $BATS_TEST_TMPDIR/user ]] || fail "no user frames"
	diff "$BATS_TEST_TMPDIR/user" <(tail -n "$(wc -l <"$BATS_TEST_TMPDIR/user")" "$BATS_TEST_TMPDIR/switch") >&2
}

@test "functions of a program whose file was deleted are known, those of its replacement are not used" {
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep > 300ms
		if = comm == "frbpf-victim"
	EOF
	frbpf_load
	program=$BATS_TEST_TMPDIR/program
	cp "$WORKLOADS/slow_syscall" "$program"
	# the program sleeps after the watched call, so it still exists when its stack gets names
	"$program" --ms 600 --times 100 >/dev/null 3>&- &
	child=$!
	wait_until 10 grep -q "$program" "/proc/$child/maps"
	rm "$program"
	cp "$WORKLOADS/runq_spike" "$program"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	named "$BASE/incidents/$name.json"
	kill "$child"
	manifest_frames "$name" | grep -q '^victim_main+0x' || fail "$(manifest_frames "$name")"
}

@test "calls that wait in different ways are all measured" {
	for call in nanosleep read; do
		write_rules <<-EOF
			[daemon]
			merge = 0
			[rule-slow-$call]
			when = syscall:$call > 100ms
			if = comm == "frbpf-victim"
		EOF
		frbpf_load
		before=$(incidents "$BASE" | wc -l)
		slow=$(workload slow_syscall --ms 150 --call $call)
		wait_for_incident "$BASE" $((before + 1))
		name=$(incidents "$BASE" | tail -n 1)
		same "rule" "$(manifest "$name" rule)" "slow-$call"
		check_value "$name" 150 "$(json "$slow" .took_ns)" "$(json "$slow" .begin_ns)" "$(json "$slow" .end_ns)"
	done
}

@test "waits below the threshold, of other names and other calls fire nothing" {
	write_rules <<-'EOF'
		[rule-spike]
		when = runqlat > 30s
		if = comm == "frbpf-victim"
		[rule-name]
		when = runqlat > 20ms
		if = comm == "frbpf-other"
		[rule-call]
		when = syscall:fsync > 1ms
		if = comm == "frbpf-victim"
	EOF
	frbpf_load
	workload runq_spike --ms 60
	workload slow_syscall --ms 100
	frbpf_finish
	same "incidents" "$(incidents "$BASE")" ""
	same "dumps" "$(dumps)" ""
}

@test "within the cooldown a rule fires once, and what it suppressed is counted" {
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep > 20ms
		if = comm == "frbpf-victim"
		cooldown = 60s
		escalate = never
	EOF
	frbpf_load
	workload slow_syscall --ms 40 --times 30
	run -0 frbpf status -v
	[[ $output == *29* ]] || fail "29 matches suppressed are not in: $output"
	frbpf_finish
	same "number of incidents" "$(incidents "$BASE" | wc -l)" 1
}

@test "processes that ended before the dump keep their name and symbols" {
	write_rules </dev/null
	sed -i 's/-m 512K/-m 4M/' "$RULES"
	frbpf_load
	short=$(workload short_lived --count 10)
	dump=$(frbpf dump --session cpu)
	for pid in $(json "$short" '.children[]'); do
		perf script -i "$dump" -F comm,pid,ip,sym --pid "$pid" >"$BATS_TEST_TMPDIR/one"
		[[ -s $BATS_TEST_TMPDIR/one ]] || continue # on a busy machine, 5 ms may pass without a sample
		grep -q '^short_lived' "$BATS_TEST_TMPDIR/one" || fail "$pid: $(cat "$BATS_TEST_TMPDIR/one")"
	done
	perf script -i "$dump" -F comm,ip,sym --comm short_lived >"$BATS_TEST_TMPDIR/all"
	grep -q short_lived_spin "$BATS_TEST_TMPDIR/all"
}
