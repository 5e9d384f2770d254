#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The shipped rules files, unchanged. Each fires for a real cause, which its dump must explain.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; each test is a subshell
load helpers
load disk
load network
load memory_group

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	net='' pids=()
}

teardown() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	remove_network
	common_teardown
	disk_remove
	memory_group_remove
}

shipped() { # names
	local file
	for file in "$root"/configs/*.conf; do
		basename "$file" .conf
	done
}

# Loads the shipped file, edited by SCRIPT if there is one. With merge = 0, other events on this machine do not become
# part of its incidents.
load_shipped() { # NAME [SCRIPT]
	sed "/^\[daemon\]/a merge = 0
${2-}" "$root/configs/$1.conf" >"$RULES"
	frbpf_load
}

# Finds an incident that satisfies the condition, as other programs on this machine may fire these rules, too.
incident_where() { # JQ-CONDITION: sets $name
	local file
	for file in "$BASE"/incidents/*.json; do
		[[ -e $file ]] || continue
		jq -e "$1" "$file" >/dev/null || continue
		name=$(basename "$file" .json)
		return 0
	done
	return 1
}

wait_for() { # JQ-CONDITION: sets $name
	wait_until 20 incident_where "$1" || fail "no incident with $1, but: $("$FRBPF" ls --base "$BASE" 2>&1)"
}

# Copies PROGRAM to a name of our own, by which rules and perf recognise it.
program() { # PROGRAM NAME: sets $program
	program=$BATS_TEST_TMPDIR/$2
	cp "$(type -P "$1")" "$program"
}

# Prints a paragraph for each event of the session's dump: a line with the event, then its stack.
script_of() { # SESSION
	perf script -i "$BASE/session-$1/perf.data.$name" --ns -F comm,pid,tid,cpu,time,event,trace,ip,sym \
		>"$perf_out" 2>/dev/null
}

# Succeeds if the rings of all CPUs reach back to the beginning of the wait. They may not, on a machine with many more
# switches.
has_begin() { # SESSION
	jq -e --arg session "$1" '.triggers[0].value_ns as $wait | .sessions[] | select(.name == $session) |
		.cpus | length > 0 and all(.covered_ns > $wait)' "$BASE/incidents/$name.json" >/dev/null
}

# The events that have the stacks of waits. Before Linux 5.19, these are the switches.
waits='(offcpu-time|sched:sched_switch):'

# stack_of LINE FUNCTION: succeeds if FUNCTION is in the stack of an event whose line matches LINE. No empty line
# follows an event without a stack.
stack_of() {
	awk -v line="$1" -v frame="$2" \
		'/^[^\t]/ { inside = $0 ~ line } /^\t/ && inside && $0 ~ frame { ok = 1 } END { exit !ok }' \
		"$perf_out" ||
		fail "no $2 in the stack of $1: $(awk -v RS= -v line="$1" '$0 ~ line' "$perf_out" | head -n 60)"
}

@test "every shipped rules file is free of errors, and small enough for 4 GB" {
	for name in $(shipped); do
		run -0 --separate-stderr frbpf check "@$name"
		same "what check says about @$name" "$stderr" ""
		run -0 --separate-stderr frbpf check --json "@$name"
		bytes=$(jq -re '.plan.memory.used_bytes' <<<"$output")
		# 5 % of 4 GB, with four CPUs
		between $((bytes * 4 / $(jq -re '.plan.memory.cpus' <<<"$output"))) 1 $((4096 * 1048576 / 20)) \
			"memory of @$name with four CPUs"
	done
}

@test "all of them together are free of warnings, and record the evidence once" {
	# shellcheck disable=SC2046 # one word a file
	run -0 --separate-stderr frbpf check --json $(shipped | sed 's/^/@/')
	same "what check says about all together" "$stderr" ""
	same "sessions of evidence" \
		"$(jq '[.plan.sessions[] | select(.name | startswith("evidence"))] | length' <<<"$output")" 1
}

@test "check of each of them needs no root, and lists what it left out" {
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$FRBPF" -a -r "$root/configs/disk.conf" ||
		skip "the program is not reachable for another user"
	for name in $(shipped); do
		run -0 setpriv --reuid 65534 --regid 65534 --clear-groups timeout -k 5 30 "$FRBPF" check "@$name" 3>&-
		[[ $output == *"not checked: "* ]] || fail "$output"
	done
}

@test "an event that the kernel lacks is reported with the rule that has to be removed" {
	need_psi
	line=$(grep -n '^when *= psi:' "$root/configs/memory.conf" | cut -d: -f1)
	for command in check load; do
		# shellcheck disable=SC2016 # of the inner shell
		run -1 --separate-stderr timeout 30 unshare -m sh -c \
			'mount -t tmpfs none /proc/pressure && exec "$@"' - \
			"$FRBPF" "$command" --base "$BASE" @memory 3>&-
		[[ $stderr == *"/configs/memory.conf:$line:"*" error: "*"no pressure of memory"*"remove this rule"* ]] || fail "$stderr"
	done
	no_daemon
}

@test "@latency: a task that waited for a CPU" {
	load_shipped latency
	workload runq_spike --ms 150
	wait_for 'any(.triggers[]; .rule == "runq-spike")'
	script_of evidence
	grep -q 'frbpf:trigger: rule=runq-spike' "$perf_out" || fail "no marker"
	grep -q 'sched:sched_switch' "$perf_out" || fail "no switches"
	between "$(frbpf status --json | jq '.rules[] | select(.name == "runq-spike").max_value_ns')" \
		135000000 100000000000 "the longest wait"
}

# A request right after a dump may count as our own: try again.
failing_request() {
	run -1 workload direct_io "$disk" 4096 read 12582912
	[[ $output == *"Input/output error"* ]] || fail "$output"
	wait_until 2 incident_where 'any(.triggers[]; .rule == "io-error")'
}

@test "@disk: a request of a throttled disk, and one that fails" {
	disk_make 16M
	slow_group_make 262144
	keep_cpus_awake # perf may miss interrupts on an idle CPU, and a request ends with one
	load_shipped disk
	read -r pid begin end < <(in_slow_group workload direct_io "$disk" 524288 write 1048576)
	((end - begin > 1000000000)) || skip "the io controller does not slow down loop devices here"
	wait_for 'any(.triggers[]; .rule == "slow-device" and .args.bytes == 524288)'
	wait_for "any(.triggers[]; .rule == \"slow-request\" and .subject.pid == $pid)"
	# the dump has the request with its issuer, and its completion
	events "$BASE/session-evidence/perf.data.$name" block:block_rq_issue |
		grep -q "^frbpf-io"$'\t'"$pid.*WS 524288 () 2048 + 1024 " || fail "no request of frbpf-io"
	events "$BASE/session-evidence/perf.data.$name" block:block_rq_complete | grep -q " WS () 2048 + 1024 " ||
		fail "the request has no end"
	# its stack has the function in which the issuer waited
	if has_begin evidence; then
		script_of evidence
		stack_of "^ *frbpf-io  *$pid/.*$waits" "(submit_bio_wait|__blkdev_direct_IO)"
		run -0 frbpf why "$name" -v
		[[ $output == *" device ${disk#/dev/} ("* ]] || fail "the device has no name: $output"
	fi
	# the file now ends before the disk does, so reads beyond its end fail
	truncate -s 4M "$BATS_TEST_TMPDIR/disk.img"
	wait_until 30 failing_request || fail "no incident of a failing request"
	events "$BASE/session-evidence/perf.data.$name" block:block_rq_complete |
		grep -q " R[AS]* () 24576 + 8 .*\[-5\]" ||
		fail "the dump has no request that failed"
}

need_psi() {
	cat /proc/pressure/memory >/dev/null 2>&1 || skip "no PSI: /proc/pressure"
}

@test "@memory: an OOM kill, with the stacks of the allocations" {
	need_psi
	memory_group_make 25165824
	# tail keeps the last line of its input, which is endless
	program tail frbpf-hog
	load_shipped memory
	in_memory_group "$program" /dev/zero &
	hog=$!
	status=0
	wait "$hog" || status=$?
	same "end of the hog" "$status" 137
	wait_for "any(.triggers[]; .rule == \"oom-kill\" and .subject.pid == $hog)"
	script_of pages
	stack_of "^ *frbpf-hog  *$hog/.*kmem:mm_page_alloc:" "[0-9a-f]+ [^ ]+"
	script_of reclaim
	stack_of "^ *frbpf-hog  *$hog/.*vmscan:mm_vmscan_memcg_reclaim_begin" "(charge|reclaim)"
	grep -q "oom:mark_victim: pid=$hog" "$perf_out" || fail "no victim"
}

@test "@memory with lower thresholds: reclaim and pressure of a full cgroup" {
	need_psi
	memory_group_make 8388608
	program dd frbpf-reader
	truncate -s 256M "$BATS_TEST_TMPDIR/file"
	# the shipped thresholds would need a stall of the whole machine
	load_shipped memory 's/reclaim > 200ms/reclaim > 10us/; s/full > 400ms/full > 1us/'
	# shellcheck disable=SC2016 # of the inner shell
	in_memory_group bash -c 'while :; do "$1" if="$2" of=/dev/null bs=1M status=none; done' _ "$program" \
		"$BATS_TEST_TMPDIR/file" &
	pids+=("$!")
	wait_for 'any(.triggers[]; .rule == "slow-allocation" and .subject.comm == "frbpf-reader")'
	script_of reclaim
	stack_of '^ *frbpf-reader .*vmscan:mm_vmscan_memcg_reclaim_begin' '(charge|reclaim)'
	wait_for 'any(.triggers[]; .rule == "thrashing")'
}

@test "@crash: a program that dies of a fault, and where; programs that handle the fault do not fire" {
	cp "$WORKLOADS/crash" "$BATS_TEST_TMPDIR/frbpf-crash"
	cp "$WORKLOADS/crash" "$BATS_TEST_TMPDIR/frbpf-handled"
	load_shipped crash
	run -0 "$BATS_TEST_TMPDIR/frbpf-handled" handled
	run -139 "$BATS_TEST_TMPDIR/frbpf-crash"
	pid=$(json "${lines[0]}" .pid)
	wait_for "any(.triggers[]; .rule == \"crash\" and .subject.pid == $pid)"
	script_of life
	stack_of "^ *frbpf-crash  *$pid/.*frbpf:trigger: rule=crash .*sig=SIGSEGV" "crash_write"
	stack_of "^ *frbpf-crash  *$pid/.*frbpf:trigger" "crash_outer"
	grep -q "^ *frbpf-crash  *$pid/.*sched:sched_process_exec: filename=.*/frbpf-crash" "$perf_out" ||
		fail "no start"
	grep -q "signal:signal_generate: sig=11 .*comm=frbpf-handled" "$perf_out" || fail "no signal of the other"
	run -1 incident_where '.triggers[0].subject.comm == "frbpf-handled"'
	# within ten minutes, another crash of the same program is suppressed; a crash of another program is not
	run -139 "$BATS_TEST_TMPDIR/frbpf-crash"
	cp "$WORKLOADS/crash" "$BATS_TEST_TMPDIR/frbpf-abort"
	run -134 "$BATS_TEST_TMPDIR/frbpf-abort" abort
	wait_for 'any((.triggers + .merged)[]; .subject.comm == "frbpf-abort" and .args.sig == "SIGABRT")'
	same "incidents of frbpf-crash" "$(cat "$BASE"/incidents/*.json |
		jq -s '[.[] | (.triggers + .merged)[] | select(.subject.comm == "frbpf-crash")] | length')" 1
}

# A connection of the namespace is in state SYN_SENT (02), and has sent its packet again.
tries_again() {
	# shellcheck disable=SC2016 # of awk
	ip netns exec "$net-a" awk '$4 == "02" && $7 != "00000000" { found = 1 } END { exit !found }' /proc/net/tcp
}

@test "@network: a broken link, for open connections and for a new one" {
	need_tracepoints tcp:tcp_retransmit_skb
	make_network
	keep_cpus_awake # perf may miss timers of retransmits on an idle CPU
	port=$((20000 + $$ % 40000))
	load_shipped network
	coproc LISTENER { exec ip netns exec "$net-b" "$WORKLOADS/tcp_pair" listen 10.77.0.2 $port 40 3>&-; }
	pids+=("$LISTENER_PID")
	exec 5<&"${LISTENER[0]}"
	expect_line 5 listening
	mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
	ip netns exec "$net-a" "$WORKLOADS/tcp_pair" send 10.77.0.2 $port 40 <"$BATS_TEST_TMPDIR/in" \
		>"$BATS_TEST_TMPDIR/out" 3>&- 5<&- &
	pids+=("$!")
	exec 4>"$BATS_TEST_TMPDIR/in" 6<"$BATS_TEST_TMPDIR/out"
	expect_line 6 connected
	ip -n "$net-b" link set frbpf1 down
	echo go >&4
	expect_line 6 sent
	wait_for 'any(.triggers[]; .rule == "lossy-network" and .args.daddr == "10.77.0.2")'
	between "$(events "$BASE/session-tcp/perf.data.$name" tcp:tcp_retransmit_skb |
		grep -c "dport=$port saddr=10.77.0.1 daddr=10.77.0.2")" 19 1000 "retransmits in the dump"
	events "$BASE/session-tcp/perf.data.$name" sock:inet_sock_set_state |
		grep -q "dport=$port .*daddr=10.77.0.2 .*newstate=TCP_ESTABLISHED" || fail "no connection in the dump"
	cp "$WORKLOADS/tcp_pair" "$BATS_TEST_TMPDIR/frbpf-connect"
	# after a second, the program sends a second packet, which is lost, too
	ip netns exec "$net-a" "$BATS_TEST_TMPDIR/frbpf-connect" send 10.77.0.2 $port </dev/null >/dev/null 3>&- 4>&- \
		5<&- 6<&- &
	pids+=("$!")
	wait_until 10 tries_again || fail "no connection is under way"
	ip -n "$net-b" link set frbpf1 up
	wait_for 'any(.triggers[]; .rule == "slow-connect" and .subject.comm == "frbpf-connect" and
		.value_ns > 1000000000)'
	has_begin evidence || return 0
	script_of evidence
	stack_of "^ *frbpf-connect .*$waits" inet_stream_connect
}

@test "@function: a name server that does not answer" {
	[[ -e /sys/bus/event_source/devices/uprobe/type ]] || skip "no uprobes in this kernel"
	make_network
	ip -n "$net-b" link set frbpf1 down
	program getent frbpf-lookup
	printf 'nameserver 10.77.0.2\noptions timeout:1 attempts:2\n' >"$BATS_TEST_TMPDIR/resolv.conf"
	load_shipped function
	# shellcheck disable=SC2016 # of the inner shell
	run ! ip netns exec "$net-a" unshare -m sh -c \
		'mount --bind "$1" /etc/resolv.conf && exec "$2" ahostsv4 nobody.example.org' \
		- "$BATS_TEST_TMPDIR/resolv.conf" "$program" 3>&-
	wait_for 'any(.triggers[]; .rule == "slow-lookup" and .subject.comm == "frbpf-lookup" and
		.value_ns > 1000000000)'
	has_begin evidence || return 0
	script_of evidence
	stack_of "^ *frbpf-lookup .*$waits" poll
}

@test "@interrupts with lower thresholds: handlers, softirqs, and how many" {
	need_tracepoints irq:irq_handler_entry
	# lower thresholds, because a test cannot make a driver hang
	load_shipped interrupts \
		's/hardirq > 2ms/hardirq > 1ns/; s/softirq:\* > 10ms/softirq:* > 1us/; s/net_rx > 5ms/net_rx > 1ns/
		s/64 in 320us/3 in 100s/'
	softirqs
	wait_for 'any(.triggers[]; .rule | . == "slow-softirq" or . == "slow-net-rx")'
	events "$BASE/session-irq/perf.data.$name" irq:softirq_exit | grep -q vec= || fail "no softirq in the dump"
	wait_until 10 has_fired_of softirqs slow-net-rx || fail "slow-net-rx did not fire"
	wait_until 10 has_fired_of device slow-irq || skip "devices do not interrupt here"
	has_fired_of device irq-storm || fail "irq-storm did not fire"
}

# Prints the time in ns that CPU 0 spent in net_rx within 1 s before the trigger, according to perf's entry and exit
# events.
recorded_net_rx() { # INCIDENT
	local end
	end=$(manifest "$1" time)
	perf script -i "$BASE/session-irq/perf.data.$1" --ns -C 0 -F time,event,trace |
		awk -v end="$end" '{ sub(":", "", $1); split($1, t, "."); now = t[1] * 1e9 + t[2] }
			/softirq_entry:.*NET_RX/ { begin = now }
			/softirq_exit:.*NET_RX/ && begin { from = begin < end - 1e9 ? end - 1e9 : begin
				if (now <= end + 1000 && now > from) sum += now - from
				begin = 0 }
			END { printf "%d\n", sum }'
}

@test "@interrupts unchanged: a flood of packets that each take little time" {
	need_tracepoints irq:softirq_entry
	load_shipped interrupts
	"$WORKLOADS/packet_storm" >"$BATS_TEST_TMPDIR/storm" 3>&- &
	pids+=($!)
	wait_until 120 incident_where 'any(.triggers[]; .rule == "net-rx-storm")' || fail "$(frbpf status)"
	kill "${pids[0]}" && wait "${pids[0]}"
	echo "# $(cat "$BATS_TEST_TMPDIR/storm")"
	jq -e '.triggers[] | select(.rule == "net-rx-storm") | .source == "softirq" and .window_ns == 1000000000 and
		.threshold_ns == 500000000 and .value_ns > 500000000 and .value_ns <= 1000000000' \
		"$BASE/incidents/$name.json" || fail "$(cat "$BASE/incidents/$name.json")"
	# the window moves in slices of an eighth: the value differs from the time that perf recorded by one slice at
	# most
	between "$(jq '.triggers[] | select(.rule == "net-rx-storm").value_ns' "$BASE/incidents/$name.json")" \
		$(($(recorded_net_rx "$name") - 125000000)) $(($(recorded_net_rx "$name") + 125000000)) "time in net_rx"
	# the rule also fires in a trial on the recording
	frbpf test --json "$RULES" "$name" >"$BATS_TEST_TMPDIR/tried"
	jq -e '.rules[] | select(.name == "net-rx-storm") | .fired == 1 and .fires[0].value_ns > 500000000' \
		"$BATS_TEST_TMPDIR/tried" || fail "$(cat "$BATS_TEST_TMPDIR/tried")"
}

# Events during a dump, and for 1 s after it, make no incident: call this again.
has_fired_of() { # CAUSE RULE
	$1
	has_fired "$2"
}

softirqs() {
	for _ in 1 2 3 4 5; do
		{ echo x >/dev/udp/127.0.0.1/9; } 2>/dev/null || true
	done
}

device() {
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=4k count=20 oflag=direct status=none || true
}

has_fired() { # RULE
	(($(frbpf status --json | jq ".rules[] | select(.name == \"$1\").fired") > 0))
}
