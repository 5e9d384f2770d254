#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What the recorder cannot do without each of the capabilities that it keeps. It needs all of them.
# with: others

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	open_dir=$(mktemp -d /tmp/frbpf-capabilities.XXXXXX)
	program=$open_dir/theirs/program
	victim=
	taker=
	mkdir "$open_dir/theirs"
	chmod 755 "$open_dir"
	group=
}

teardown() {
	[[ ! $victim ]] || kill "$victim"
	[[ ! $taker ]] || kill "$taker"
	common_teardown
	[[ ! $group ]] || rmdir "$group"
	rm -rf "$open_dir"
}

without() { # CAPABILITY COMMAND...
	timeout -k 5 120 setpriv --bounding-set "-$1" --inh-caps "-$1" "$FRBPF" "$2" --base "$BASE" "${@:3}" \
		</dev/null 3>&-
}

# Starts the dynamic loader with a program that only its owner can read, before the recorder starts. The program is then
# a mapped file, not the executable. A line to descriptor 7 makes it call a function that does not return.
start_victim() {
	local loader
	loader=$(ldd "$WORKLOADS/user_func" | grep -o '/[^ ]*ld-[^ ]*')
	cp "$WORKLOADS/user_func" "$program"
	chown -R 65534:65534 "$open_dir/theirs"
	chmod 500 "$program"
	mkfifo "$BATS_TEST_TMPDIR/say"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$loader" "$program" --ms 600000 --wait \
		<"$BATS_TEST_TMPDIR/say" >/dev/null 3>&- &
	victim=$!
	exec 7>"$BATS_TEST_TMPDIR/say"
	wait_until 10 grep -q "$program" "/proc/$victim/maps"
	write_rules <<-EOF
		[rule-hit]
		when = uprobe:$program:user_func_slow

		[rule-hang]
		when = pending(offcpu) > 50ms
		if = uid == 65534 && comm ~ "ld-*"

		[daemon]
		merge = 0
	EOF
}

# Removes the program's file, and lets the program hit the probe and then sleep. Sets $user and $waits_in to the
# function and the system call that the manifests name. Sets $kernel to how often perf names a kernel function.
hit_victim() {
	local hit hang
	rm "$program"
	echo >&7
	wait_for_incident "$BASE" 2
	hit=$(of_rule hit)
	hang=$(of_rule hang)
	named "$hit"
	user=$(jq -r '.triggers[0].stacks.user[0] | "\(.module) \(.symbol)"' "$hit")
	wait_until 20 jq -e '.triggers[0].state.policy' "$hang" >/dev/null || fail "no state: $(cat "$hang")"
	waits_in=$(jq -r .triggers[0].state.waits_in.syscall "$hang")
	kernel=$(perf script -i "$(dumps sched | head -n 1)" -F ip,sym 2>/dev/null | grep -c ' __schedule$') || true
}

of_rule() { # RULE: its manifest
	grep -l "\"rule\": *\"$1\"" "$BASE"/incidents/*.json || fail "no incident of $1"
}

@test "with all capabilities: names in a deleted program of another user, and in the kernel" {
	start_victim
	# take_events loads a BPF program. frbpf-admin opens that program; without CAP_SYSLOG the kernel hides its
	# address.
	"$WORKLOADS/take_events" "$(</sys/kernel/tracing/events/oom/mark_victim/id)" >"$BATS_TEST_TMPDIR/taker" 3>&- &
	taker=$!
	wait_until 10 grep -q id "$BATS_TEST_TMPDIR/taker"
	run -0 frbpf_load
	[[ $output != *'recording without'* ]] || fail "$output"
	hit_victim
	same "the function" "$user" "$program user_func_slow"
	same "where it sleeps" "$waits_in" clock_nanosleep
	[[ $kernel != 0 ]]
	perf script --show-bpf-events -i "$(dumps sched | head -n 1)" >"$perf_out" 2>/dev/null
	grep -q 'PERF_RECORD_KSYMBOL addr .* name bpf_prog_.*_takes_events' "$perf_out" ||
		fail "no address of a BPF program"
	frbpf status --json | jq -e .triggers.realtime >/dev/null || fail "not in real time"
}

@test "without CAP_SYS_PTRACE: it is unknown where a task of another user waits" {
	start_victim
	run -0 without sys_ptrace load "$RULES"
	[[ $output == *"recording without CAP_SYS_PTRACE (the maps of other users' processes)"* ]] || fail "$output"
	hit_victim
	same "the function" "${user#* }" null
	same "where it sleeps" "$waits_in" null
	# before Linux 6.15 the maps of that task are missing, too
}

@test "without CAP_CHECKPOINT_RESTORE: no functions of a deleted file" {
	start_victim
	run -0 without checkpoint_restore load "$RULES"
	[[ $output == *"recording without CAP_CHECKPOINT_RESTORE (functions of programs whose file was replaced or removed)"* ]] ||
		fail "$output"
	hit_victim
	same "the function" "$user" "$program null"
}

@test "without CAP_SYSLOG and CAP_SYS_NICE: no names of the kernel, no real time" {
	start_victim
	run -0 without syslog,-sys_nice load "$RULES"
	[[ $output == *"recording without CAP_SYSLOG ("*"CAP_SYS_NICE ("* ]] || fail "$output"
	hit_victim
	same "the function" "$user" "$program user_func_slow"
	same "names of the kernel" "$kernel" 0
	frbpf status --json | jq -e '.triggers.realtime == false' >/dev/null || fail "in real time"
}

@test "without CAP_DAC_READ_SEARCH and CAP_DAC_OVERRIDE: no file that only its owner may open" {
	start_victim
	run -1 without dac_read_search,-dac_override load "$RULES"
	[[ $output == *"$program cannot be opened: not allowed"* ]] || fail "$output"
	# a running daemon cannot open the file on a reload either
	sed '/rule-hit/,$d' "$RULES" >"$RULES.plain"
	run -0 without dac_read_search,-dac_override load "$RULES.plain"
	run -1 frbpf_load
	[[ $output == *"$program cannot be opened: not allowed"* ]] || fail "$output"
}

@test "without CAP_DAC_OVERRIDE: no pressure of a cgroup that others manage" {
	local mount
	mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
	[[ $mount && -e $mount/cpu.pressure ]] || skip "no cgroup file system with pressure"
	group=$mount/frbpf-$$
	mkdir "$group"
	chown 65534 "$group"/*.pressure
	write_rules <<-EOF
		[rule-group]
		when = psi:cpu some > 100ms in 2s of ${group#"$mount"}
	EOF
	run -0 frbpf_load
	frbpf_stop
	run -1 without dac_override load "$RULES"
	[[ $output == *"which takes CAP_DAC_OVERRIDE"* ]] || fail "$output"
}

@test "without CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON or CAP_IPC_LOCK: an error that names it" {
	start_victim
	run -1 without sys_admin load "$RULES"
	[[ $output == *"uprobe and usdt rules also need CAP_SYS_ADMIN"* ]] || fail "$output"
	write_rules <<-'EOF'
		[rule-a]
		when = reclaim > 1h
	EOF
	run -1 without bpf load "$RULES"
	[[ $output == *"CAP_BPF"* ]] || fail "$output"
	run -1 without perfmon load "$RULES"
	[[ $output == *"CAP_PERFMON"* ]] || fail "$output"
	sed -i 's/-m 1M/-m 4M/' "$RULES"
	run -1 without ipc_lock load "$RULES"
	[[ $output == *"grant CAP_IPC_LOCK"* ]] || fail "$output"
}
