#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the recorder under mixed load and measures its resources. Some rules must not fire; some events must be seen.
#
#	scripts/soak.sh [--seconds N] [--hotplug]
#
#	--seconds N	how long (1800)
#	--hotplug	also take a CPU offline and back, again and again
#
# Events are planted one at a time, and their triggers are collected at once:
#
#	missed		no trigger came in 30 s
#	unseen		no trigger came, but the kernel hid the switch or wake-up from perf, too, as some kernels do
#			while a thread of PID 1 is current
#	doubled		two triggers for one event
#	wrong		the value contradicts the workload's clock, or the dump's events
#	false		a rule fired that must not fire: the dump or the kernel's sums contradict its value, or the
#			event cannot happen here
#
# Load and base are removed at the end. The last line is "N passed, N failed". Exit status 1: a check failed.
#
# FRBPF is the program, FRBPF_WORKLOADS the directory of the programs of tests/workloads. Needs root, perf and jq.
set -u
cd "$(dirname "$0")/.." || exit 1

seconds=1800 hotplug=
while (($#)); do
	case $1 in
	--seconds)
		seconds=${2-}
		shift
		;;
	--hotplug) hotplug=yes ;;
	*) seconds= ;;
	esac
	shift
done
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
	echo "usage: scripts/soak.sh [--seconds N] [--hotplug]" >&2
	exit 2
fi

FRBPF=$(realpath "${FRBPF:-frbpf}") workloads=$(realpath "${FRBPF_WORKLOADS:-.output/tests/workloads}")
for need in "$FRBPF" "$workloads/runq_spike"; do
	[[ -x $need ]] || { echo "soak: $need is not built: make all workloads" >&2; exit 1; }
done
for need in perf jq unshare setsid; do
	command -v $need >/dev/null || { echo "soak: $need is not installed" >&2; exit 1; }
done
((EUID == 0)) || { echo "soak: needs root" >&2; exit 1; }

# run with a /run/frbpf of its own, so that other recorders on this machine are left alone
if [[ ! ${SOAK_INSIDE-} ]]; then
	export SOAK_INSIDE=yes
	# shellcheck disable=SC2016 # of the inner shell
	exec unshare -m sh -c 'mkdir -p /run/frbpf && mount -t tmpfs -o mode=755 frbpf /run/frbpf && exec "$@"' - \
		"$PWD/scripts/soak.sh" --seconds "$seconds" ${hotplug:+--hotplug}
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/frbpf-soak.XXXXXX") || exit 1
base=$tmp/base rules=$tmp/rules.conf
groups=() passed=0 failed=0 reloads=0 offline=
end=$((SECONDS + seconds))
declare -A planted seen missed unseen wrong checked fired contradicted
declare -A read_already

note() {
	printf '%s %s\n' "$(date +%T)" "$*"
}

frbpf() {
	local command=$1
	shift
	timeout -k 5 120 "$FRBPF" "$command" --base "$base" "$@" </dev/null
}

cleanup() {
	local group
	for group in "${groups[@]}"; do
		kill -TERM -- "-$group" 2>/dev/null
	done
	[[ $offline ]] && echo 1 >"$offline/online"
	frbpf stop >/dev/null 2>&1
	for group in "${groups[@]}"; do
		kill -KILL -- "-$group" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- rules

# NAME|WHEN|IF: rules for planted events. app has no IF: the sender may have ended before its name can be looked up.
plants="runqlat|runqlat > 40ms|comm == \"sk-runq\"
syscall|syscall:clock_nanosleep > 40ms|comm == \"sk-call\"
offcpu|offcpu > 40ms|comm == \"sk-off\"
uprobe|uprobe:$workloads/user_func:user_func_slow > 40ms|comm == \"sk-func\"
usdt|usdt:$workloads/user_func:frbpf_test:tick|comm == \"sk-usdt\"
app|app:sk-app > 100ms|"

# NAME|WHEN: rules for events that do not happen, unless the machine is overloaded. For the first two and the last, a
# dump can prove whether they did happen.
never='long-runqlat|runqlat > 5s
long-blocked|blocked > 10s
long-hardirq|hardirq > 10s
long-softirq|softirq:* > 10s
long-reclaim|reclaim > 10s
long-close|syscall:close > 10s'

write_rules() {
	cat <<-EOF
		# reload $reloads
		[daemon]
		base = $base
		merge = 1ms
		max-dumps = 256 in 1s
		max-size = 400M
		min-free = 64M
		sideband-memory = 16M
		[session-sched]
		run = -e sched:sched_switch --filter 'prev_comm ~ "sk-*" || next_comm ~ "sk-*"' -e sched:sched_wakeup --filter 'comm ~ "sk-*"' -m 512K --overwrite --switch-output -a
		[session-long]
		run = -e sched:sched_switch -e sched:sched_wakeup -m 8M --overwrite --switch-output -a
		[session-closes]
		run = -e syscalls:sys_enter_close -e syscalls:sys_exit_close -m 8M --overwrite --switch-output -a
		[session-calls]
		run = -e syscalls:sys_enter_clock_nanosleep -e syscalls:sys_exit_clock_nanosleep -m 512K --overwrite --switch-output -a
	EOF
	while IFS='|' read -r name when condition; do
		printf '[rule-%s]\nwhen = %s\n%sdump = sched, calls\ncooldown = 0s\nmax-dumps = 256 in 1s\n' \
			"$name" "$when" "${condition:+if = $condition$'\n'}"
	done <<<"$plants"
	while IFS='|' read -r name when; do
		printf '[rule-%s]\nwhen = %s\ndump = %s\ncooldown = 1s\nmax-dumps = 256 in 1s\n' "$name" "$when" \
			"$([[ $name == long-close ]] && echo closes || echo long)"
	done <<<"$never"
}

load_rules() {
	((reloads++))
	write_rules >"$rules"
	if ! frbpf load "$rules" >"$tmp/load.out" 2>&1; then
		cat "$tmp/load.out" >&2
		return 1
	fi
}

# --- load

start() { # COMMAND...: a process group of its own, which ends by itself if we are killed
	setsid timeout -k 5 $((end - SECONDS + 60)) "$@" </dev/null >/dev/null 2>&1 &
	groups+=("$!")
}

start_load() {
	mkdir "$tmp/load"
	start "$workloads/fork_storm" 200 $((end - SECONDS + 30)) /bin/true
	start sh -c "while :; do dd if=/dev/zero of='$tmp/load/disk' bs=256K count=64 conv=fsync
		rm '$tmp/load/disk'; sleep 0.2; done"
	if command -v stress-ng >/dev/null; then
		start stress-ng --cpu 1 --fork 1 --pipe 1 --sem 1 --temp-path "$tmp/load"
	else
		note "stress-ng is not installed: one that computes and one that forks instead"
		start sh -c 'while :; do :; done'
		start sh -c 'while :; do (:); done'
	fi
	if command -v sqlite3 >/dev/null; then
		# shellcheck disable=SC2016 # of SQL
		start sh -c "while :; do echo 'create table if not exists t(a);
			insert into t values(random()); delete from t where rowid % 7 = 0;'; sleep 0.02; done | sqlite3 '$tmp/load/db'"
	fi
}

toggle_cpu() {
	local cpus
	if [[ $offline ]]; then
		echo 1 >"$offline/online" && offline=
		return
	fi
	cpus=(/sys/devices/system/cpu/cpu[1-9]*/online)
	[[ -w ${cpus[0]} ]] || return
	offline=${cpus[-1]%/online}
	echo 0 >"$offline/online" || offline=
}

# --- triggers

# Appends every new trigger to $tmp/triggers, as "RULE TIME VALUE TID COMM SWITCHES CALLS BACK". SWITCHES and CALLS are
# files, or "-" for none. BACK is how far SWITCHES reaches back, in ns.
collect() {
	local name
	while read -r name; do
		[[ ${read_already[$name]-} ]] && continue
		frbpf show --json "$name" 2>/dev/null >"$tmp/manifest" || continue
		read_already[$name]=yes
		jq -r --arg base "$base" '. as $m |
			def file($s): ([$m.sessions[] | select(.name == $s) | .file // empty][0]) // "-";
			(.triggers[], (.merged // [])[]) | [.rule // "-", .time.monotonic_ns, .value_ns // 0, .subject.tid // 0,
			(.subject.comm // "-" | gsub("\\s"; "_") | if . == "" then "-" else . end),
			(if .rule == "long-close" then file("closes") elif (.rule // "" | startswith("long-")) then file("long")
				else file("sched") end), file("calls"),
			([$m.sessions[] | select(.name == "long" or .name == "closes") | .window.length_ns // 0][0] // 0)] |
			@tsv' "$tmp/manifest" >>"$tmp/triggers"
	done < <(frbpf ls --json 2>/dev/null | jq -r '.[].incident')
}

# Prints the first trigger of RULE at or after TIME.
first_since() { # RULE TIME
	awk -v rule="$1" -v from="$2" '$1 == rule && $2 >= from {print; exit}' "$tmp/triggers"
}

# Counts triggers of RULE for a wait that another trigger has reported already. A victim may wait twice in a row: that
# is two waits.
doubled() { # RULE
	awk -v rule="$1" '
		$1 == rule {if (($4 in at) && $2 - $3 <= at[$4]) n++; at[$4] = $2}
		END {print n + 0}' "$tmp/triggers"
}

# Waits until RULE has fired at or after TIME.
wait_for() { # RULE TIME SECONDS
	local until=$((SECONDS + $3)) found
	while ((SECONDS < until)); do
		collect
		found=$(first_since "$1" "$2")
		[[ $found ]] && return 0
		sleep 0.2
	done
	return 1
}

# Prints the length in ns of a wait or call of TID that ended at TIME, by the events in the dump. Prints nothing if some
# events are missing. Understands the output of perf with and without its plugins.
interval() { # KIND FILE TID TIME
	[[ -e $2 ]] || return
	timeout 60 perf script --ns -F tid,time,event,trace -i "$2" 2>/dev/null | awk -v kind="$1" -v tid="$3" -v at="$4" '
		{
			t = $2; sub(/:$/, "", t); split(t, s, "."); now = s[1] * 1e9 + s[2]
			in_ = $0 ~ "==> .*(next_pid=|:)" tid "( |$)"
			out = $0 ~ "sched_switch:.*(prev_pid=|:)" tid " .*==>"
			woken = $0 ~ "sched_wakeup: .*(pid=|:)" tid "( |$)"
			enter = $1 == tid && /sys_enter_/
			leave = $1 == tid && /sys_exit_/
			begins = kind == "runqlat" ? woken : kind == "offcpu" ? out : enter
			ends = kind == "syscall" ? leave : in_
			if (begins && now < at - 1e6) from = now
			if (ends && now > at - 1e6 && now < at + 1e6) to = now
		}
		END { if (from && to) printf "%.0f\n", to - from }'
}

# Succeeds if, according to the dump, an end of a wait of TID between FROM and TO was hidden from perf: a wake-up or
# switch that begins it, or the switch that ends it. Fails if the dump does not reach back that far.
is_hidden() { # KIND FILE TID FROM TO
	local start
	[[ -e $2 ]] || return
	start=$(frbpf show --json "${2##*.}" | jq -r '.sessions[] | select(.name == "sched") | .window.start.monotonic_ns')
	[[ $start ]] && ((start < $4)) || return
	timeout 60 perf script --ns -F tid,time,event,trace -i "$2" 2>/dev/null |
		awk -v kind="$1" -v tid="$3" -v from="$4" -v to="$5" '
		{ t = $2; sub(/:$/, "", t); split(t, s, "."); now = s[1] * 1e9 + s[2] }
		now < from || now > to + 1e6 {next}
		$0 ~ "==> .*(next_pid=|:)" tid "( |$)" {ends = 1}
		kind == "offcpu" && $0 ~ "sched_switch:.*(prev_pid=|:)" tid " .*==>" {begins = 1}
		kind == "runqlat" && $0 ~ "sched_wakeup: .*(pid=|:)" tid "( |$)" {begins = 1}
		END { exit begins && ends }'
}

# Succeeds if, according to the dump, TID ran or was woken between FROM and TO.
ran_between() { # FILE TID FROM TO
	[[ -e $1 ]] || return 1
	timeout 60 perf script --ns -F tid,time,event,trace -i "$1" 2>/dev/null | awk -v tid="$2" -v from="$3" -v to="$4" '
		{ t = $2; sub(/:$/, "", t); split(t, s, "."); now = s[1] * 1e9 + s[2] }
		now > from + 1e6 && now < to - 1e6 && $0 ~ "sched:.*(pid=|:)" tid "( |$)" {found = 1}
		END { exit !found }'
}

# Appends the kernel's own sums of the time in ns that each thread has waited for a CPU. They do not depend on events.
note_waits() {
	local now
	now=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
	grep -H . /proc/[0-9]*/task/[0-9]*/schedstat 2>/dev/null |
		awk -F '[/: ]' -v now="$now" '{print $5, now, $8}' >>"$tmp/waits"
}

# Prints the last sum of TID from before TIME, or nothing if it is unknown.
waited_before() { # TID TIME
	awk -v tid="$1" -v at="$2" '$1 == tid && $2 <= at {sum = $3} END {print sum}' "$tmp/waits"
}

# --- planted events

# Runs the workload and prints its line of JSON.
do_plant() { # NAME
	case $1 in
	runqlat) timeout -k 5 60 "$workloads/runq_spike" --ms 60 --comm sk-runq ;;
	syscall) timeout -k 5 60 "$workloads/slow_syscall" --ms 60 --comm sk-call ;;
	offcpu) timeout -k 5 60 "$workloads/slow_syscall" --ms 60 --comm sk-off ;;
	uprobe) timeout -k 5 60 "$workloads/user_func" --call slow --ms 60 --comm sk-func ;;
	usdt) timeout -k 5 60 "$workloads/user_func" --call probe --comm sk-usdt ;;
	app) echo 'sk-app 250ms' | timeout -k 5 60 "$workloads/app_send" "$socket" --comm sk-app ;;
	esac
}

# Succeeds if VALUE agrees with the clock of the workload.
is_right() { # NAME VALUE BEGIN END
	case $1 in
	usdt) (($2 == 0)) ;;
	app) (($2 == 250000000)) ;;
	*) (($2 >= 60000000 && $2 <= $4 - $3)) ;;
	esac
}

# Succeeds if VALUE agrees with the events in the dump, or if that cannot be told.
agrees() { # NAME VALUE TIME TID SWITCHES CALLS
	local file=$5 events off
	[[ $1 == syscall ]] && file=$6
	case $1 in runqlat | offcpu | syscall) ;; *) return 0 ;; esac
	events=$(interval "$1" "$file" "$4" "$3")
	[[ $events ]] || return 0
	((++checked[$1]))
	off=$((events > $2 ? events - $2 : $2 - events))
	((off <= 1000000 + $2 / 50)) && return 0
	note "$1: $2 ns, but the events of the dump are $events ns apart"
	return 1
}

note_missed() { # NAME DUMP BEGIN END LINE
	case $1 in
	runqlat | offcpu)
		if is_hidden "$1" "$2" "$(jq -r .tid <<<"$5")" "$3" "$4"; then
			((++unseen[$1]))
			note "$1: unseen, by perf too: $5"
			return
		fi
		;;
	esac
	((++missed[$1]))
	note "$1: missed: $5"
}

plant() { # NAME
	local name=$1 line begin finish time value tid switches calls dump
	line=$(do_plant "$name") || {
		note "$name: the workload failed: $line"
		return
	}
	line=$(head -n 1 <<<"$line")
	begin=$(jq -r .begin_ns <<<"$line") finish=$(jq -r .end_ns <<<"$line")
	((++planted[$name]))
	if ! wait_for "$name" "$begin" 3; then
		dump=$(frbpf dump --session sched)
		if ! wait_for "$name" "$begin" 27; then
			note_missed "$name" "$dump" "$begin" "$finish" "$line"
			return
		fi
	fi
	((++seen[$name]))
	read -r _ time value tid _ switches calls _ < <(first_since "$name" "$begin")
	if ! is_right "$name" "$value" "$begin" "$finish"; then
		((++wrong[$name]))
		note "$name: wrong: $value ns of $line"
	elif ! agrees "$name" "$value" "$time" "$tid" "$switches" "$calls"; then
		((++wrong[$name]))
	fi
}

# --- triggers that must not fire

# Succeeds if the trigger is false: its subject ran, or did not wait that long. The dump and the kernel's sums tell
# that. While the machine hangs, a call of another program may really take that long: perf's own events of its begin and
# end decide.
is_contradicted() { # RULE TIME VALUE TID FILE
	local before now events off
	case $1 in
	long-runqlat)
		before=$(waited_before "$4" $(($2 - $3)))
		now=$(cut -d' ' -f2 "/proc/$4/schedstat" 2>/dev/null)
		[[ $before && $now ]] && ((now - before < $3 - $3 / 10)) && return 0
		;;
	long-blocked) ;;
	long-close)
		events=$(interval syscall "$5" "$4" "$2")
		[[ $events ]] || return 1
		off=$((events > $3 ? events - $3 : $3 - events))
		((off > 1000000 + $3 / 50))
		return
		;;
	*) return 0 ;;
	esac
	ran_between "$5" "$4" $(($2 - $3)) "$2"
}

judge_false() {
	local rule time value tid comm switches back
	while read -r rule time value tid comm switches _ back; do
		fired[$rule]=$((${fired[$rule]:-0} + 1))
		if is_contradicted "$rule" "$time" "$value" "$tid" "$switches"; then
			contradicted[$rule]=$((${contradicted[$rule]:-0} + 1))
			note "$rule: false: $value ns of $comm (tid $tid)"
		else
			note "$rule: $value ns of $comm (tid $tid): nothing contradicts it in the last $back ns"
		fi
	done < <(grep '^long-' "$tmp/triggers" | tail -n "+$((judged + 1))")
	judged=$(grep -c '^long-' "$tmp/triggers")
}

# --- resources

# Sets rss (KiB), fds, bpf_maps, threads and areas of the daemon. Records and tasks of the side band are left out. They
# grow up to sideband-memory, which the load may reach early or late.
measure() {
	local pid
	read -r pid rss < <(frbpf status --json |
		jq -r '"\(.pid) \((.memory.rss_bytes - .memory.sideband_bytes) / 1024 | floor)"')
	threads=$(awk '/^Threads:/ {print $2}' "/proc/$pid/status")
	areas=$(wc -l <"/proc/$pid/maps")
	fds=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
	bpf_maps=$(find "/proc/$pid/fd" -mindepth 1 -printf '%l\n' | grep -c 'bpf[-_]map')
}

# --- the report

result() { # PASSED: 0 or 1
	if (($1)); then ((++passed)); else ((++failed)); fi
	(($1)) && printf '   ok\n' || printf '   FAILED\n'
}

report_plants() {
	local name n
	printf '\n%-14s %8s %8s %8s %8s %8s %8s   %s\n' planted times seen missed unseen doubled wrong 'events agree'
	for name in runqlat syscall offcpu uprobe usdt app; do
		n=$(doubled "$name")
		printf '%-14s %8d %8d %8d %8d %8d %8d   %12s' "$name" "${planted[$name]}" "${seen[$name]}" "${missed[$name]}" \
			"${unseen[$name]}" "$n" "${wrong[$name]}" "${checked[$name]:--}"
		result $((planted[$name] > 0 && missed[$name] == 0 && n == 0 && wrong[$name] == 0))
	done
}

report_never() {
	local name when
	printf '\n%-14s %-24s %8s %8s\n' 'must not fire' when fired false
	while IFS='|' read -r name when; do
		printf '%-14s %-24s %8d %8d' "$name" "$when" "${fired[$name]:-0}" "${contradicted[$name]:-0}"
		result $((${contradicted[$name]:-0} == 0))
	done <<<"$never"
}

flat() { # NAME BEFORE AFTER ALLOWED
	printf '%-14s %12d %12d %12d' "$1" "$2" "$3" "$4"
	result $(($3 <= $4))
}

report_taken() {
	printf '\n%-14s %12s %12s %12s\n' daemon early 'at the end' 'at most'
	flat 'RSS, in KiB' "${early[0]}" "$rss" $((early[0] * 115 / 100 + 16384))
	flat descriptors "${early[1]}" "$fds" $((early[1] + 8))
	flat 'BPF maps' "${early[2]}" "$bpf_maps" "${early[2]}"
	flat threads "${early[3]}" "$threads" $((early[3] + 2))
	flat 'memory areas' "${early[4]}" "$areas" $((early[4] + early[4] / 4 + 32))
}

# --- the run

: >"$tmp/triggers"
: >"$tmp/waits"
judged=0 early=() round=0
for name in runqlat syscall offcpu uprobe usdt app; do
	planted[$name]=0 seen[$name]=0 missed[$name]=0 unseen[$name]=0 wrong[$name]=0
done
for name in runqlat syscall offcpu; do checked[$name]=0; done
load_rules || exit 1
socket=$(frbpf status --json | jq -r .app.socket)
note_waits
start_load
while ((SECONDS < end)); do
	for name in runqlat syscall offcpu uprobe usdt app; do
		((SECONDS < end)) || break
		plant "$name"
		judge_false
		note_waits
	done
	((++round % 2)) || load_rules || ((++failed))
	[[ $hotplug ]] && toggle_cpu
	if ((!${#early[@]} && round >= 4)) || ((!${#early[@]} && SECONDS > end - seconds / 2)); then
		measure
		early=("$rss" "$fds" "$bpf_maps" "$threads" "$areas")
	fi
done
[[ $offline ]] && toggle_cpu
sleep 2 # for events that are still on their way
collect
judge_false
measure
report_plants
report_never
report_taken
printf '\n%d reloads, %d incidents, load of %s\n' "$reloads" "${#read_already[@]}" "$(cut -d' ' -f1-3 /proc/loadavg)"
echo "$passed passed, $failed failed"
((failed == 0))
