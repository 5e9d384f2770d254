#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Shows frbpf on this machine in about ten seconds. Loads configs/quickstart.conf, makes one task wait 80 ms for a CPU,
# and prints what the recorder saved by itself.
#
#	sudo make quickstart [KEEP=DIR]		KEEP: copy the dumps to DIR, which must not exist
set -u
cd "$(dirname "$0")/.." || exit 1

frbpf=./frbpf
workloads=.output/tests/workloads
rules=configs/quickstart.conf
spike_ms=80
base=
keep=${KEEP-}
step=0 steps=5

fail() { # MESSAGE...
	printf 'quickstart: %s\n' "$@" >&2
	exit 1
}

step() { # TEXT
	((++step))
	printf '\n[%d/%d] %s\n' $step $steps "$1"
}

indent() {
	sed 's/^/      /'
}

cleanup() {
	[[ $base ]] || return
	if [[ -e $base/base/lock ]]; then
		timeout -k 5 20 "$frbpf" stop --base "$base/base" >/dev/null 2>&1
	fi
	rm -rf "$base"
}

check_machine() {
	((EUID == 0)) || fail "needs root, to record all CPUs and to load BPF programs:" \
		"    sudo make quickstart"
	[[ -x $frbpf && -x $workloads/runq_spike ]] || fail "not built yet: make all workloads"
	[[ -r /sys/kernel/btf/vmlinux ]] ||
		fail "this kernel has no BTF (/sys/kernel/btf/vmlinux), which the rules need:" \
			"    boot one with CONFIG_DEBUG_INFO_BTF=y, as all current distributions have"
	perf version >/dev/null 2>&1 ||
		fail "no perf for this kernel, to show the dump with: scripts/deps.sh installs it"
	[[ ! $keep || ! -e $keep ]] || fail "$keep exists already: choose another KEEP"
}

first_incident() {
	local file
	for file in "$base"/base/incidents/*.json; do
		[[ -e $file ]] && basename "$file" .json && return
	done
	return 1
}

wait_for_incident() {
	local i
	for ((i = 0; i < 150; i++)); do
		incident=$(first_incident) && return
		sleep 0.1
	done
	fail "no dump after 15 s. What the daemon says:" "$(tail -n 20 "$base/base/output" 2>/dev/null)" \
		"$(timeout 10 "$frbpf" status -v --base "$base/base" 2>&1)"
}

# Prints the marker and the samples around it. --ns shows that they are in order to the nanosecond.
show_marker() { # DUMP
	local width=160
	[[ -t 1 ]] && width=$(($(tput cols 2>/dev/null || echo 160) - 6))
	perf script --ns -F comm,tid,cpu,time,event,trace -i "$1" 2>/dev/null |
		grep -B 8 -A 4 -F 'frbpf:trigger:' | sed 's/^   *//' | cut -c "1-$width" | indent
}

check_machine
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
base=$(mktemp -d /tmp/frbpf-quickstart.XXXXXX) || exit 1

step "frbpf load $rules: the recorder starts, in fixed memory, and writes nothing"
timeout -k 5 60 "$frbpf" load --base "$base/base" "$rules" || fail "load failed, see above"
timeout 10 "$frbpf" status --base "$base/base" | indent

step "something to remember: a second of ordinary work"
"$workloads/burn" --seconds 1 >/dev/null

step "a latency spike: a thread is woken, but a hog keeps the CPU for $spike_ms ms"
spike=$("$workloads/runq_spike" --ms $spike_ms) || fail "the workload could not make a spike here"
echo "the victim's own clock: $spike" | indent

step "rule runq-spike fired and saved what led up to it, without being asked"
wait_for_incident
timeout 10 "$frbpf" show --base "$base/base" "$incident" | indent

dump=$base/base/session-sched/perf.data.$incident
profile=$base/base/session-cpu/perf.data.$incident
step "perf script -i session-sched/perf.data.$incident, around the marker"
show_marker "$dump"

if [[ $keep ]]; then
	if ! mkdir -p "$(dirname "$keep")" || ! cp -r "$base/base" "$keep"; then
		fail "cannot copy to $keep"
	fi
	rm -f "$keep/lock" "$keep/control"
	dump=$keep/${dump#"$base/base/"} profile=$keep/${profile#"$base/base/"}
fi
echo
if [[ $keep ]]; then
	echo "The dumps are ordinary perf.data files. Look around:"
	echo "    sudo perf report -i $profile"
	echo "    sudo perf sched timehist -i $dump"
else
	echo "The dumps are ordinary perf.data files; these are removed now. To keep some and look around:"
	echo "    sudo make quickstart KEEP=/var/tmp/frbpf-quickstart"
fi
cat <<'EOF'
Record this machine with rules for real use (have a look at them first), and save a window by hand:
    sudo ./frbpf load configs/latency.conf
    sudo ./frbpf dump
    sudo ./frbpf ls
    sudo ./frbpf stop
EOF
