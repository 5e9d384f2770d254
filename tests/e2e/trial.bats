#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf test: rules tried on recordings.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load memory_group
load disk

setup() {
	common_setup
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	common_teardown
	memory_group_remove
}

need_recording() {
	need_root
	need_perf
	need_tracepoints
	need_tracepoints raw_syscalls:sys_enter
	keep_cpus_awake
}

# record FILE COMMAND...: records all CPUs with perf while COMMAND runs
record() {
	local out=$1
	shift
	timeout -k 5 120 perf record -q -k CLOCK_MONOTONIC -a -m 2048 -o "$out" -e sched:sched_switch \
		-e sched:sched_wakeup -e sched:sched_wakeup_new -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
		-- "$@" </dev/null >workload.out 2>perf.err 3>&- || fail "$(cat perf.err)"
}

# of RULE FILTER: the result of a jq filter on the result of RULE
of() {
	jq -c --arg rule "$1" ".rules[] | select(.name == \$rule) | $2" tried
}

try() {
	"$FRBPF" test --json "$@" >tried || fail "$(cat tried)"
}

@test "rules fire on a recording as often, and when, as it happened" {
	need_recording
	local n=5
	record a.data "$WORKLOADS/slow_syscall" --comm tried --call clock_nanosleep --ms 30 --times $n
	cat >r.conf <<-'EOF2'
		[rule-sleep]
		when = syscall:clock_nanosleep > 30ms
		if = comm == "tried"
		cooldown = 0

		[rule-cool]
		when = syscall:clock_nanosleep > 30ms
		if = comm == "tried"
		cooldown = 1h per process

		[rule-third]
		when = syscall:* fails (ENOENT)
		count = 3 in 1h

		[rule-hang]
		when = pending(offcpu) > 20ms
		if = comm == "tried"
		cooldown = 0

		[rule-less]
		when = pending(offcpu) > 1h
		if = comm == "tried"

		[rule-never]
		when = syscall:clock_nanosleep > 1h
	EOF2
	try r.conf a.data
	same "fires" "$(of sleep .fired)" $n
	# each fire lies within the program's own measurement
	jq -se --slurpfile t tried '[$t[0].rules[] | select(.name == "sleep") | .fires[]] as $f |
		[range(length)] | all(. as $i | $f[$i].time_ns <= $all[$i].end_ns and
			$f[$i].time_ns - $f[$i].value_ns >= $all[$i].begin_ns and
			$f[$i].tid == $all[$i].tid and $f[$i].comm == "tried")' \
		--argjson all "$(jq -s . workload.out)" \
		workload.out || fail "$(of sleep .fires) $(cat workload.out)"
	same "with a cooldown" "$(of cool '[.fired, .suppressed.cooldown]')" "[1,$((n - 1))]"
	# the rule fires while the call hangs, 20 ms after it began
	same "hangs" "$(of hang .fired)" $n
	same "less" "$(of less .fired)" 0
	same "never" "$(of never '[.fired, .matched]')" '[0,0]'
	# a recording given twice counts once
	cp tried once
	cp a.data again.data
	try r.conf a.data again.data
	same "twice" "$(jq -S 'del(.recordings)' tried)" "$(jq -S 'del(.recordings)' once)"
	same "recordings" "$(jq .recordings tried)" 2
	# fires are in order of time
	jq -e '[.rules[].fires | map(.time_ns) | . == sort] | all' tried
}

@test "the kernel counts what a simultaneous recording has" {
	need_recording
	need_btf
	local n=7
	write_rules <<-'EOF2'
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "tried"
		dump = none

		[rule-wait]
		when = offcpu > 20ms
		if = comm ~ "trie?" && state == S
		dump = none
		cooldown = 45ms

		[rule-count]
		when = offcpu > 20ms
		if = comm == "tried"
		dump = none
		cooldown = 0
		count = 3 in 1h per thread

		[rule-share]
		when = syscall:clock_nanosleep > 10% in 1s per comm
		if = comm == "tried"
		dump = none
		cooldown = 0

		[rule-after]
		when = rule:wait then rule:call within 1h
		dump = none
		cooldown = 0

		[rule-together]
		when = all of rule:count, rule:call within 1h
		dump = none
		cooldown = 0
	EOF2
	frbpf_load
	record a.data "$WORKLOADS/slow_syscall" --comm tried --call clock_nanosleep --ms 30 --times $n
	try "$RULES" a.data
	for rule in call wait count share after together; do
		same "$rule matched" "$(of $rule .matched)" "$(status_of $rule .matched)"
		same "$rule fired" "$(of $rule .fired)" "$(status_of $rule .fired)"
	done
	same "calls" "$(of call .matched)" $n
	same "every third" "$(of count .fired)" $((n / 3))
	# each call takes 30 ms of 1 s: all but the first three exceed the share of 10 %
	between "$(of share .fired)" $((n - 4)) $((n - 1)) "calls above the share"
	same "calls after waits" "$(of after .fired)" $n
	# the rule fires from the third call on
	between "$(of together .fired)" $((n - 2)) $((n + 1)) "calls and counts"
}

@test "our own dump shows that its rule fires, and which other rules would have fired" {
	need_recording
	need_btf
	need_fifo
	local name
	write_rules <<-'EOF2'
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "frbpf-victim"
		post = 10ms
	EOF2
	frbpf_load
	workload runq_spike --ms 40
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	write_rules <<-'EOF2'
		[rule-other]
		when = runqlat > 35ms
		if = comm == "frbpf-victim"

		[rule-root]
		when = runqlat > 35ms
		if = comm == "frbpf-victim" && uid == 0

		[rule-nobody]
		when = runqlat > 35ms
		if = comm == "nobody" && uid == 0
	EOF2
	frbpf test --json "$RULES" "$name" >tried
	same "fires" "$(of other .fired)" 1
	same "subject" "$(of other '.fires[0].tid')" "$(jq '.triggers[0].subject.tid' "$BASE/incidents/$name.json")"
	between "$(of other '.fires[0].time_ns')" "$(($(manifest "$name" time) - 1000000))" \
		"$(($(manifest "$name" time) + 10000000))" "the time"
	# a recording has no uids: a rule on a uid may have fired, or cannot have fired
	same "unknown" "$(of root '[.fired, .maybe, .doubtful_fields]')" '[0,1,"uid"]'
	same "whatever its uid" "$(of nobody '[.fired, .maybe]')" '[0,0]'
	frbpf test "$RULES" "$name" | grep -q 'recordings do not have uid' || fail "$(frbpf test "$RULES" "$name")"
}

@test "facts that recordings lack are reported, and so are files that are not recordings" {
	need_recording
	local output
	timeout -k 5 60 perf record -q -a -e sched:sched_switch -o b.data -- true </dev/null 2>/dev/null 3>&-
	cat >r.conf <<-'EOF2'
		[rule-wait]
		when = runqlat > 1ms

		[rule-probe]
		when = uprobe:/bin/true:main

		[rule-learns]
		when = offcpu > p99 * 4
		if = comm != "x"

		[rule-of-group]
		when = offcpu > 50% in 1s
		if = comm != "x"

		[rule-of-others]
		when = all of rule:wait, rule:silent-call within 1s

		[rule-silent-call]
		when = syscall:fsync > 1s

		[rule-silence]
		when = absent(sched:sched_switch) > 1h

		[rule-span]
		when = sched:sched_switch -> sched:sched_switch by next.pid = prev.pid, prev.cpus_mask > 1s
	EOF2
	try r.conf b.data
	[[ $(of wait .cannot) == *sched:sched_wakeup* ]] || fail "$(cat tried)"
	[[ $(of probe .cannot) == *uprobe* ]]
	[[ $(of learns .cannot) == *"threshold depends"* ]] || fail "$(cat tried)"
	[[ $(of of-group .cannot) == *"do not contain cgroups"* ]] || fail "$(cat tried)"
	[[ $(of of-others .cannot) == *"nor can rule wait"* ]] || fail "$(cat tried)"
	[[ $(of span .cannot) == *"no field 'prev.cpus_mask'"* ]] || fail "$(cat tried)"
	same "silence" "$(of silence .fired)" 0
	# any user may run it on files that this user can read
	chmod a+rx . && chmod a+r b.data r.conf
	if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$FRBPF" -a -r "$PWD/b.data"; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$FRBPF" test r.conf b.data
	fi
	head -c 3000 b.data >half.data
	run -1 --separate-stderr "$FRBPF" test r.conf half.data
	[[ $stderr == *half.data* ]] || fail "$stderr"
	run -1 --separate-stderr "$FRBPF" test r.conf
	[[ $stderr == *"takes rules"* ]]
	run -1 --separate-stderr "$FRBPF" test r.conf ./nothing
	[[ $stderr == *nothing* ]]
	echo 'when = runqlat' >bad.conf
	run -1 --separate-stderr "$FRBPF" test bad.conf b.data
	[[ $stderr == *bad.conf:1* ]]
}

# perf_saves FILE ARGUMENTS...: runs $command under a command of perf that writes a recording
perf_saves() {
	local out=$1
	shift
	timeout -k 5 120 perf "$@" -o "$out" -- "${command[@]}" </dev/null >/dev/null 2>perf.err 3>&- ||
		fail "$(cat perf.err)"
}

# tells FILE RULE...: the file must answer these rules, and no others
tells() {
	local file=$1
	shift
	try r.conf "$file"
	same "$file tells" "$(jq -r '.rules[] | select(has("cannot") | not) | .name' tried | sort | xargs)" "$*"
	jq -e '[.rules[] | select(has("cannot") | not) | .values > 0] | all' tried >/dev/null || fail "$(cat tried)"
}

# counted FILE EVENT RULE: there are at most as many values as perf has ends of them; some began before the recording
# did
counted() {
	local n
	n=$(perf script --kallsyms /dev/null -i "$1" -F event 2>/dev/null | grep -c "$2")
	between "$(of "$3" .values)" $((n / 2)) "$n" "values of $3, with $n times $2"
}

@test "recordings of perf sched, perf trace and perf record tell the sources whose events they have" {
	need_recording
	need_tracepoints vmscan:mm_vmscan_memcg_reclaim_end
	disk_below >/dev/null || skip "the test's files are on no disk"
	local name when command=("$WORKLOADS/slow_syscall" --comm tried --call clock_nanosleep --ms 30 --times 4)
	while read -r name when; do
		printf '[rule-%s]\nwhen = %s\nif = comm != "nobody"\ncooldown = 0\n' "$name" "$when"
	done >r.conf <<-'EOF2'
		runqlat runqlat > 1ns
		blocked blocked > 1ns
		offcpu offcpu > 20ms
		hang pending(offcpu) > 20ms
		hit sched:sched_switch
		call syscall:clock_nanosleep > 20ms
		blkio blkio > 1ns
		device blkio.device > 1ns
		reclaim reclaim > 1ns
		connect connect > 1ns
		function uprobe:libc:getenv > 1ns
		places uprobe:libc:malloc -> uprobe:libc:free by tid > 1ns
		probe usdt:libc:libc:setjmp
		message app:x > 1ns
		learnt runqlat > p99 * 4
	EOF2
	cat >>r.conf <<-'EOF2'
		[rule-hardirq]
		when = hardirq > 1ns
		[rule-softirq]
		when = softirq:* > 1ns
		[rule-share]
		when = softirq:* > 1% in 10ms
		[rule-span]
		when = irq:softirq_entry -> irq:softirq_exit by cpu, vec > 1ns
		[rule-pressure]
		when = psi:cpu some > 1ms in 2s
	EOF2
	perf_saves sched.data sched record
	tells sched.data blocked hang hit offcpu runqlat
	# a hypervisor may hide some switches, from perf, too
	between "$(of offcpu '[.fires[] | select(.comm == "tried")] | length')" 2 4 "sleeps"
	perf_saves trace.data trace record
	tells trace.data call
	same "calls" "$(of call .matched)" 4
	command=(dd if=/dev/zero of=f bs=4k count=30 oflag=direct)
	perf_saves block.data record -q -a -e 'block:*'
	tells block.data blkio device
	counted block.data block_rq_complete device
	perf_saves irq.data record -q -a -e 'irq:*'
	tells irq.data hardirq share softirq span
	counted irq.data softirq_exit softirq
	memory_group_make 8388608
	truncate -s 32M file
	# shellcheck disable=SC2016 # of that shell
	command=(bash -c 'echo $$ >"$1/cgroup.procs" && exec cat file' _ "$memory_group")
	perf_saves mem.data record -q -a -e 'vmscan:*direct_reclaim*' -e 'vmscan:*memcg_reclaim*'
	tells mem.data reclaim
	counted mem.data memcg_reclaim_end reclaim
	# each of the other rules has a reason why it cannot be answered
	jq -e '[.rules[] | .cannot // "told" | length > 3] | all' tried >/dev/null || fail "$(cat tried)"
}
