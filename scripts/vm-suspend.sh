#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the effect of a suspend to memory on a recorder. Run it only on a machine that may be suspended, such as the one
# of scripts/vm-test.sh.
#
#	scripts/vm-test.sh -- scripts/vm-suspend.sh
#
# With /sys/power/pm_test, the kernel does all but the last step, waits 5 s, and comes back. Devices and clocks are
# suspended, and all CPUs but the first go offline. The root file system of that machine does not survive this, so the
# programs needed here run from memory.
set -eu
programs=(bash cat cp date dirname grep jq ls mkdir sleep sed tail taskset timeout true)
root=/tmp/frbpf-suspend

copy_to_memory() { # FILE
	local dir
	dir=$(readlink -f "$(dirname "$1")")
	mkdir -p "$root$dir"
	cp -nL "$1" "$root$dir"
}

copy_programs() {
	local program path
	for program in "$FRBPF" "${programs[@]}"; do
		path=$(type -P "$program")
		copy_to_memory "$path"
		ldd "$path" | grep -o '/[^ ]*' | while read -r library; do copy_to_memory "$library"; done
	done
	for link in bin lib lib64; do
		[[ -e $root/$link ]] || ln -s "usr/$link" "$root/$link"
	done
	cp "$FRBPF" "$root/frbpf"
	cp "$(type -P true)" "$root/frbpf-hot"
	cp "$0" "$root/test"
}

if [[ ${1-} != inside ]]; then
	grep -q core /sys/power/pm_test || { echo "vm-suspend: this kernel has no pm_test" >&2; exit 1; }
	mkdir -p "$root"/{dev,proc,run,sys,tmp}
	read -r _ status </run/lines
	copy_programs
	for dir in dev proc sys; do
		mount --rbind "/$dir" "$root/$dir"
	done
	exec chroot "$root" /usr/bin/bash /test inside "$status"
fi

# --- from here on, everything runs from memory

# Ends the machine without the usual programs, which are on the lost file system.
power_off() {
	local status=$?
	sleep 1 # for the rest of the output
	echo "$status" >"/dev/$status_line"
	echo o >/proc/sysrq-trigger
	sleep 60
}
status_line=$2
trap power_off EXIT

base=/run/frbpf
export FRBPF_BASE=$base

fail() { # MESSAGE
	echo "not ok: $1" >&2
	tail "$base/output" >&2
	exit 1
}

find_incidents() {
	shopt -s nullglob
	incidents=("$base"/incidents/*.json)
}

# Runs the victim on CPU 1. This must make incident NUMBER, with the event in the ring of that CPU.
check_recorded() { # NUMBER
	local manifest of_cpu
	timeout 60 taskset -c 1 /frbpf-hot
	for _ in {1..300}; do
		find_incidents
		((${#incidents[@]} < $1)) || break
		sleep 0.1
	done
	((${#incidents[@]} == $1)) || fail "${#incidents[@]} incidents instead of $1"
	manifest=${incidents[-1]}
	of_cpu=$(jq -c '.sessions[0].cpus[] | select(.cpu == 1) |
		[.records, .absent_ns // 0, .incomplete // false]' "$manifest")
	echo "# incident $1: suspends $(jq -c '[.suspended[]?.length_ns]' "$manifest")," \
		"CPU 1: records, absent ns, incomplete: $of_cpu"
	jq -e '.triggers[0].cpu == 1 and any(.sessions[0].cpus[]; .cpu == 1 and .records > 0)' "$manifest" >/dev/null ||
		fail "CPU 1 is not recorded: $manifest"
	if (($1 > 1)); then
		jq -e 'any(.suspended[]?; .length_ns > 0)' "$manifest" >/dev/null || fail "no suspend in $manifest"
		jq -e 'any(.sessions[0].cpus[]; .cpu == 1 and .absent_ns > 0 and .incomplete)' "$manifest" >/dev/null ||
			fail "$manifest does not say that CPU 1 was offline"
	fi
}

mkdir -p $base
cat >/tmp/rules.conf <<-E
	[session-exec]
	run = -e sched:sched_process_exec -m 1M --overwrite --switch-output -a

	[rule-fields]
	when = sched:sched_process_exec
	if = filename ~ "*/frbpf-hot"
	cooldown = 0
	# in an emulated machine, a CPU may stop in the middle of an event
	post = 1s

	[rule-syscall]
	when = syscall:clock_nanosleep > 20s
E
/frbpf load /tmp/rules.conf
check_recorded 1
echo core >/sys/power/pm_test
for i in 2 3; do
	echo mem >/sys/power/state || fail "the machine cannot be suspended"
	sleep 1 # the recorder follows a CPU within a second
	check_recorded "$i"
done
/frbpf ls
find_incidents
((${#incidents[@]} == 3)) || fail "other incidents than the three"
/frbpf stop
echo "ok"
