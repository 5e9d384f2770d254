#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Spans between two tracepoints, compared with the workload, the kernel and another source.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load disk

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	perf_pid=''
}

teardown() {
	[[ ! $perf_pid ]] || kill -KILL "$perf_pid" 2>/dev/null || true
	common_teardown
	disk_remove
}

rule() { # NAME PATH: of a rule in `frbpf status --json`
	frbpf status --json | jq -re ".rules[] | select(.name == \"$1\") | $2"
}

@test "a block request from issue to completion, by device and sector, equals blkio.device" {
	disk_make 16M
	slow_group_make 1048576
	write_rules <<-EOF
		[rule-span]
		when = block:block_rq_issue -> block:block_rq_complete by dev, sector > 100ms
		if   = sector == 2048 && nr_bytes == 262144 && start.sector == 2048 && dev == $(cat "/sys/class/block/${disk#/dev/}/dev")

		[rule-device]
		when = blkio.device > 100ms
		if   = dev == "$disk" && sector == 2048
		dump = none
	EOF
	frbpf_load
	read -r _ begin end < <(in_slow_group workload direct_io "$disk" 262144 write 1048576)
	((end - begin > 150000000)) || skip "the io controller does not slow down loop devices here"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" span
	value=$(manifest "$name" value)
	between "$value" 100000000 $((end - begin)) "value"
	# two programs measure the same request, one after the other
	same "matches of blkio.device" "$(rule device .matched)" 1
	between "$(rule device .last_value_ns)" 100000000 $((end - begin)) "value of blkio.device"
	same "args" "$(jq -r '.triggers[0].args | "\(.sector) \(.nr_bytes) \(.["start.sector"])"' \
		"$BASE/incidents/$name.json")" "2048 262144 2048"
}

@test "a system call from entry to exit, by thread: begin and end are in the dump" {
	need_perf
	cp "$(type -P sleep)" "$BATS_TEST_TMPDIR/frbpf-nap"
	# system call 230 on x86-64 and 115 on arm64 is clock_nanosleep
	write_rules <<-'EOF'
		[rule-nap]
		when = raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid > 150ms
		if   = start.id in (230, 115) && comm == "frbpf-nap" && ret == 0
	EOF
	frbpf_load
	begin=${EPOCHREALTIME/[.,]/}
	"$BATS_TEST_TMPDIR/frbpf-nap" 0.2
	end=${EPOCHREALTIME/[.,]/}
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "matches" "$(rule nap .matched)" 1
	value=$(manifest "$name" value)
	between "$value" 200000000 $(((end - begin) * 1000)) value
	time=$(manifest "$name" time)
	begun=$(events "$BASE/session-sched/perf.data.$name" frbpf:begin | cut -f5)
	same "begin marker" "$begun" $((time - value))
	run -0 frbpf show
	[[ $output == *"start.id="* ]]
	jq -e '.triggers[0].stacks | (.kernel | length > 0) and (.user[0].module | test("libc|ld-")) and
		.user[0].offset > 0' \
		"$BASE/incidents/$name.json" || fail "$(jq -c '.triggers[0].stacks' "$BASE/incidents/$name.json")"
}

net_rx() {
	awk '$1 == "NET_RX:" { for (i = 2; i <= NF; i++) sum += $i } END { print sum }' /proc/softirqs
}

@test "spans over softirqs: at least as many as perf saw, at most as many as the kernel counted" {
	need_perf
	need_tracepoints irq:softirq_exit
	write_rules <<-'EOF'
		[rule-rx]
		when = irq:softirq_entry -> irq:softirq_exit by cpu, vec_nr > 1ns
		if   = vec_nr == 3
		dump = none
	EOF
	before=$(net_rx)
	frbpf_load
	mkfifo "$BATS_TEST_TMPDIR/ctl" "$BATS_TEST_TMPDIR/ack"
	perf record --no-bpf-event -q -a -D -1 -e irq:softirq_exit --filter 'vec == 3' -o "$BATS_TEST_TMPDIR/witness" \
		--control "fifo:$BATS_TEST_TMPDIR/ctl,$BATS_TEST_TMPDIR/ack" -- sleep 60 >/dev/null 2>&1 3>&- &
	perf_pid=$!
	exec 7<>"$BATS_TEST_TMPDIR/ctl" 8<>"$BATS_TEST_TMPDIR/ack"
	echo enable >&7
	read -r -t 60 -u 8 _ || fail "perf does not begin"
	for _ in {1..50}; do
		(: </dev/tcp/127.0.0.1/1) 2>/dev/null || true # refused: two packets on the loopback device
	done
	kill -INT "$perf_pid"
	wait "$perf_pid" || true
	perf_pid=''
	exec 7>&- 8>&-
	seen=$(perf script -i "$BATS_TEST_TMPDIR/witness" -F event 2>/dev/null | grep -c softirq_exit)
	matched=$(rule rx .matched)
	after=$(net_rx)
	between "$seen" 20 1000000 "what perf saw"
	between "$matched" "$seen" $((after - before)) "what the rule saw"
}
