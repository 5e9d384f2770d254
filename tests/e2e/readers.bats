#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every reader of perf.data, on our dumps. It must accept them without a message and find what the workload did. All
# tests only read, so they use the same recording.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

# The line has every field that an option adds to all events.
MEM_LINE='-e page-faults -c 1 -e sched:sched_switch -g -d --phys-data --data-page-size --code-page-size -W --transaction -I --user-regs --all-cgroups'

setup_file() {
	((EUID == 0)) && perf version &>/dev/null && [[ -r /sys/kernel/btf/vmlinux ]] || return 0
	BASE=$BATS_FILE_TMPDIR/base RULES=$BATS_FILE_TMPDIR/rules.conf
	# only the workload is recorded, so that other events do not displace it in the rings
	cat >"$RULES" <<-END
		[session-cpu]
		run = -e cpu-clock -c 100000 -g -m 1M --overwrite -- $WORKLOADS/burn --seconds 0.3

		[session-again]
		run = -e cpu-clock -c 100000 -g -m 1M --overwrite -- $WORKLOADS/burn --seconds 0.2

		[session-mem]
		run = $MEM_LINE -m 1M --overwrite -- $WORKLOADS/burn --seconds 0.05

		[session-kmem]
		run = -e kmem:kmalloc,kmem:kfree,kmem:kmem_cache_alloc,kmem:kmem_cache_free -c 1 -g -m 1M --overwrite -- $WORKLOADS/lock_service --rounds 2

		[session-sys]
		run = -e raw_syscalls:* -m 1M --overwrite -- $WORKLOADS/lock_service --convoy --rounds 2

		[session-sched]
		run = -e sched:sched_switch --filter 'prev_comm == "burn" || next_comm == "burn"' -e sched:sched_wakeup,sched:sched_wakeup_new --filter 'comm == "burn"' -e sched:sched_process_fork,sched:sched_process_exit -g -m 1M --overwrite -a

		[session-lock]
		run = -e lock:contention_begin,lock:contention_end -g -m 256K --overwrite -a
	END
	frbpf_load
	workload burn --seconds 0.2 >/dev/null
	frbpf dump --session sched >/dev/null
	frbpf dump --session lock >/dev/null
	wait_until 60 commands_ended
	frbpf stop
}

commands_ended() {
	[[ $(grep -c 'dumped by hand: the session ends' "$BASE/output") -eq 5 ]]
}

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	BASE=$BATS_FILE_TMPDIR/base
	cd "$BATS_TEST_TMPDIR" || return
}

dump_of() { # SESSION: the last one
	local -a files
	mapfile -t files < <(dumps "$1")
	((${#files[@]})) || fail "no dump of $1"
	echo "${files[-1]}"
}

# has PATTERN: in the output of perf
has() {
	grep -qE -- "$1" "$perf_out" || fail "perf has no '$1': $(head -c 2000 "$perf_out")"
}

@test "perf script: the stack of the workload, the marker between its samples" {
	perf_quiet script -i "$(dump_of cpu)"
	has '^ *burn +[0-9]+ +\[[0-9]+\] +[0-9.]+: +100000 +cpu-clock:'
	has 'frbpf:trigger: '
	perf_quiet script -i "$(dump_of cpu)" -F comm,ip,sym
	awk '/burn_inner$/ {getline a; getline b; if (a ~ /burn_middle$/ && b ~ /burn_outer$/) n++} END {exit !n}' \
		"$perf_out"
}

@test "perf script: scripts in Python get every sample" {
	perf version --build-options | grep -q 'libpython: \[ on' || skip "this perf has no Python"
	cat >count.py <<-'END'
		n = 0
		def process_event(event):
		    global n
		    n += 1
		def trace_unhandled(name, context, fields, sample):
		    process_event(None)
		def trace_end():
		    print(n)
	END
	perf_quiet script -i "$(dump_of cpu)" -F event
	count=$(grep -c . "$perf_out")
	perf_quiet script -i "$(dump_of cpu)" -s count.py
	same "samples" "$(cat "$perf_out")" "$count"
}

# perf refuses to print a field if one event of the file lacks it.
@test "perf script and report: fields that options add, also in the marker and after a merge" {
	local field file
	frbpf merge -o merged "$(dump_of mem)"
	for file in "$(dump_of mem)" merged; do
		for field in addr phys_addr data_page_size code_page_size weight data_src brstack iregs uregs; do
			perf_quiet script -F "comm,event,$field" -i "$file"
			has ' page-faults:'
			has '^ *frbpf +frbpf:trigger:'
		done
		perf_quiet report --stdio --no-children -g none \
			--mem-mode --sort mem,symbol_daddr,dso_daddr,phys_daddr,data_page_size -i "$file"
		has 'N/A'
		perf_quiet report --stdio --no-children -g none --sort comm,weight,code_page_size,transaction,cgroup \
			-i "$file"
		has ' burn '
	done
	perf_quiet script -F comm,event,addr -i "$(dump_of mem)"
	grep -E '^ *burn +page-faults:' "$perf_out" | grep -qvE ' 0$' || fail "no address: $(head -n 20 "$perf_out")"
}

@test "perf report: by command, by function, by CPU" {
	perf_quiet report --stdio --no-children -g none --sort comm,sym,cpu -i "$(dump_of cpu)"
	has ' burn +\[\.\] burn_inner'
	perf_quiet report --stdio --children -g caller --comm burn -i "$(dump_of cpu)"
	has 'burn_outer'
}

@test "perf annotate: the workload's loop has the samples" {
	command -v objdump >/dev/null || skip "no objdump"
	perf_quiet annotate --stdio --stdio-color never -i "$(dump_of cpu)" burn_inner
	has 'Percent'
	awk '$1 + 0 > 5 {n++} END {exit !n}' "$perf_out" || fail "no line has samples: $(cat "$perf_out")"
}

@test "perf sched: latency, timehist, map" {
	perf_quiet sched latency -i "$(dump_of sched)"
	has '^ *burn:[(0-9]'
	perf_quiet sched timehist -i "$(dump_of sched)"
	has ' burn\['
	perf_quiet sched timehist -s -i "$(dump_of sched)"
	has '^ *burn\[[0-9]+\]'
	perf_quiet sched map -i "$(dump_of sched)"
	has '=> .*burn:'
}

@test "perf timechart: a picture with the workload in it" {
	run -0 timeout -k 5 60 perf timechart -i "$(dump_of sched)" -o chart.svg
	grep -q 'burn' chart.svg || fail "no burn in the chart"
}

@test "perf trace: system calls with their times" {
	perf_quiet trace -i "$(dump_of sys)" -o "$perf_out"
	has '\( *[0-9.]+ ms\): lock_service/[0-9]+ openat\('
	perf_quiet trace -s -i "$(dump_of sys)" -o "$perf_out"
	has '^ lock_service \([0-9]+\), [0-9]+ events'
}

@test "perf kmem: allocations by caller" {
	perf_quiet kmem --caller -i "$(dump_of kmem)" stat
	has 'Total bytes requested: [1-9]'
	has 'Callsite'
}

@test "perf lock: contention of the workload's locks" {
	perf lock contention -h 2>&1 | grep -q 'perf lock contention' || skip "no perf lock contention"
	run -0 timeout -k 5 60 perf lock contention -i "$(dump_of lock)" # prints to standard error
	[[ $output == *contended*'total wait'* ]] || fail "$output"
}

@test "perf inject: build ids in the stream, and no sample is lost" {
	perf_quiet inject -b -i "$(dump_of cpu)" -o injected
	perf_quiet script -i injected -F comm,tid,cpu,time,event
	cp "$perf_out" got
	perf_quiet script -i "$(dump_of cpu)" -F comm,tid,cpu,time,event
	cmp got "$perf_out"
	perf_quiet inject -s -i "$(dump_of sched)" -o merged
	perf_quiet evlist -i merged
	has '^sched:sched_switch'
}

@test "perf diff: two dumps" {
	perf_quiet diff --comms burn "$(dump_of cpu)" "$(dump_of again)"
	has 'burn_inner'
}

@test "perf archive: the files of a dump, by build id" {
	HOME=$BATS_TEST_TMPDIR perf buildid-cache -a "$WORKLOADS/burn" 2>/dev/null
	cp "$(dump_of cpu)" perf.data
	HOME=$BATS_TEST_TMPDIR timeout -k 5 60 perf archive perf.data >said 2>&1 || fail "$(cat said)"
	tar -tf perf.data.tar.* | grep -q 'workloads/burn/\|\.build-id/' || fail "$(tar -tf perf.data.tar.*)"
}

@test "perf data convert, evlist, buildid-list, script --header-only" {
	perf_quiet data convert --to-json out.json -i "$(dump_of cpu)"
	jq -e '.samples | length > 10' out.json >/dev/null
	perf_quiet evlist -v -i "$(dump_of kmem)"
	has '^kmem:kmalloc: type: 2'
	perf_quiet buildid-list -i "$(dump_of cpu)"
	has '^[0-9a-f]{40} .*/burn$'
	perf_quiet script --header-only -i "$(dump_of cpu)"
	has '^# perf version : [0-9]+\.'
}

@test "FlameGraph's stackcollapse-perf.pl: the workload's stack in one line" {
	command -v stackcollapse-perf.pl >/dev/null || skip "no stackcollapse-perf.pl"
	perf_quiet script -i "$(dump_of cpu)"
	stackcollapse-perf.pl "$perf_out" >folded 2>err
	[[ ! -s err ]] || fail "$(cat err)"
	grep -qE '^burn;.*burn_outer;burn_middle;burn_inner [0-9]+$' folded || fail "$(head -5 folded)"
}

@test "hotspot: its parser names the workload's functions" {
	local parser
	parser=$(compgen -G '/usr/lib/*/libexec/hotspot-perfparser') || skip "no hotspot-perfparser"
	timeout -k 5 120 "$parser" --input "$(dump_of cpu)" --output parsed 2>err || fail "$(tail -5 err)"
	head -c 11 parsed | grep -qax QPERFSTREAM || fail "it wrote no stream: $(tail -5 err)"
	for name in burn_inner burn_middle burn_outer frbpf:trigger; do
		grep -qa "$name" parsed || fail "no $name in what it parsed"
	done
}
