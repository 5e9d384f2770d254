#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf why: known causes, recorded by perf, and the answers of frbpf.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# with: others
load helpers
load ../causes/causes

setup() {
	common_setup
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	end_suspect
	remove_quota_group
	common_teardown
}

# Processes that a test has started to be examined: $suspect
end_suspect() {
	[[ ${suspect-} ]] || return 0
	kill -KILL "$suspect" 2>/dev/null || true
	wait "$suspect" || true
	suspect=
}

# On some virtual machines perf writes no events in the context of some tasks. If why says that a wake-up was not recorded:
# does perf script show none of a culprit?
lacks_wakeup() { # FILE LINE-OF-TRUTH
	local culprit
	[[ $(why_of "$1" "$2" 2>&1) == *"its switch or wakeup was not recorded"* ]] || return 1
	[[ $2 =~ \"from\":\ ([0-9.]+).*\"to\":\ ([0-9.]+) ]] || return 1
	for culprit in $(jq '.culprits[]' <<<"$2"); do
		perf script -i "$1" --time "${BASH_REMATCH[1]},${BASH_REMATCH[2]}" -F event,trace 2>/dev/null |
			grep "sched_waking:.* pid=$culprit " >/dev/null && return 1
	done
	return 0
}

# expect_right FILE TRUTH
expect_right() {
	local line got bad=
	while read -r line; do
		got=$(judge "$1" "$line") || got=failed
		[[ $got != unknown ]] || ! lacks_wakeup "$1" "$line" || continue
		[[ $got == right ]] || bad+="$got: $line"$'\n'"$(why_of "$1" "$line" 2>&1 | head -n 8)"$'\n'
	done <"$2"
	[[ ! $bad ]] || fail "$bad"
}

need_recording() {
	need_root
	need_perf
	need_tracepoints
	need_fifo
	keep_cpus_awake
	export spinners="${awake_pids[*]}"
}

@test "why finds the culprit behind a lock, a server, a child, a signal" {
	need_recording
	record_causes a.data truth lock-sleep lock-compute convoy server two-servers child stopped file-lock pipe
	same "causes" "$(wc -l <truth)" 9
	expect_right a.data truth
}

@test "why finds who has the CPU, and what a task does by itself" {
	need_recording
	record_causes a.data truth rt-hog inversion own-sleep own-compute timeout
	same "causes" "$(wc -l <truth)" 5
	expect_right a.data truth
}

@test "why says that other CPUs were idle while a pinned task waited for its own" {
	need_recording
	record_possible pinned
	[[ $(why_of a.data "$(<truth)") == *", while CPU "*" was idle"* ]] || fail "$(why_of a.data "$(<truth)")"
}

# Causes that some machines cannot provoke: those that are there must be right, and there must be at least one.
record_possible() { # NAME...
	record_causes a.data truth "$@" 2>refused
	[[ -s truth ]] || skip "$(head -n 1 refused)"
	expect_right a.data truth
}

@test "why finds whose requests a disk served, and what delayed a request before the disk" {
	need_recording
	record_possible fsync-behind queue-behind lock-io journal three-servers io-limit
}

@test "why finds the holder of a kernel lock, the server of a file, and the reader that blocks a writer" {
	need_recording
	record_possible mmap-lock inode-lock fuse-fault starved-writer
}

@test "why distinguishes reclaim, a copy of page tables and softirqs from computing" {
	need_recording
	record_possible memory-limit big-fork softirqs
	run -0 why_of a.data "$(grep big-fork truth)"
	[[ ${lines[0]} == *"computed, mostly in "*" (clone)"* ]] || fail "$output"
}

@test "why distinguishes compaction of memory from computing" {
	need_recording
	[[ -w /proc/sys/vm/compact_memory ]] || skip "nobody can ask for compaction here"
	timeout -k 5 60 perf record -q -k CLOCK_MONOTONIC -o a.data -m 8M -a -e sched:sched_switch -e sched:sched_waking \
		-e compaction:mm_compaction_begin -e compaction:mm_compaction_end -- \
		sh -c 'echo $$ >tid; echo 1 >/proc/sys/vm/compact_memory' </dev/null 3>&-
	"$FRBPF" why -i a.data --tid "$(<tid)" --json >answer
	jq -e '.tree.causes[] | select(.type == "compaction") | .ns > 0' answer || fail "$(<answer)"
}

# A twentieth of the time, at least: how much it is depends on the machine.
softirqs_took_time() { # DUMP
	why_of "$1" "$(<truth)" --json >answer
	jq -e '([.tree.causes[] | select(.type == "interrupted" and .softirq) | .ns] | add) * 20 > .of_ns' answer || fail "$(<answer)"
}

@test "softirqs are found by the sums of a BPF program, and by each single event" {
	need_recording
	need_btf
	for level in "" full; do
		printf '[session-evidence]\nrun = evidence %s -m 16M\n[rule-none]\nwhen = app:none\n' "$level" >"$RULES"
		frbpf_load >/dev/null
		# on a busy machine the dump may come when the rings only have later events
		for ((i = 0; i < 5; i++)); do
			run_causes softirqs >truth 2>refused 3>&-
			[[ -s truth ]] || skip "$(head -n 1 refused)"
			dump=$(frbpf dump)
			! why_of "$dump" "$(<truth)" &>/dev/null || break
		done
		softirqs_took_time "$dump"
		run -0 events "$dump" irq:softirq_exit
		[[ ! $level && ! $output ]] || [[ $level && $output ]] || fail "level $level: ${output:0:1000}"
		run -0 events "$dump" frbpf:interrupt
		[[ $level && ! $output ]] || [[ ! $level && $output == *"softirq="*" times="* ]] || fail "level $level: ${output:0:1000}"
		frbpf stop
	done
}

@test "evidence of one command has its interrupts, which no BPF program can write there" {
	need_recording
	need_btf
	timeout -k 5 60 "$FRBPF" run -o out --session 'evidence -m 16M' --last-window --log log -- \
		chrt -r 1 "$WORKLOADS/cause" softirqs >truth 2>refused 3>&- || skip "$(head -n 1 refused)"
	dump=$(echo out/session-*/perf.data.*)
	softirqs_took_time "$dump"
	run -0 events "$dump" frbpf:interrupt
	[[ ! $output ]] || fail "$output"
}

need_quota() {
	make_quota_group
	[[ $quota_group ]] || skip "no cgroup with a CPU controller"
}

@test "why distinguishes a CPU quota from other tasks on the CPU" {
	need_recording
	need_quota
	record_causes a.data truth quota
	expect_right a.data truth
	# the timer tells when it had a quota again
	why_of a.data "$(<truth)" --json | jq -e '[.tree.causes[] | select(.type == "throttled")] | length == 1'
}

# An incident of a task whose quota is used up, with the sessions on standard input
record_throttled() {
	need_recording
	need_btf
	need_quota
	{ cat; printf '[rule-late]\nwhen = runqlat > 40ms\nif = comm == "cause"\n'; } >"$RULES"
	frbpf_load >/dev/null
	# shellcheck disable=SC2016 # of the inner shell
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" --ms 60000 quota' - "$quota_group" "$WORKLOADS/cause" >/dev/null 3>&- &
	suspect=$!
	wait_for_incident "$BASE" 1
	wait_until 20 jq -e '.triggers[0].state.cpu[0].throttled > 0' "$BASE"/incidents/*.json >/dev/null
	end_suspect
	frbpf_stop >/dev/null
}

forget_state() {
	jq 'del(.triggers[0].state)' "$BASE"/incidents/*.json >other.json
	cat other.json >"$(echo "$BASE"/incidents/*.json)"
}

@test "what the daemon read about the cgroup proves that a quota was used up" {
	record_throttled <<-'EOF2'
		[session-why]
		run = -e sched:sched_switch -e sched:sched_waking -g -m 4M --overwrite --switch-output -a

	EOF2
	frbpf why --json >why.json
	jq -e '.cause == "quota" and .culprit.comm == "cause"' why.json || fail "$(jq -r .verdict why.json)"
	# without it the answer would be a guess
	forget_state
	frbpf why --json | jq -e '.cause == "unknown" and .missing == "quota"' || fail "$(frbpf why)"
}

@test "run = evidence has the timer that refills a CPU quota" {
	record_throttled </dev/null
	forget_state
	frbpf why --json >why.json
	jq -e '.cause == "quota" and .culprit.comm == "cause"' why.json || fail "$(jq -r .verdict why.json)"
	# only this timer
	symbol=$(perf script -F event,trace -i "$BASE"/session-evidence/perf.data.* 2>/dev/null |
		sed -n 's/.*timer:hrtimer_expire_entry:.* \(function=[^ ]*\).*/\1/p' | sort -u)
	[[ $symbol == function=*sched_cfs_period_timer* ]] || fail "$symbol"
}

@test "the times in the tree of why add up, and the first line is the verdict" {
	local line
	need_recording
	record_causes a.data truth lock-sleep
	line=$(<truth)
	why_of a.data "$line" --json >why.json
	# children of the root, and of each wait whose waker is followed
	jq -e '[.. | objects | select(.causes and (.causes | length) > 0) | .ns - ([.causes[].ns] | add)] | all(. == 0)' why.json
	jq -e '.schema == 1 and .tree.ns == .of_ns and .culprit.comm == "cause"' why.json
	run -0 why_of a.data "$line"
	[[ ${lines[0]} == *"waited for a futex in"*"until woken by cause/"*"it chose to sleep" ]] || fail "$output"
	same "the verdict" "${lines[0]}" "$(jq -r .verdict why.json)"
}

@test "the answer fits the terminal, and -v shows all of it" {
	need_recording
	record_causes a.data truth two-servers
	[[ $(<truth) =~ \"subject\":\ ([0-9]+).*\"from\":\ ([0-9.]+).*\"to\":\ ([0-9.]+) ]]
	ask="frbpf why -i a.data --tid ${BASH_REMATCH[1]} --from ${BASH_REMATCH[2]} --to ${BASH_REMATCH[3]}"
	export PATH=${FRBPF%/*}:$PATH
	script -qec "stty rows 10 cols 80; $ask" /dev/null 3>&- | tr -d '\r' >short
	script -qec "stty rows 10 cols 80; $ask -v" /dev/null 3>&- | tr -d '\r' >all
	$ask >piped
	same "the verdict" "$(head -n 1 short)" "$(head -n 1 all)"
	same "the verdict" "$(head -n 1 short)" "$(head -n 1 piped)"
	# one line is left for the prompt
	(($(fold -w 80 short | wc -l) < 10)) || fail "$(<short)"
	(($(fold -w 80 all | wc -l) > 10)) || fail "$(<all)"
	grep -q 'smaller: -v shows them$' short || fail "$(<short)"
}

@test "without sched_waking why says that the waker is unknown, and which event to record" {
	local line
	need_recording
	# with -F the switches would only be a sample of all
	timeout -k 5 60 perf record --no-bpf-event -q -k CLOCK_MONOTONIC -o a.data -a -e sched:sched_switch -- \
		"$WORKLOADS/cause" server >truth </dev/null 3>&-
	line=$(<truth)
	run -0 why_of a.data "$line"
	[[ ${lines[0]} == *"unknown: its waker was not recorded: record -e sched:sched_waking -g of all tasks (-a)"* ]] || fail "$output"
	same "the cause" "$(why_of a.data "$line" --json | jq -r .cause)" unknown
}

@test "why accepts files of perf sched record, and needs no root" {
	local line
	need_recording
	timeout -k 5 60 perf sched record -k CLOCK_MONOTONIC -o a.data -- "$WORKLOADS/cause" server >truth 2>perf.err </dev/null 3>&- ||
		fail "$(cat perf.err)"
	line=$(<truth)
	# it has no stacks: the waker is known, the reason for the wait is not
	run -0 why_of a.data "$line"
	[[ ${lines[0]} == *" waited, until woken by cause/$(jq '.culprits[0]' <<<"$line"), "* ]] || fail "$output"
	chmod 0755 . && chmod 0644 a.data
	run -0 setpriv --reuid 65534 --clear-groups "$FRBPF" why -i a.data --tid "$(jq .subject <<<"$line")"
}

@test "nothing is refused that it takes to name functions of the vDSO" {
	need_recording
	perf record -q -k CLOCK_MONOTONIC -o a.data -m 4M -a -e sched:sched_switch -e cpu-clock/freq=999/ -g -- \
		perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'print $$; clock_gettime(CLOCK_MONOTONIC) for 1 .. 3e6' >tid 3>&-
	timeout -k 5 60 "$FRBPF" why --json -i a.data --tid "$(<tid)" >why.json 2>err || fail "$(<err)"
	same "errors" "$(<err)" ""
	# there was something to look up
	perf_quiet script -i a.data -F ip,sym,dso
	grep -q '\[vdso\]' "$perf_out" || fail "perf has no sample in the vDSO"
}

@test "why explains in one clear sentence what it cannot answer" {
	need_recording
	perf record --no-bpf-event -q -o none.data -e cpu-clock true </dev/null 3>&-
	run -1 frbpf why -i none.data --tid 1
	[[ $output == *"unknown: no sched:sched_switch was recorded"* ]] || fail "$output"
	timeout -k 5 60 perf record --no-bpf-event -q -o a.data -a -e sched:sched_switch true </dev/null 3>&-
	run -1 frbpf why -i a.data --tid 2147483646
	[[ $output == *"unknown: no event of task 2147483646 was recorded"* ]] || fail "$output"
	run -1 frbpf why -i a.data --tid 1 --from 1 --to 2
	[[ $output == *"nothing was recorded in that interval"* ]] || fail "$output"
	run -1 frbpf why -i a.data --tid 1 --from 2 --to 1
	[[ $output == *"ends before it begins"* ]] || fail "$output"
}

@test "why refuses malformed questions" {
	run -1 frbpf why -i a.data
	[[ $output == *"--tid"* ]] || fail "$output"
	run -1 frbpf why --tid 1
	[[ $output == *"need -i"* ]] || fail "$output"
	run -1 frbpf why -i a.data --tid 0
	run -1 frbpf why -i a.data --tid 1 --from 1..2
	[[ $output == *"--from 1..2"* ]] || fail "$output"
	run -1 frbpf why -i missing.data --tid 1
	[[ $output == *"missing.data"* ]] || fail "$output"
	head -c 4096 /dev/urandom >junk.data
	run -1 frbpf why -i junk.data --tid 1
	[[ $output == *"junk.data"* ]] || fail "$output"
}

# A rule without a session
load_lock_rule() {
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		cooldown = 1ms
	EOF2
	frbpf_load >/dev/null
}

# The daemon's result for the incident of `cause NAME`: sets $truth.
record_incident() { # NAME
	load_lock_rule
	truth=$(chrt -r 1 "$WORKLOADS/cause" "$1" 3>&-)
	wait_for_incident "$BASE" "${2-1}"
	frbpf_stop >/dev/null
}

@test "why explains an incident, here and where its files were copied to" {
	need_recording
	need_btf
	record_incident lock-sleep
	run -0 frbpf why
	[[ ${lines[0]} == *"waited for a futex"*"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth"), which meanwhile waited for its own timer"* ]] ||
		fail "$truth: $output"
	verdict=${lines[0]}
	name=$(incidents "$BASE" | head -n 1)
	for what in "$name" lock:last "$BASE/incidents/$name.json" "$BASE" "$BASE/session-evidence/perf.data.$name"; do
		run -0 frbpf why "$what"
		same "why $what" "${lines[0]}" "$verdict"
	done
	# its line in the output of other commands
	run -0 frbpf show
	same "show's second line" "${lines[1]}" "why: $verdict"
	frbpf show --json | jq -e --arg v "$verdict" '.why.verdict == $v and .why.cause == "own-timer"'
	frbpf show | grep -qF "next: $(frbpf show --json | jq -er .why.next)" || fail "$(frbpf show)"
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"1  lock: $verdict, last $name" ]] || fail "$output"
	frbpf ls --causes --json | jq -e --arg n "$name" '.[0].incidents == [$n] and .[0].rule == "lock"'
	# a dump by hand has no cause: why takes the incident before it
	frbpf_load >/dev/null && frbpf dump >/dev/null && frbpf_stop
	run -0 --separate-stderr frbpf why
	[[ ${lines[0]} == "$verdict" && $stderr == *"requested by hand"*"$name" ]] || fail "$output$stderr"
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"1  lock: "* ]] || fail "$output"
	# without the base that the manifest names
	cp -r "$BASE" copy && mv "$BASE" gone && chmod -R a+rX . && chmod 0755 .
	run -0 "$FRBPF" why "copy/incidents/$name.json"
	same "why of the copy" "${lines[0]}" "$verdict"
	# without root, and perhaps without kernel_symbols, as the recorder has ended: the waker is known
	run -0 setpriv --reuid 65534 --clear-groups "$FRBPF" why "copy/incidents/$name.json"
	[[ ${lines[0]} == *"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth")"* ]] || fail "$output"
	# a dump alone has its marker
	cp "copy/session-evidence/perf.data.$name" alone.data
	run -0 "$FRBPF" why alone.data
	[[ ${lines[0]} == *"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth")"* ]] || fail "$output"
	mv gone "$BASE"
}

@test "a program without frame pointers is named by the function that it waits in" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-sleep]
		when = syscall:clock_nanosleep > 40ms
		if   = process == "frameless"
	EOF2
	frbpf_load >/dev/null
	"$WORKLOADS/frameless" 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	run -0 frbpf why
	[[ ${lines[0]} == *"waited for its own timer in frameless_hold ("* ]] || fail "$output"
	# no other task's stack is copied
	perf script -i "$BASE"/session-evidence/perf.data.* -D 2>/dev/null |
		awk '/PERF_RECORD_SAMPLE/ { copied = 0 } /^\.\.\. ustack/ { copied = 1 } copied && /^ \.\.\. thread:/ { print $3 }' |
		sort -u >copied
	same "who has copies" "$(sed 's/:.*//' copied)" frameless
}

@test "a lock that is still held has its owner in the manifest, and why follows it" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = pending(syscall:futex,flock) > 300ms
		if       = comm == "cause" || comm == "flock"
		cooldown = 10s per thread
	EOF2
	frbpf_load >/dev/null
	timeout 20 "$WORKLOADS/cause" --ms 5000 lock-sleep >truth 3>&- &
	suspect=$!
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	wait_until 20 jq -e '.triggers[0].state.waits_for' "$BASE/incidents/$name.json" >/dev/null
	wait "$suspect"
	suspect=
	jq -e --argjson owner "$(jq '.culprits[0]' truth)" '.triggers[0].state.waits_for | .what == "mutex" and .tid == $owner' \
		"$BASE/incidents/$name.json" || fail "$(<truth) $(jq .triggers[0] "$BASE/incidents/$name.json")"
	run -0 frbpf why "$name"
	[[ ${lines[0]} == *"waited for a futex"*", which cause/$(jq '.culprits[0]' truth) holds, which meanwhile waited for its own timer"* ]] ||
		fail "$output"
	frbpf show "$name" | grep -q "waits for  a mutex that cause/$(jq '.culprits[0]' truth) holds" || fail "$(frbpf show "$name")"
	# a file lock, as in /proc/locks
	mkfifo taken
	flock -o locked sh -c 'echo >taken; exec sleep 1000' 3>&- &
	owner=$!
	read -r <taken
	flock locked true 3>&- &
	suspect=$!
	wait_for_incident "$BASE" 2
	name=$(incidents "$BASE" | tail -n 1)
	wait_until 20 jq -e ".triggers[0].state.waits_for | .what == \"file-lock\" and .pid == $owner" \
		"$BASE/incidents/$name.json" || fail "$(jq .triggers[0].state "$BASE/incidents/$name.json") $(cat /proc/locks)"
	frbpf show "$name" | grep -q "waits for  a file-lock that flock/$owner holds" || fail "$(frbpf show "$name")"
	# the dump has it, too, as the kernel saw it when the wait began
	events "$BASE/session-evidence/perf.data.$name" frbpf:lock_wait | grep -q "flock lock=0x.* owner=$owner " ||
		fail "$(events "$BASE/session-evidence/perf.data.$name" frbpf:lock_wait)"
	run -0 frbpf why "$name"
	[[ ${lines[0]} == *"waited for a file lock"*", which flock/$owner holds"* ]] || fail "$output"
	end_suspect
	kill "$(pgrep -P "$owner")"
	wait "$owner" || true
}

explained() { # MANIFEST
	jq -e '.why.verdict' "$1" >/dev/null
}

# Recorded by frbpf 0cd81bc, of November 23, 2026, before it had `why`: cause lock-sleep, without who woke the owner.
@test "why explains a dump of an older version, as far as its events allow" {
	tar -xJf "$BATS_TEST_DIRNAME/data/old-incident.tar.xz" || skip "no tar, or no xz"
	timeout -k 5 60 "$FRBPF" why --json old-incident/incidents/*.json >why.json
	jq -e '.of_ns > 60000000 and (.tree.causes[0] | .type == "waited" and .woken_by == "task" and .waker.tid == 6195 and
		.waker.comm == "cause" and .ns * 100 > 98 * 60000000) and ([.tree.causes[].ns] | add) == .of_ns' why.json || fail "$(<why.json)"
	jq -e '.cause == "unknown" and (.verdict | test("until woken by cause/6195.* unknown: "))' why.json || fail "$(<why.json)"
	# the dump alone gives the same answer
	timeout -k 5 60 "$FRBPF" why --json old-incident/session-sched/perf.data.* >dump.json
	same "of the dump" "$(jq -S 'del(.call)' dump.json)" "$(jq -S 'del(.call)' why.json)"
	run -0 timeout -k 5 60 "$FRBPF" show old-incident/incidents/*.json
	[[ $output == *"fired by rule slow: syscall:futex > 40ms"* && $output == *"until woken by cause/6195"* ]] || fail "$output"
}

@test "the recorder has each incident explained: in the manifest, on the line of ls" {
	need_recording
	need_btf
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	wait_until 30 explained "$BASE/incidents/$(incidents "$BASE" | head -n 1).json" || fail "$(cat "$BASE/output")"
	name=$(incidents "$BASE" | head -n 1)
	verdict=$(jq -r .why.verdict "$BASE/incidents/$name.json")
	[[ $verdict == *"waited for a futex"*"until woken by its owner cause/$(jq '.culprits[0]' truth)"* ]] || fail "$verdict"
	run -0 frbpf ls
	[[ ${#lines[@]} == 1 && ${lines[0]} == "$name  lock: "*"  why: $verdict" ]] || fail "$output"
	# it is what `why` prints for the files
	run -0 frbpf why "$name"
	same "why" "${lines[0]}" "$verdict"
	# a manifest that is written again keeps it
	frbpf_stop >/dev/null
	same "the verdict at the end" "$(jq -r .why.verdict "$BASE/incidents/$name.json")" "$verdict"
}

culprit_is_known() { # MANIFEST
	jq -e '.why.culprit.command' "$1" >/dev/null
}

@test "a culprit of another process that lives has its command line and cgroup in the manifest" {
	local manifest who
	need_recording
	need_btf
	printf '[rule-slow]\nwhen = syscall:read > 200ms\nif = comm == "head"\n' >"$RULES"
	frbpf_load >/dev/null
	mkfifo to never
	bash -c 'exec 5>to 6<>never; read -rt 0.5 -u 6; echo >&5; read -rt 60 -u 6' the-culprit 3>&- &
	suspect=$!
	head -n 1 <to 3>&-
	wait_for_incident "$BASE" 1
	manifest=$BASE/incidents/$(incidents "$BASE" | head -n 1).json
	wait_until 30 culprit_is_known "$manifest" || fail "$(jq .why "$manifest"; cat "$BASE/output")"
	same "process" "$(jq .why.culprit.pid "$manifest")" "$suspect"
	who=$(jq -r '.why.culprit | .command + (if .cgroup then ", in cgroup " + .cgroup else "" end)' "$manifest")
	[[ $who == "bash -c exec 5>to"*" the-culprit"* ]] || fail "$who"
	same "cgroup" "$(jq -r '.why.culprit.cgroup // ""' "$manifest")" "$(sed -n 's/^0:://p' /proc/"$suspect"/cgroup)"
	run -0 frbpf why
	[[ $output == *"     who: bash/$suspect: $who"* ]] || fail "$output"
	run -0 frbpf show
	[[ $output == *"     who: bash/$suspect: $who"* ]] || fail "$output"
}

has_kernel_symbols() { # MANIFEST
	jq -e '.kernel_symbols | length > 10' "$1" >/dev/null
}

# Run a command where neither /proc/kallsyms nor a copy in ~/.debug names functions of the kernel.
without_kernel_names() {
	HOME=/nonexistent unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' - "$@"
}

# Names of the kernel's functions in a dump, from perf: ADDRESS NAME
kernel_names_of() { # DUMP [OPTION...]
	perf script -i "$1" "${@:2}" -F ip,sym 2>/dev/null | awk '$1 ~ /^ffff[0-9a-f]+$/ {print $1, $2}' | sort -u
}

@test "the manifest names the kernel's functions, for why and perf on other machines and without root" {
	local all_but_paths="del(.next)"
	need_recording
	need_btf
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	manifest=$BASE/incidents/$name.json
	wait_until 30 has_kernel_symbols "$manifest" || fail "$(cat "$BASE/output")"
	frbpf_stop >/dev/null
	has_kernel_symbols "$manifest" || fail "written again without the symbols"
	run -0 frbpf why "$name"
	verdict=${lines[0]}
	[[ $verdict == *"waited for a futex"*"its own timer"* ]] || fail "$output"
	frbpf why --json "$name" | jq "$all_but_paths" >here.json
	cp -r "$BASE" copy && chmod -R a+rX . && chmod 0755 .
	without_kernel_names "$FRBPF" why --json "copy/incidents/$name.json" | jq "$all_but_paths" >hidden.json
	same "without kallsyms" "$(<hidden.json)" "$(<here.json)"
	setpriv --reuid 65534 --clear-groups "$FRBPF" why --json "copy/incidents/$name.json" | jq "$all_but_paths" >user.json
	same "without root" "$(<user.json)" "$(<here.json)"
	# also if only the dump and the manifest were copied
	mkdir flat && cp "$manifest" "$BASE/session-evidence/perf.data.$name" flat && mv "$BASE" gone && chmod -R a+rX flat
	for what in "flat/$name.json" "flat/perf.data.$name"; do
		setpriv --reuid 65534 --clear-groups "$FRBPF" why --json "$what" | jq "$all_but_paths" >user.json
		same "of $what" "$(<user.json)" "$(<here.json)"
	done
	# without them the stored verdict is told
	jq 'del(.kernel_symbols)' "gone/incidents/$name.json" >"flat/$name.json"
	run -0 without_kernel_names "$FRBPF" why "flat/$name.json"
	same "first line" "${lines[0]}" "stored verdict: $verdict"
	[[ ${lines[1]} == "Here the kernel's functions have no names"* && ${lines[2]} == *" % of "* ]] || fail "$output"
	without_kernel_names "$FRBPF" why --json "flat/$name.json" |
		jq -e --arg v "$verdict" '.stored.verdict == $v and .verdict != $v' || fail "no stored verdict as JSON"
	run -0 "$FRBPF" why "flat/$name.json"
	same "where they have names" "${lines[0]}" "$verdict"
	mv gone "$BASE"
	# perf takes them, too
	jq -r '.kernel_symbols[]' "$manifest" >kallsyms
	for dump in "$BASE"/session-*/perf.data."$name"; do
		kernel_names_of "$dump" >all
		kernel_names_of "$dump" --kallsyms kallsyms >ours
		[[ $(wc -l <all) -gt 10 ]] || fail "no kernel functions in $dump"
		same "names of perf for $dump" "$(diff all ours)" ""
	done
}

# why fails, but tells what the manifest knows.
expect_known() { # INCIDENT REASON
	run -1 --separate-stderr frbpf why "$1"
	[[ $stderr == *"$2"* ]] || fail "$stderr"
	[[ $output == *"fired by rule lock: syscall:futex > 40ms"*"value"*"subject    cause (pid "* ]] || fail "$output"
	run -1 --separate-stderr frbpf why --json "$1"
	jq -e --arg r "$2" '.schema == 1 and .cause == "unknown" and (.verdict | contains($r)) and .trigger.rule == "lock"' <<<"$output" ||
		fail "$output"
}

@test "an incident without its dumps: why says what is known all the same" {
	need_recording
	need_btf
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	wait_until 30 explained "$BASE/incidents/$name.json" || fail "$(cat "$BASE/output")"
	frbpf_stop >/dev/null
	run -0 frbpf why "$name"
	verdict=${lines[0]}
	rm "$BASE"/session-*/perf.data."$name"
	expect_known "$name" "the incident's dumps are gone"
	same "the stored verdict" "$(jq -r .stored.verdict <<<"$output")" "$verdict"
	run -1 --separate-stderr frbpf why "$name"
	same "the first line" "${lines[0]}" "stored verdict: $verdict"
	# a recorder that was killed before it could explain it
	jq 'del(.why)' "$BASE/incidents/$name.json" >m && mv m "$BASE/incidents/$name.json"
	expect_known "$name" "the incident's dumps are gone"
	jq -e '.stored == null' <<<"$output" || fail "$output"
}

@test "an incident whose window began after the wait: what was not recorded is unknown, the rest is told" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		pre      = 20ms
	EOF2
	frbpf_load >/dev/null
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	run -0 frbpf why
	[[ ${lines[0]} == *"unknown: the recording begins later"* ]] || fail "$output"
	[[ $output == *"waited for a futex in main (futex), until woken by cause/$(jq '.culprits[0]' truth)"*"its own timer"* ]] || fail "$output"
	frbpf why --json | jq -e '.missing == "before" and .unknown_ns < .of_ns and .of_ns > 40000000'
}

@test "an incident whose dump lacks the events: why says which, and what is known all the same" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[session-poor]
		run = -e cpu-clock -F 99 -g --overwrite --switch-output
		[rule-lock]
		when = syscall:futex > 40ms
		if   = comm == "cause"
	EOF2
	frbpf_load >/dev/null
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	expect_known last "no sched:sched_switch was recorded; record -e sched:sched_switch"
}

@test "a task with SCHED_IDLE waits behind all others, though no event says so" {
	need_recording
	need_btf
	cp /bin/sh idle-victim
	cat >job <<-'EOF'
		taskset -c 0 timeout 3 sh -c 'while :; do :; done' &
		exec chrt -i 0 taskset -c 0 ./idle-victim -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
	EOF
	# some machines hide a switch now and then, from perf, too: such a wait is unknown, or not seen
	for _ in {1..8}; do
		rm -rf out
		run timeout -k 5 60 "$FRBPF" run -o out --when 'runqlat > 30ms' --if 'comm == "idle-victim"' -- sh job
		((status == 2)) || continue
		incidents=(out/incidents/*.json)
		((${#incidents[@]} == 1)) || continue
		jq -e '.why.missing == "hidden"' "${incidents[0]}" >/dev/null || break
	done
	same "exit status" "$status" 2
	same "incidents" ${#incidents[@]} 1
	# on a busy machine the verdict names one of many
	jq -e '.why.verdict | test("waited for CPU 0 behind (.*before SCHED_IDLE|[0-9]+ tasks)")' out/incidents/*.json ||
		fail "$(jq .why out/incidents/*.json)"
	run -0 frbpf why out/incidents/*.json
	[[ $output == *"(before SCHED_IDLE)"* && $output != *"same priority"* ]] || fail "$output"
}

@test "a program that has just started has its own name" {
	need_recording
	need_btf
	echo truth >truth
	# the program has no event between its start and the call
	run -2 timeout -k 5 60 "$FRBPF" run -o out --when 'syscall:openat > 1ns' --if 'comm == "cat" && path == "truth"' -- sh -c 'cat truth; true'
	jq -e '.why.verdict | test(": cat/[0-9]+ ")' out/incidents/*.json || fail "$(jq .why out/incidents/*.json)"
}

# The processes that explain incidents, for recorders in this mount namespace.
explainers() {
	local comm
	while read -r comm; do
		[[ ${comm%/*}/ns/mnt -ef /proc/self/ns/mnt ]] && echo "${comm//[!0-9]/}"
	done < <(grep -lsxF frbpf-why /proc/[0-9]*/comm)
	return 0
}

some_explainers() {
	[[ $(explainers) ]]
}

no_explainers() {
	! some_explainers
}

@test "the explaining process ends with its recorder, even with unanswered requests" {
	local -a pids
	need_root
	need_btf
	wait_until 20 no_explainers || skip "another recorder is here"
	write_rules <<-EOF
		[daemon]
		merge = 1ms
		[rule-app]
		when = app:ask
		cooldown = 0s
	EOF
	frbpf_load
	wait_until 20 some_explainers || fail "nobody explains"
	mapfile -t pids < <(explainers)
	kill -STOP "${pids[@]}"
	for n in 1 2 3; do
		frbpf trigger ask 1s
		wait_for_incident "$BASE" "$n"
	done
	kill -KILL "$(daemon_pid)"
	kill -CONT "${pids[@]}"
	wait_until 30 no_explainers || fail "$(ps -o pid,ppid,args -p "$(explainers | paste -sd,)")"
}

@test "frbpf run puts the answer of why into its summary, JUnit and the manifest" {
	need_recording
	need_btf
	run -2 timeout -k 5 60 "$FRBPF" run -o out --when 'syscall:futex > 40ms' -- chrt -r 1 "$WORKLOADS/cause" lock-sleep
	grep -q '^Why: .*waited for a futex' out/summary.md || fail "$(cat out/summary.md)"
	grep -q 'message="[^"]*; why: [^"]*waited for a futex' out/junit.xml || fail "$(cat out/junit.xml)"
	jq -e '.why.verdict | contains("waited for a futex")' out/incidents/*.json
}

@test "frbpf run explains all incidents of a rule, also those that are not the worst" {
	local -a manifests
	need_recording
	need_btf
	cat >two.conf <<-'EOF2'
		[daemon]
		merge = 1ms
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		cooldown = 1ms
	EOF2
	run -2 timeout -k 5 60 "$FRBPF" run -o out --rules two.conf -- chrt -r 1 sh -c \
		"$WORKLOADS/cause lock-sleep; $WORKLOADS/cause lock-sleep; $WORKLOADS/cause lock-sleep"
	manifests=(out/incidents/*.json)
	[[ ${#manifests[@]} -ge 2 ]] || fail "$output"
	for m in "${manifests[@]}"; do
		jq -e '(.why.verdict | contains("waited for a futex")) and (.kernel_symbols | length > 10)' "$m" ||
			fail "$(jq .why "$m")"
	done
}

@test "frbpf run -a records all that why needs" {
	need_recording
	need_btf
	run -2 timeout -k 5 60 "$FRBPF" run -a -o out --when 'syscall:futex > 40ms' --if 'comm == "cause"' --dumps 1 -- \
		chrt -r 1 "$WORKLOADS/cause" lock-sleep
	for event in block:block_rq_issue sched:sched_migrate_task frbpf:lock_wait; do
		perf evlist -i out/session-evidence/perf.data.* | grep -qx "$event" ||
			fail "no $event: $(perf evlist -i out/session-evidence/perf.data.* 2>&1)"
	done
	# the owner of the lock is known by an event that only evidence has
	jq -e '.why.verdict | test("waited for a futex.*until woken by its owner cause/")' out/incidents/*.json ||
		fail "$(jq .why out/incidents/*.json)"
}
