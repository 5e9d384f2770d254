#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf check: all errors in one run, the plan, and rules tried on live events.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load memory_group
load disk

setup() {
	common_setup
	victim=frbpf-$$ # a thread name of our own, because rules look at the whole machine
}

teardown() {
	[[ ! ${open_dir-} ]] || rm -rf "$open_dir"
	common_teardown
	memory_group_remove
	disk_remove
}

check() { # ARGUMENTS...
	timeout -k 5 30 "$FRBPF" check "$@" </dev/null 3>&-
}

# Moves RULES to a directory that any user can read. Teardown removes it.
need_unprivileged() {
	need_root
	open_dir=$(mktemp -d /tmp/frbpf-test.XXXXXX)
	chmod 0755 "$open_dir"
	RULES=$open_dir/rules.conf
	unprivileged test -x "$FRBPF" || skip "the program is not reachable for another user"
}

unprivileged() { # COMMAND...
	setpriv --reuid 65534 --regid 65534 --clear-groups timeout -k 5 30 "$@" </dev/null 3>&-
}

# live ARGUMENTS...: runs `check --live` on RULES; its output is in $BATS_TEST_TMPDIR/live. Meanwhile, a workload makes
# 10 slow calls and writes a line for each to $BATS_TEST_TMPDIR/calls.
live() {
	"$FRBPF" check "$@" --live 1m "$RULES" </dev/null >"$BATS_TEST_TMPDIR/live" \
		2>"$BATS_TEST_TMPDIR/live.err" 3>&- &
	pid=$!
	wait_until 60 grep -qs 'watching for 1m' "$BATS_TEST_TMPDIR/live.err" || fail "it does not watch"
	workload slow_syscall --ms "${ms:-20}" --times "${times:-10}" --comm "$victim" >"$BATS_TEST_TMPDIR/calls"
	kill -TERM "$pid" # check prints its results on SIGTERM, too
	wait "$pid"
}

two_rules() {
	write_rules <<-EOF
		[rule-one]
		when = runqlat > 20ms
		[rule-two]
		when = runqlat > 30ms
		dump = sched
		[rule-slow]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		escalate = never
	EOF
}

@test "errors of rules and of run lines come in one run, each at its place, with the nearest word" {
	cat >"$RULES" <<-'EOF'
		[session-a]
		run = -e cpu-clok -m 3Q -a --overwrite
		[rule-r]
		when = runqlatt > 20ms
		coldown = 3s
	EOF
	run -1 --separate-stderr check "$RULES"
	[[ ! $output ]]
	same "errors" "$(grep -c ' error: ' <<<"$stderr")" 4
	[[ $stderr == *"$RULES:2:10: error: "*"(did you mean 'cpu-clock'?)"* ]]
	[[ $stderr == *"$RULES:2:22: error: "* ]]
	[[ $stderr == *"$RULES:4:8: error: "*"(did you mean 'runqlat'?)"* ]]
	[[ $stderr == *"$RULES:5:1: error: "*"(did you mean 'cooldown'?)"* ]]
	same "lines of carets" "$(grep -cE '^ +\| +\^+$|^ +\| \^+$' <<<"$stderr")" 4
	[[ ! -e $BASE ]]
}

@test "the plan: sources and what they attach to, rules that share them, sessions, memory" {
	need_root
	need_tracepoints
	two_rules
	run -0 --separate-stderr check "$RULES"
	[[ $output == *"source runqlat"*tp_btf/sched_wakeup*"share them: one, two"* ]]
	[[ $output == *"source syscall"*tp_btf/sys_enter*"1: slow"* ]]
	[[ $output == *"session cpu"*"1: cpu-clock"*"512K of ring"* ]]
	[[ $output == *"session sched"*"2: sched:sched_switch, sched:sched_wakeup"*"1M of ring"* ]]
	[[ $output == *"memory: "*" of rings + "*" of copies + "*" of side band = "*"(max-memory)"* ]]
	[[ ! -e $BASE ]]
	no_daemon
}

@test "check --json is JSON, with and without errors" {
	need_root
	need_tracepoints
	two_rules
	run -0 --separate-stderr check --json "$RULES"
	same "rules of runqlat" \
		"$(json "$output" '.plan.sources[] | select(.name == "runqlat") | .rules | join(",")')" one,two
	same "sum" \
		"$(json "$output" '.plan.memory | .used_bytes == .ring_bytes + .copy_bytes + .sideband_ring_bytes')" \
		true
	sed -i 's/20ms/20mss/' "$RULES"
	run -1 --separate-stderr check --json "$RULES"
	same "line" "$(json "$output" '.messages[] | select(.level == "error") | .text')" 20mss
	same "ok" "$(jq .ok <<<"$output")" false
}

@test "the plan lists all limits of a rule, and each program once" {
	need_root
	need_tracepoints
	two_rules
	cat >>"$RULES" <<-'EOF'
		[rule-apart]
		when      = connect > 1s
		count     = 3 in 10s per peer
		cooldown  = 30s per process
		escalate  = 1.5x
		max-dumps = 7 in 2h
		[rule-field]
		when      = sched:sched_process_exec
		cooldown  = 1m per old_pid
	EOF
	run -0 --separate-stderr check "$RULES"
	[[ $output == *"rule apart: "*$'\n  count:      3 in 10s per peer\n'*"cooldown 30s per process, escalate 1.5x, max-dumps 7 in 2h"* ]] ||
		fail "$output"
	[[ $output == *"rule field: "*"cooldown 1m per old_pid, max-dumps 10 in 1h"* ]] || fail "$output"
	[[ $output == *"2: tp_btf/inet_sock_set_state (2)"* ]] || fail "$output"
	run -0 --separate-stderr check --json "$RULES"
	same "in JSON" "$(json "$output" '.plan.rules[] | select(.name == "apart") |
		[.count.n, .count.per, .cooldown_per, .escalate, .max_dumps.n] | map(tostring) | join(" ")')" \
		"3 peer process 1.5 7"
}

@test "a rule with a duration needs the events of why" {
	need_root
	need_tracepoints
	local file
	two_rules
	run -0 --separate-stderr check "$RULES"
	[[ $stderr == *"warning: \`frbpf why\` cannot tell who made the subject wait"* ]] || fail "$stderr"
	same "said once" "$(grep -c 'frbpf why' <<<"$stderr")" 1
	sed -i 's/-e sched:sched_switch .*sched_wakeup/-e sched:sched_switch -e sched:sched_waking -g/' "$RULES"
	grep -q sched_waking "$RULES"
	run -0 --separate-stderr check "$RULES"
	[[ $stderr != *"frbpf why"* ]] || fail "$stderr"
	for file in "$root"/configs/*.conf; do
		run -0 --separate-stderr check "$file"
		[[ $stderr != *"frbpf why"* ]] || fail "$file: $stderr"
	done
}

@test "without root: check lists what it cannot check, and checks the rest" {
	need_unprivileged
	two_rules
	run -0 --separate-stderr unprivileged "$FRBPF" check "$RULES"
	[[ $output == *"source runqlat"*tp_btf/sched_wakeup* ]]
	if [[ $output == *"not looked up"* ]]; then
		[[ $output == *"not checked: the tracepoints of sessions"*"run as root"* ]]
	fi
	sed -i 's/cpu-clock/cpu-clok/' "$RULES"
	run -1 --separate-stderr unprivileged "$FRBPF" check "$RULES"
	[[ $stderr == *"did you mean 'cpu-clock'?"* ]]
}

@test "--live counts what a rule matches, with the largest value, and dumps nothing" {
	need_root
	need_btf
	need_tracepoints
	two_rules
	live --json
	local live
	live=$(jq -c '.live.rules[] | select(.name == "slow")' "$BATS_TEST_TMPDIR/live")
	same "matched" "$(json "$live" .matched)" 10
	same "fired, with its cooldown" "$(json "$live" .fired)" 1
	between "$(json "$live" .max_value_ns)" 20000000 "$(jq -s 'map(.took_ns) | max' "$BATS_TEST_TMPDIR/calls")" \
		"largest value"
	[[ ! -e $BASE ]]
}

@test "--live reports the largest value below the threshold, and that nothing was seen" {
	need_root
	need_btf
	need_tracepoints
	write_rules <<-EOF
		[rule-high]
		when = syscall:clock_nanosleep > 10m
		if = comm == "$victim"

		[rule-nobody]
		when = syscall:clock_nanosleep > 10m
		if = comm == "$victim-x"
	EOF
	live
	grep -qE '^rule high: matched 0, would have fired 0; largest seen [0-9.]+ms of 10, threshold 10m' \
		"$BATS_TEST_TMPDIR/live" ||
		fail "$(cat "$BATS_TEST_TMPDIR/live")"
	grep -q '^rule nobody: matched 0, would have fired 0; no such event was seen' "$BATS_TEST_TMPDIR/live"
}

@test "--live warns about rules that would fire always, or never" {
	need_root
	need_btf
	need_tracepoints
	write_rules <<-EOF
		[rule-always]
		when = syscall:clock_nanosleep > 1ms
		if = comm == "$victim"
		cooldown = 0
		max-dumps = 5 in 24h

		[rule-seldom]
		when = syscall:clock_nanosleep > 1ms
		if = comm == "$victim"
		cooldown = 1h
		max-dumps = 50 in 1s

		[rule-never]
		when = syscall:clock_nanosleep > 20h
		if = comm == "$victim"
	EOF
	ms=2 times=110 live
	[[ $(<"$BATS_TEST_TMPDIR/live.err") == *'this always fires: 110 times in '*'max-dumps allows 5 in 1d'* ]] ||
		fail "$(cat "$BATS_TEST_TMPDIR/live.err")"
	[[ $(<"$BATS_TEST_TMPDIR/live.err") == *'as measured, this never fires: the largest of '* ]] ||
		fail "$(cat "$BATS_TEST_TMPDIR/live.err")"
	same "warnings" "$(grep -cE 'warning: (as measured, )?this' "$BATS_TEST_TMPDIR/live.err")" 2
}

# Appends two rules on SOURCE: one fires always, and one never fires.
often_and_never() { # NAME SOURCE [CONDITION]
	cat >>"$RULES" <<-EOF
		[rule-often-$1]
		when = $2 > 1ns
		${3:+if = $3}
		cooldown = 0
		max-dumps = 1 in 24h
		[rule-never-$1]
		when = $2 > 20h
		${3:+if = $3}
	EOF
}

often() { # NAME WHEN [CONDITION]
	cat >>"$RULES" <<-EOF
		[rule-often-$1]
		when = $2
		${3:+if = $3}
		cooldown = 0
		max-dumps = 1 in 24h
	EOF
}

# Produces more than a hundred values of each source.
make_values() {
	local pids=()
	"$WORKLOADS/burn" --seconds 2 --threads 3 >/dev/null &
	pids+=($!)
	"$WORKLOADS/slow_syscall" --comm "$victim" --call clock_nanosleep --ms 3 --times 110 >/dev/null &
	pids+=($!)
	"$WORKLOADS/user_func" --comm "$victim" --call slow --ms 1 --times 110 >/dev/null &
	pids+=($!)
	"$WORKLOADS/user_func" --comm "$victim" --call pair --ms 1 --times 110 >/dev/null &
	pids+=($!)
	dd if=/dev/zero of="$disk" bs=4k count=150 oflag=direct conv=notrunc status=none &
	pids+=($!)
	(in_memory_group cat "$BATS_TEST_TMPDIR/file" >/dev/null) &
	pids+=($!)
	# shellcheck disable=SC2016 # of that shell
	unshare -n bash -c 'ip link set lo up; for i in {1..110}; do (: <>/dev/tcp/127.0.0.1/9); done' 2>/dev/null ||
		true
	wait "${pids[@]}"
}

@test "--live finds the rules on each source that would fire always, or never" {
	need_root
	need_btf
	need_tracepoints
	local program=$WORKLOADS/user_func
	unshare -n ip link set lo up 2>/dev/null || skip "no network namespaces here"
	memory_group_make 8388608
	truncate -s 64M "$BATS_TEST_TMPDIR/file"
	disk_make 8M
	printf '[session-s]\nrun = -e cs --overwrite -a\n' >"$RULES"
	often_and_never runqlat runqlat
	often_and_never blocked blocked
	often_and_never offcpu offcpu "comm == \"$victim\""
	often_and_never call syscall:clock_nanosleep "comm == \"$victim\""
	often_and_never connect connect
	often_and_never blkio blkio
	often_and_never device blkio.device
	often_and_never hardirq hardirq
	often_and_never softirq 'softirq:*'
	often_and_never reclaim reclaim
	often_and_never span 'sched:sched_wakeup -> sched:sched_switch by p.pid = next.pid'
	often_and_never function "uprobe:$program:user_func_slow"
	often_and_never places "usdt:$program:frbpf_test:tick -> uprobe:$program:user_func_hit by tid"
	often hit sched:sched_switch
	often probe "usdt:$program:frbpf_test:tick"
	often failure 'connect fails'
	often share 'oncpu > 1% in 100ms'
	often hang 'pending(offcpu) > 1ms' "comm == \"$victim\""
	often silence 'absent(syscall:acct) > 100ms'
	often pair 'all of rule:often-runqlat, rule:often-span within 1h'
	cat >>"$RULES" <<-EOF
		[rule-never-share]
		when = softirq:sched,timer,rcu > 1000% in 2s per rule
		[rule-never-learns]
		when = syscall:clock_nanosleep > p99.99 * 4
		if = comm == "$victim"
		learn = 1s
		[rule-never-pair]
		when = rule:never-runqlat then rule:often-runqlat within 1s
		[rule-some-hang]
		when = pending(offcpu) > 20h
		if = comm == "$victim"
		[rule-some-share]
		when = softirq:* > 99% in 10m
	EOF
	"$FRBPF" check --json --live 2m "$RULES" </dev/null >"$BATS_TEST_TMPDIR/live" 2>"$BATS_TEST_TMPDIR/live.err" \
		3>&- &
	pid=$!
	wait_until 60 grep -qs 'watching for 2m' "$BATS_TEST_TMPDIR/live.err" ||
		fail "$(cat "$BATS_TEST_TMPDIR/live.err")"
	make_values
	kill -TERM "$pid"
	wait "$pid"
	jq -e '.live.rules | map(select((.name | startswith("often")) != (.fires == "always") or
		(.name | startswith("never")) != (.fires == "never"))) | . == []' "$BATS_TEST_TMPDIR/live" >/dev/null ||
		fail "$(jq -c '.live.rules[]' "$BATS_TEST_TMPDIR/live")"
}

@test "--live finds that a rule on pressure always fires" {
	need_root
	need_btf
	cat /proc/pressure/cpu >/dev/null 2>&1 || skip "no PSI: /proc/pressure"
	printf '[session-s]\nrun = -e cs --overwrite -a\n' >"$RULES"
	often psi 'psi:cpu some > 1ms in 2s'
	"$FRBPF" check --json --live 7s "$RULES" </dev/null >"$BATS_TEST_TMPDIR/live" 2>"$BATS_TEST_TMPDIR/live.err" \
		3>&- &
	pid=$!
	chrt -i 0 "$WORKLOADS/burn" --seconds 8 --threads $((2 * $(nproc))) >/dev/null
	wait "$pid"
	jq -e '.live.rules[0].fires == "always"' "$BATS_TEST_TMPDIR/live" ||
		fail "$(jq -c .live "$BATS_TEST_TMPDIR/live")"
}

@test "--live of an unprivileged user fails with a message" {
	need_unprivileged
	two_rules
	run -1 --separate-stderr unprivileged "$FRBPF" check --live 1s "$RULES"
	[[ $stderr == *"run as root"* || $stderr == *permission* || $stderr == *CAP_* ]] || fail "$stderr"
}

@test "more than max-memory is refused, with the sum" {
	write_rules <<-'EOF'
		[daemon]
		max-memory = 1M
	EOF
	sed -i '/^run = -e sched/s/-e sched:[^ ]*/-e cpu-clock/g' "$RULES"
	run -1 --separate-stderr check "$RULES"
	[[ $stderr == *"cpu "*" + sched "*"more than max-memory"* ]]
}
