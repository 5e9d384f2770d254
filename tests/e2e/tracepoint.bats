#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules on any tracepoint: crashes, OOM kills, retransmits, starts of programs. perf is the witness.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load network

setup() {
	need_root
	need_btf
	common_setup
	net='' sender='' listener='' perf_pid='' cgroup=''
}

teardown() {
	local pid
	for pid in "$perf_pid" "$sender" "$listener"; do
		[[ ! $pid ]] || kill -KILL "$pid" 2>/dev/null || true
	done
	remove_network
	common_teardown
	[[ ! $cgroup ]] || rmdir "$cgroup" 2>/dev/null || true
}

# Starts perf record as a witness of EVENT on the whole machine, with FILTER if given, until witness_end.
witness_begin() { # EVENT [FILTER]
	local arguments=(-q -a -k CLOCK_MONOTONIC -e "$1" -o "$BATS_TEST_TMPDIR/witness" \
		--control "fifo:$BATS_TEST_TMPDIR/ctl,$BATS_TEST_TMPDIR/ack")
	[[ ! ${2-} ]] || arguments+=(--filter "$2")
	mkfifo "$BATS_TEST_TMPDIR/ctl" "$BATS_TEST_TMPDIR/ack"
	perf record --no-bpf-event -D -1 "${arguments[@]}" -- sleep 60 >/dev/null 2>&1 3>&- &
	perf_pid=$!
	exec 7<>"$BATS_TEST_TMPDIR/ctl" 8<>"$BATS_TEST_TMPDIR/ack"
	echo enable >&7
	read -r -t "${FRBPF_LIMIT:-60}" -u 8 _ || fail "perf does not begin"
}

witness_end() { # its events: into the file seen
	kill -INT "$perf_pid"
	wait "$perf_pid" || true
	perf_pid=''
	exec 7>&- 8>&-
	perf script -i "$BATS_TEST_TMPDIR/witness" --ns -F comm,pid,tid,cpu,time,event,trace >"$BATS_TEST_TMPDIR/seen" \
		2>/dev/null
}

rules_matched() { # RULE N
	(($(frbpf status --json | jq ".rules[] | select(.name == \"$1\").matched") == $2))
}

trigger() { # NAME PATH: of the first trigger in the manifest
	jq -re ".triggers[0]$2" "$BASE/incidents/$1.json"
}

@test "a crash makes a dump with the name, the maps and the symbols of the dead process" {
	need_perf
	need_tracepoints signal:signal_generate
	cp "$WORKLOADS/crash" "$BATS_TEST_TMPDIR/frbpf-crash"
	write_rules <<-'EOF'
		[session-faults]
		run = -e page-faults -c 1 -g -m 4M --overwrite --switch-output -a

		[rule-crash]
		when = signal:signal_generate
		if   = sig in (SIGSEGV, SIGABRT, SIGBUS) && comm == "frbpf-crash"
	EOF
	frbpf_load
	run -139 "$BATS_TEST_TMPDIR/frbpf-crash"
	pid=$(json "${lines[0]}" .pid)
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" crash
	same "pid" "$(manifest "$name" pid)" "$pid"
	same "comm" "$(manifest "$name" comm)" frbpf-crash
	dump=$(dumps faults)
	perf_quiet script -i "$dump" --ns -F comm,pid,event,ip,sym,dso
	grep -q "^frbpf-crash  *$pid .*frbpf:trigger" "$perf_out" || fail "no marker of the process"
	# the marker's own stack shows the place of the crash
	awk '/frbpf:trigger/ { on = 1; next } /^$/ { on = 0 } on' "$perf_out" >"$BATS_TEST_TMPDIR/stack"
	grep -q 'crash_write (.*/frbpf-crash)' "$BATS_TEST_TMPDIR/stack" || fail "$(cat "$BATS_TEST_TMPDIR/stack")"
	grep -q 'crash_outer (.*/frbpf-crash)' "$BATS_TEST_TMPDIR/stack" || fail "$(cat "$BATS_TEST_TMPDIR/stack")"
	# the page faults have the process's name although it has ended
	grep -q "^frbpf-crash  *$pid .*page-faults" "$perf_out" || fail "no page fault of the process"
	run ! grep -q ":$pid" "$perf_out"
}

@test "the subject of a signal is its target, not its sender" {
	write_rules <<-'EOF'
		[rule-usr1]
		when = signal:signal_generate
		if   = sig == SIGUSR1 && comm == "frbpf-target" && current.comm == "frbpf-sender"
	EOF
	cp "$(type -P sleep)" "$BATS_TEST_TMPDIR/frbpf-target"
	cp "$(type -P bash)" "$BATS_TEST_TMPDIR/frbpf-sender"
	frbpf_load
	"$BATS_TEST_TMPDIR/frbpf-target" 60 3>&- &
	target=$!
	wait_until 15 grep -q frbpf-target "/proc/$target/comm"
	"$BATS_TEST_TMPDIR/frbpf-sender" -c "kill -USR1 $target"
	wait "$target" || true
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "subject" "$(manifest "$name" pid)" "$target"
	same "current" "$(trigger "$name" .current.comm)" frbpf-sender
}

# Makes a memory cgroup of 24M, of version 1 or 2.
make_memory_cgroup() {
	local dir=/sys/fs/cgroup
	if [[ -e $dir/memory/memory.limit_in_bytes ]]; then
		cgroup=$dir/memory/frbpf-oom-$$
		mkdir "$cgroup" && echo $((24 << 20)) >"$cgroup/memory.limit_in_bytes"
	elif grep -qw memory $dir/cgroup.subtree_control 2>/dev/null; then
		cgroup=$dir/frbpf-oom-$$
		mkdir "$cgroup" && echo $((24 << 20)) >"$cgroup/memory.max"
		echo 0 >"$cgroup/memory.swap.max" 2>/dev/null || true
	else
		skip "no memory cgroup that we may make"
	fi
}

@test "an OOM kill in a memory cgroup: the victim is the subject" {
	need_tracepoints oom:mark_victim
	make_memory_cgroup
	# tail keeps the last line of its input, which is endless
	cp "$(type -P tail)" "$BATS_TEST_TMPDIR/frbpf-hog"
	write_rules <<-'EOF'
		[rule-oom]
		when = oom:mark_victim
		if   = comm == "frbpf-hog"
	EOF
	frbpf_load
	status=0
	bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" /dev/zero' _ "$cgroup" "$BATS_TEST_TMPDIR/frbpf-hog" 3>&- &
	hog=$!
	wait "$hog" || status=$?
	same "end of the hog" "$status" 137
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" oom
	same "pid" "$(manifest "$name" pid)" "$hog"
	same "comm" "$(manifest "$name" comm)" frbpf-hog
	between "$(cat "$cgroup"/memory.{oom_control,events} 2>/dev/null | awk '$1 == "oom_kill" { print $2 }')" 1 1 \
		"kills as the cgroup counts them"
	# the trigger has its cgroup if the tracepoint's format has the task (since 6.8)
	if grep -q comm /sys/kernel/tracing/events/oom/mark_victim/format; then
		memcg=$(basename "$cgroup")
		same "its memory cgroup" "$(trigger "$name" .args.memcg)" "${memcg:0:15}"
		run -0 frbpf show
		[[ $output == *"memcg=${memcg:0:15}"* ]]
	fi
}

need_ipv6() {
	ip -6 addr show dev lo 2>/dev/null | grep -q 'inet6 ::1' || skip "no IPv6 here"
}

matched() { # RULE
	frbpf status --json | jq -re ".rules[] | select(.name == \"$1\").matched"
}

has_matched() { # RULE N
	(($(matched "$1") >= $2))
}

@test "enums by name, IPv6 addresses and prefixes: of the format's fields and of arguments" {
	need_perf
	need_ipv6
	need_tracepoints sock:inet_sock_set_state
	need_tracepoints tcp:tcp_receive_reset
	port=$((20000 + $$ % 40000))
	write_rules <<-EOF
		[rule-begin]
		when = sock:inet_sock_set_state
		if   = oldstate == TCP_CLOSE && newstate == TCP_SYN_SENT && daddr_v6 == ::/64 && dport == $port
		dump = none
		cooldown = 0

		[rule-established]
		when = sock:inet_sock_set_state
		if   = newstate == TCP_ESTABLISHED && dport == $port
		dump = none

		[rule-reset]
		when = tcp:tcp_receive_reset
		if   = daddr_v6 == ::1 && saddr_v6 in (::1, fe80::/10) && dport == $port
		dump = none
		cooldown = 0

		[rule-other]
		when = tcp:tcp_receive_reset
		if   = daddr_v6 == 2001:db8::/32 && dport == $port
		dump = none
	EOF
	frbpf_load
	witness_begin sock:inet_sock_set_state "dport == $port && newstate == 2"
	for _ in 1 2 3; do
		(: <"/dev/tcp/::1/$port") 2>/dev/null && fail "somebody listens at port $port"
	done
	wait_until 15 has_matched begin 3
	witness_end
	same "what perf saw" "$(grep -c 'daddrv6=::1 .*newstate=TCP_SYN_SENT' "$BATS_TEST_TMPDIR/seen")" 3
	same "begins" "$(matched begin)" 3
	same "resets" "$(matched reset)" 3
	same "established" "$(matched established)" 0
	same "of another net" "$(matched other)" 0
}

@test "flags by name, also of a field that is an argument" {
	need_tracepoints kmem:mm_page_alloc
	write_rules <<-'EOF'
		[rule-zeroed]
		when = kmem:mm_page_alloc
		if   = gfp_flags & __GFP_ZERO && order < 11
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"filtered by the kernel: (gfp_flags & "* ]] || fail "$output"
	frbpf_load
	# the kernel zeroes memory for programs
	head -c 8M /dev/zero | tail -n 1 >/dev/null
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	zero=$(sed -n 's/.*__GFP_ZERO.*/1/p' /sys/kernel/tracing/events/kmem/mm_page_alloc/format)
	same "the format has its name" "$zero" 1
	# the value of ___GFP_ZERO since 5.15
	(($(trigger "$name" .args.gfp_flags) & 0x100)) || fail "$(trigger "$name" .args)"
	sed -i 's/__GFP_ZERO/__GFP_ZER/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"'gfp_flags' has no value named '__GFP_ZER' (did you mean '__GFP_ZERO'?)"* ]] || fail "$output"
	# a rule with a path of members uses the arguments, which have numbers, not names
	sed -i 's/__GFP_ZER.*/__GFP_ZERO \&\& page._refcount.counter >= 0/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output =~ "'__GFP_ZERO' is a name of the tracepoint's format: a rule with a path needs "([0-9]+)" instead" ]] || fail "$output"
	((BASH_REMATCH[1] & 0x100)) || fail "$output"
	sed -i "s/__GFP_ZERO/${BASH_REMATCH[1]}/" "$RULES"
	run -0 frbpf check "$RULES"
}

@test "an argument through four pointers: the parent of the exiting task" {
	cp "$(type -P true)" "$BATS_TEST_TMPDIR/frbpf-child"
	write_rules <<-EOF
		[rule-ours]
		when = sched:sched_process_exit
		if   = comm == "frbpf-child" && p.group_leader.real_parent.group_leader.pid == $BASHPID
		dump = none

		[rule-another]
		when = sched:sched_process_exit
		if   = comm == "frbpf-child" && p.group_leader.real_parent.group_leader.pid != $BASHPID
		dump = none
	EOF
	frbpf_load
	for _ in 1 2 3; do
		"$BATS_TEST_TMPDIR/frbpf-child"
	done
	same "ours" "$(matched ours)" 3
	same "another's" "$(matched another)" 0
}

@test "a TCP retransmit over a broken link, with addresses and port" {
	need_perf
	need_tracepoints tcp:tcp_retransmit_skb
	make_network
	keep_cpus_awake # the timers of retransmits
	# sockets of removed namespaces may live on for a while: use a port of our own
	port=$((20000 + $$ % 40000))
	write_rules <<-EOF
		[rule-retransmit]
		when  = tcp:tcp_retransmit_skb
		if    = daddr == 10.77.0.0/24 && saddr in (10.77.0.1, 10.0.0.0/16) && dport == $port
		count = 2 in 1m

		[rule-other-net]
		when = tcp:tcp_retransmit_skb
		if   = daddr == 10.77.0.128/25 || daddr != 10.0.0.0/8 && dport == $port || dport == 1 && daddr == 10.77.0.2
		dump = none

		[rule-not-other]
		when = tcp:tcp_retransmit_skb
		if   = !(daddr == 10.77.1.0/24) && dport == $port
		dump = none
	EOF
	frbpf_load
	witness_begin tcp:tcp_retransmit_skb "dport == $port"
	coproc LISTENER { exec ip netns exec "$net-b" "$WORKLOADS/tcp_pair" listen 10.77.0.2 $port 3>&-; }
	listener=$LISTENER_PID
	exec 5<&"${LISTENER[0]}"
	expect_line 5 listening
	mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
	ip netns exec "$net-a" "$WORKLOADS/tcp_pair" send 10.77.0.2 $port <"$BATS_TEST_TMPDIR/in" \
		>"$BATS_TEST_TMPDIR/out" 3>&- 5<&- 7>&- 8>&- &
	sender=$!
	exec 4>"$BATS_TEST_TMPDIR/in" 6<"$BATS_TEST_TMPDIR/out"
	expect_line 6 connected
	ip -n "$net-b" link set frbpf1 down
	echo go >&4
	expect_line 6 sent
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" retransmit
	same "subject" "$(trigger "$name" .subject.comm)" ""
	status=$(frbpf status --json)
	between "$(jq '.rules[] | select(.name == "retransmit").matched' <<<"$status")" 2 100 matched
	same "of another net" "$(jq '.rules[] | select(.name == "other-net").matched' <<<"$status")" 0
	between "$(jq '.rules[] | select(.name == "not-other").matched' <<<"$status")" 2 100 "not another net"
	witness_end
	between "$(grep -c 'daddr=10.77.0.2' "$BATS_TEST_TMPDIR/seen")" 2 100 \
		"retransmits that perf saw in $(cat "$BATS_TEST_TMPDIR/seen")"
	# the trigger is the second retransmit, on its CPU: after the first one's record, and before the third one's
	time=$(manifest "$name" time)
	awk '{ gsub(/[].:[]/, "", $0); print $3 + 0, $4 + 0 }' "$BATS_TEST_TMPDIR/seen" >"$BATS_TEST_TMPDIR/hits"
	awk -v t="$time" -v cpu="$(manifest "$name" cpu)" \
		'NR == 1 && $2 >= t || NR == 2 && $1 != cpu || NR == 3 && $2 <= t { bad = 1 }
		END { exit bad || NR < 2 }' "$BATS_TEST_TMPDIR/hits" ||
		fail "$time is not the second of $(cat "$BATS_TEST_TMPDIR/seen")"
}

@test "a program starts: its file, by pattern, as often as perf saw it" {
	need_perf
	need_tracepoints sched:sched_process_exec
	write_rules <<-'EOF'
		[rule-exec]
		when     = sched:sched_process_exec
		if       = bprm.filename ~ "/tmp/frb*-x?"
		dump     = none
		cooldown = 0

		[rule-pid]
		when = sched:sched_process_exec
		if   = old_pid == 1 && comm ~ "frb*-xa"
		dump = none
	EOF
	# the rule sees only 15 bytes: "/tmp/frbXXXX-xa" has exactly 15
	program=$(mktemp -u /tmp/frbXXXX)-xa
	cp "$(type -P true)" "$program"
	frbpf_load
	witness_begin sched:sched_process_exec "filename == \"$program\""
	for _ in 1 2 3 4 5; do
		"$program"
	done
	rm "$program"
	witness_end
	status=$(frbpf status --json)
	same "what perf saw" "$(grep -c sched_process_exec "$BATS_TEST_TMPDIR/seen")" 5
	same "what the rule saw" "$(jq '.rules[] | select(.name == "exec").matched' <<<"$status")" 5
	same "of another pid" "$(jq '.rules[] | select(.name == "pid").matched' <<<"$status")" 0
}

@test "a field of the format: a file name longer than 15 bytes, as often as perf saw it" {
	need_perf
	need_tracepoints sched:sched_process_exec
	program=$BATS_TEST_TMPDIR/frbpf-a-program-with-a-long-name
	cp "$(type -P true)" "$program"
	write_rules <<-EOF
		[rule-glob]
		when     = sched:sched_process_exec
		if       = filename ~ "*/frbpf-*-long-name" && pid != 1
		cooldown = 1h

		[rule-name]
		when     = sched:sched_process_exec
		if       = filename == "$program"
		dump     = none
		cooldown = 0

		[rule-shorter]
		when     = sched:sched_process_exec
		if       = filename in ("${program%?}", "/bin/frbpf-a-program-with-a-long-name")
		dump     = none
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"filtered by the kernel: (filename ~ \"*/frbpf-*-long-name\")"* ]]
	frbpf_load
	witness_begin sched:sched_process_exec "filename == \"$program\""
	for _ in 1 2 3; do
		"$program"
	done
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" glob
	wait_until 15 rules_matched name 3
	witness_end
	same "what perf saw" "$(grep -c sched_process_exec "$BATS_TEST_TMPDIR/seen")" 3
	rules_matched name 3
	rules_matched shorter 0
	grep -q "$(manifest "$name" pid)" "$BATS_TEST_TMPDIR/seen" || fail "perf saw no such pid"
}

@test "check prints how a rule observes its tracepoint, also without root" {
	write_rules <<-'EOF'
		[rule-args]
		when = sched:sched_switch
		if   = prev.pid == 1 && next.comm ~ "x*"
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"raw_tp/sched_switch"* ]]
	cp "$RULES" "$BATS_TEST_TMPDIR/r.conf"
	chmod 755 "$BATS_TEST_TMPDIR"
	sed -i 's/prev.pid/prev.pidd/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"has no member 'pidd' (did you mean 'pid'?)"* ]]
	write_rules <<-'EOF'
		[rule-dev]
		when = block:block_rq_complete
		if   = dev in (8:0, "253:17", 8388608)

		[rule-name]
		when = block:block_rq_complete
		if   = dev == sda
	EOF
	run -1 frbpf check "$RULES"
	same "errors" "$(grep -c ' error: ' <<<"$output")" 1
	[[ $output == *"'dev' is the number of a device: write MAJOR:MINOR, such as 8:0"* ]] || fail "$output"
}
