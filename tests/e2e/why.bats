#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf why: perf records known causes, and frbpf must answer with them.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034 # set by bats and the helpers; every test is a subshell
# with: others
load helpers
load why_helpers

# On some virtual machines, perf writes no events in the context of some tasks. Succeeds if why misses a wake-up, and
# perf script shows no wake-up of a culprit either.
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

# expect_right FILE TRUTH: the answer to each line of TRUTH must be right
expect_right() {
	local line got bad=
	while read -r line; do
		got=$(judge "$1" "$line") || got=failed
		[[ $got != unknown ]] || ! lacks_wakeup "$1" "$line" || continue
		[[ $got == right ]] || bad+="$got: $line"$'\n'"$(why_of "$1" "$line" 2>&1 | head -n 8)"$'\n'
	done <"$2"
	[[ ! $bad ]] || fail "$bad"
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

# Records causes that some machines cannot provoke. Those that were provoked must be explained right, and there must be
# at least one.
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
	timeout -k 5 60 perf record -q -k CLOCK_MONOTONIC -o a.data -m 8M -a -e sched:sched_switch \
		-e sched:sched_waking \
		-e compaction:mm_compaction_begin -e compaction:mm_compaction_end -- \
		sh -c 'echo $$ >tid; echo 1 >/proc/sys/vm/compact_memory' </dev/null 3>&-
	"$FRBPF" why -i a.data --tid "$(<tid)" --json >answer
	jq -e '.tree.causes[] | select(.type == "compaction") | .ns > 0' answer || fail "$(<answer)"
}

# Softirqs must take at least a twentieth of the time. How much they take depends on the machine.
softirqs_took_time() { # DUMP
	why_of "$1" "$(<truth)" --json >answer
	jq -e '([.tree.causes[] | select(.type == "interrupted" and .softirq) | .ns] | add) * 20 > .of_ns' answer ||
		fail "$(<answer)"
}

@test "softirqs are found by the sums that a BPF program writes, and by each single event" {
	need_recording
	need_btf
	for level in "" full; do
		printf '[session-evidence]\nrun = evidence %s -m 16M\n[rule-none]\nwhen = app:none\n' "$level" >"$RULES"
		frbpf_load >/dev/null
		# on a busy machine, the rings may have only later events when the dump is taken: try again
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
		[[ $level && ! $output ]] || [[ ! $level && $output == *"softirq="*" times="* ]] ||
			fail "level $level: ${output:0:1000}"
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
	make_cpu_groups
	[[ $quota_group ]] || skip "no cgroup with a CPU controller"
}

@test "why distinguishes a CPU quota from other tasks on the CPU" {
	need_recording
	need_quota
	record_causes a.data truth quota
	expect_right a.data truth
	# the timer tells when the task had a quota again
	why_of a.data "$(<truth)" --json | jq -e '[.tree.causes[] | select(.type == "throttled")] | length == 1'
}

# Records an incident of a task whose quota is used up. The sessions come on standard input.
record_throttled() {
	need_recording
	need_btf
	need_quota
	{ cat; printf '[rule-late]\nwhen = runqlat > 40ms\nif = comm == "cause"\n'; } >"$RULES"
	frbpf_load >/dev/null
	# shellcheck disable=SC2016 # of the inner shell
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" --ms 60000 quota' - "$quota_group" "$WORKLOADS/cause" \
		>/dev/null 3>&- &
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

@test "a quota that was used up earlier proves nothing: a stack or the timer does" {
	record_throttled <<-'EOF2'
		[session-why]
		run = -e sched:sched_switch -e sched:sched_waking -g -m 4M --overwrite --switch-output -a

	EOF2
	frbpf why --json >why.json
	want='.cause == "unknown" and .missing == "quota"'
	# from 6.18 on, a preemptible kernel has a stack that proves it
	perf_quiet script -F ip,sym -i "$BASE"/session-why/perf.data.*
	! grep -q throttle_cfs_rq_work "$perf_out" || want='.cause == "quota" and .culprit.comm == "cause"'
	jq -e "$want" why.json || fail "$(jq -r .verdict why.json)"
	forget_state
	frbpf why --json | jq -e "$want" || fail "$(frbpf why)"
}

@test "run = evidence has the timer that refills a CPU quota" {
	record_throttled </dev/null
	forget_state
	frbpf why --json >why.json
	jq -e '.cause == "quota" and .culprit.comm == "cause"' why.json || fail "$(jq -r .verdict why.json)"
	# the session has no other timer
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
	# the children of the root, and of each wait whose waker is followed, add up
	jq -e '[.. | objects | select(.causes and (.causes | length) > 0) | .ns - ([.causes[].ns] | add)] | all(. == 0)' \
		why.json
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
	# the last line of the terminal is left for the prompt
	(($(fold -w 80 short | wc -l) < 10)) || fail "$(<short)"
	(($(fold -w 80 all | wc -l) > 10)) || fail "$(<all)"
	grep -q 'smaller: -v shows them$' short || fail "$(<short)"
}

@test "without sched_waking why says that the waker is unknown, and which event to record" {
	local line
	need_recording
	# with -F, only some of the switches would be recorded
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
	timeout -k 5 60 perf sched record -k CLOCK_MONOTONIC -o a.data -- "$WORKLOADS/cause" server >truth 2>perf.err \
		</dev/null 3>&- ||
		fail "$(cat perf.err)"
	line=$(<truth)
	# this file has no stacks: the waker is known, the reason for the wait is not
	run -0 why_of a.data "$line"
	[[ ${lines[0]} == *" waited, until woken by cause/$(jq '.culprits[0]' <<<"$line"), "* ]] || fail "$output"
	chmod 0755 . && chmod 0644 a.data
	run -0 setpriv --reuid 65534 --clear-groups "$FRBPF" why -i a.data --tid "$(jq .subject <<<"$line")"
}

@test "the sandbox refuses nothing that is needed to name functions of the vDSO" {
	need_recording
	perf record -q -k CLOCK_MONOTONIC -o a.data -m 4M -a -e sched:sched_switch -e cpu-clock/freq=999/ -g -- \
		perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC \
		-e 'print $$; clock_gettime(CLOCK_MONOTONIC) for 1 .. 3e6' >tid 3>&-
	timeout -k 5 60 "$FRBPF" why --json -i a.data --tid "$(<tid)" >why.json 2>err || fail "$(<err)"
	same "errors" "$(<err)" ""
	# make sure that there was something to look up
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
