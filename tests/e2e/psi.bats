#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# psi: the kernel's pressure stall triggers, with real pressure.

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	cat /proc/pressure/cpu >/dev/null 2>&1 || skip "no PSI: /proc/pressure"
	common_setup
	group='' pids=()
}

teardown() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	common_teardown
	[[ ! $group ]] || remove_group
}

total() { # FILE KIND: us
	sed -n "s/^$2 .*total=//p" "$1"
}

remove_group() {
	local pid
	while read -r pid; do
		kill -KILL "$pid" 2>/dev/null || true
	done <"$group/cgroup.procs" 2>/dev/null || true
	wait_until 20 rmdir "$group" 2>/dev/null
}

has_fired() { # RULE N
	(($(status_of "$1" .fired) >= $2))
}

# The value must not exceed the growth of total=, or the threshold if that is larger. The kernel reported that the
# threshold was reached. On a busy machine, it may do so before total= has grown as much.
no_more_than_counted() { # VALUE COUNTED THRESHOLD: ns
	between "$1" 0 $(($2 > $3 ? $2 : $3)) "the value, beside total="
}

# Runs more threads than there are CPUs for SECONDS, in the cgroup if there is one. They wait for each other. With
# SCHED_IDLE, they take no CPU time from others.
hog() { # SECONDS
	(
		[[ ! $group ]] || echo "$BASHPID" >"$group/cgroup.procs"
		exec chrt -i 0 "$WORKLOADS/burn" --seconds "$1" --threads $(($(nproc) * 3)) 3>&- >/dev/null
	) &
	pids+=("$!")
}

@test "cpu pressure fires, with the stall that the kernel counted and without a subject" {
	local before after name value
	write_rules <<-'EOF'
		[rule-cpu]
		when = psi:cpu some > 300ms in 2s
		cooldown = 0
	EOF
	before=$(total /proc/pressure/cpu some)
	frbpf_load
	hog 60
	wait_for_incident "$BASE" 1
	after=$(total /proc/pressure/cpu some)
	name=$(incidents "$BASE" | head -n 1)
	value=$(manifest "$name" value)
	same source "$(manifest "$name" source)" psi
	same threshold "$(manifest "$name" threshold)" 300000000
	between "$value" 300000000 2000000000 "the value"
	no_more_than_counted "$value" $(((after - before) * 1000)) 300000000
	same subject "$(jq -c '.triggers[0].subject | [.pid, .comm]' "$BASE/incidents/$name.json")" '[0,""]'
	same triggers "$(events "$(dumps sched | head -n 1)" frbpf:trigger | wc -l)" 1
	# a stall has no single begin, so the dump has no begin marker
	same begins "$(events "$(dumps sched | head -n 1)" frbpf:begin | wc -l)" 0
	# nearly all of the next window is a stall
	wait_until 35 has_fired cpu 3
	between "$(status_of cpu .max_value_ns)" 1000000000 2000000000 "the largest"
	run -0 frbpf show "$name"
	[[ $output != *subject* ]]
}

@test "memory pressure of a cgroup at its limit fires" {
	local v1 name value before after
	v1=$(findmnt -n -o TARGET -t cgroup -O memory | head -n 1) || true
	group=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
	if [[ $v1 ]]; then
		group=$v1/frbpf-$$
		mkdir "$group" || skip "no memory cgroup to be had"
		echo 16M >"$group/memory.limit_in_bytes"
	else
		[[ $group ]] || skip "no cgroup file system"
		group+=/frbpf-$$
		mkdir "$group" || skip "no cgroup to be had"
		[[ -e $group/memory.high ]] || skip "the memory controller is not enabled for cgroups"
		echo 16M >"$group/memory.high"
	fi
	write_rules <<-'EOF'
		[rule-memory]
		when = psi:memory some > 10ms in 2s
		cooldown = 0
	EOF
	before=$(total /proc/pressure/memory some)
	frbpf_load
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=1M count=64 2>/dev/null
		for ((i = 0; i < 400; i++)); do
			dd if="$BATS_TEST_TMPDIR/file" of=/dev/null bs=1M 2>/dev/null
		done
	) 3>&- &
	pids+=("$!")
	wait_for_incident "$BASE" 1
	after=$(total /proc/pressure/memory some)
	name=$(incidents "$BASE" | head -n 1)
	same rule "$(manifest "$name" rule)" memory
	value=$(manifest "$name" value)
	((value >= 10000000)) || fail "value: $value"
	no_more_than_counted "$value" $(((after - before) * 1000)) 10000000
}

# The daemon has closed the file, which was removed, so it reads no more triggers from it.
has_closed() { # FILE
	[[ ! $(find "/proc/$(daemon_pid)/fd" -lname "$1*") ]]
}

@test "a cgroup may come later, be removed, and come again" {
	local mount path fired
	mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
	[[ $mount && -e $mount/cpu.pressure ]] || skip "no pressure of cgroups (v2)"
	path=/frbpf-psi-$$
	write_rules <<-EOF
		[rule-group]
		when = psi:cpu some > 100ms in 2s of $path
		cooldown = 0
	EOF
	frbpf_load
	group=$mount$path
	for _ in 1 2; do
		fired=$(status_of group .fired)
		mkdir "$group"
		hog 60
		wait_until 20 has_fired group $((fired + 1))
		remove_group
		wait_until 20 has_closed "$group/cpu.pressure"
		between $(($(status_of group .fired) - fired)) 1 20 fired
	done
	[[ $(daemon_pid) ]]
	group=''
}

@test "windows that need a privilege, and resources that the kernel lacks, are refused with a message" {
	write_rules <<-'EOF'
		[rule-cpu]
		when = psi:cpu some > 100ms in 3s
	EOF
	run -1 --separate-stderr timeout 30 setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
		"$FRBPF" load "$RULES" --base "$BASE" 3>&-
	[[ $stderr == *"window of 3s"*"CAP_SYS_RESOURCE"*"multiples of 2s"* ||
		$stderr == *"this kernel requires CAP_SYS_RESOURCE"* ]] || fail "$stderr"
	[[ $stderr == *"$RULES:"*": error: "*"^^^"* ]] || fail "$stderr"
	no_daemon
	# check refuses them, too, before anything is loaded
	run -1 --separate-stderr timeout 30 setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
		"$FRBPF" check "$RULES" 3>&-
	[[ $stderr == *"$RULES:"*": error: "*"CAP_SYS_RESOURCE"* ]] || fail "$stderr"
	sed -i 's/in 3s/in 2s/' "$RULES"
	# shellcheck disable=SC2016 # of the inner shell
	run -1 --separate-stderr timeout 30 unshare -m sh -c 'mount -t tmpfs none /proc/pressure && exec "$@"' - \
		"$FRBPF" load "$RULES" --base "$BASE" 3>&-
	[[ $stderr == *"reports no pressure of cpu: there is no /proc/pressure/cpu"* ]] || fail "$stderr"
	no_daemon
	write_rules <<-'EOF'
		[rule-none]
		when = psi:cpu some > 100ms in 2s of /frbpf/../x
	EOF
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"a cgroup is a path"*"^^^"* ]]
}

stays_asleep() { # TASK
	local switches
	switches=$(grep ctxt_switches "$1/status")
	sleep 1.5 # a fixed time, because the test is that no event comes
	[[ $(grep ctxt_switches "$1/status") == "$switches" ]]
}

@test "without pressure the thread that waits for it does not run" {
	local task switches pid
	write_rules <<-'EOF'
		[rule-io]
		when = psi:io full > 10s in 10s
	EOF
	frbpf_load
	pid=$(daemon_pid)
	task=$(grep -lx frbpf-listen "/proc/$pid/task/"*/comm) || fail "no frbpf-listen"
	task=${task%/comm}
	wait_until 20 stays_asleep "$task" || fail "it runs again and again: $(cat "$task/status")"
}
