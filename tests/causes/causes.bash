# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What tests/e2e/why*.bats and scripts/bench/why share: causes of cause.c, recorded by perf, and what frbpf says about
# them. $FRBPF and $WORKLOADS are set, and no CPU is idle: on some virtual machines perf writes no record of what
# happens on an idle CPU.

# set_weight DIRECTORY WEIGHT SHARES: for cgroup version 2 WEIGHT, for version 1 SHARES
set_weight() {
	{ echo "$2" >"$1/cpu.weight" || echo "$3" >"$1/cpu.shares"; } 2>/dev/null
}

# Makes cgroups, if that is possible, whose weight puts them before everything else. $quota_group has a CPU quota;
# $weight_group has two children of different weight, heavy and light.
make_cpu_groups() {
	quota_group='' weight_group=''
	local root=/sys/fs/cgroup
	[[ -e $root/cgroup.controllers ]] || root=$root/cpu
	mkdir "$root/frbpf-cause-$$" 2>/dev/null || return 0
	quota_group=$root/frbpf-cause-$$ weight_group=$root/frbpf-weight-$$
	set_weight "$quota_group" 10000 262144
	if ! { echo "10000 100000" >"$quota_group/cpu.max" ||
		echo 10000 >"$quota_group/cpu.cfs_quota_us"; } 2>/dev/null; then
		rmdir "$quota_group" && quota_group=
	fi
	mkdir "$weight_group"
	echo +cpu 2>/dev/null >"$weight_group/cgroup.subtree_control" || true
	mkdir "$weight_group"/{heavy,light}
	if ! { set_weight "$weight_group" 10000 262144 && set_weight "$weight_group/heavy" 100 1024 &&
		set_weight "$weight_group/light" 5 51; }; then
		rmdir "$weight_group"/* "$weight_group" 2>/dev/null
		weight_group=
	fi
}

remove_cpu_groups() {
	[[ ! ${quota_group-} ]] || rmdir "$quota_group" 2>/dev/null || true
	[[ ! ${weight_group-} ]] || rmdir "$weight_group"/{heavy,light} "$weight_group" 2>/dev/null || true
	quota_group='' weight_group=''
}

# Runs a command while the processes that keep the CPUs from idling are stopped: $spinners, pids separated by blanks.
without_spinners() { # COMMAND...
	local status
	# shellcheck disable=SC2086 # several words
	[[ ! ${spinners-} ]] || kill -STOP $spinners
	"$@"
	status=$?
	# shellcheck disable=SC2086
	[[ ! ${spinners-} ]] || kill -CONT $spinners
	return $status
}

# Runs one cause after the other. Each prints a line of JSON. On a busy machine, a cause that computes would really wait
# for a CPU. Therefore the causes come before everything else, by real-time priority. Those that need the fair class do
# so by the weight of their session.
run_causes() { # NAME...
	local name
	for name in "$@"; do
		# shellcheck disable=SC2016 # of the inner shells
		case $name in
		quota)
			[[ ${quota_group-} ]] || continue
			timeout -k 5 20 sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" quota' - "$quota_group" "$WORKLOADS/cause"
			;;
		many-equals | weight)
			timeout -k 5 20 setsid -w sh -c 'echo -20 2>/dev/null >/proc/self/autogroup
				exec nice -n -20 "$1" "$2"' - "$WORKLOADS/cause" "$name"
			;;
		cgroup-weight) CAUSE_GROUP=${weight_group-} timeout -k 5 20 "$WORKLOADS/cause" "$name" ;;
		pinned) without_spinners timeout -k 5 20 chrt -r 1 "$WORKLOADS/cause" --ms 200 pinned ;;
		*) timeout -k 5 20 chrt -r 1 "$WORKLOADS/cause" "$name" ;;
		esac || cause_failed "$name" $?
	done
}

# Status 77: this machine cannot provoke the cause, and the program has said why.
cause_failed() { # NAME STATUS
	(($2 == 77)) || echo "cause $1: exit status $2" >&2
}

# Records all events that `frbpf why` knows, with stacks. Of timers, only those that refill CPU quotas.
record_causes() { # FILE TRUTH NAME...
	local file=$1 truth=$2 timer quota=()
	shift 2
	timer=$(awk '$3 == "sched_cfs_period_timer" && $1 !~ /^0+$/ {print "0x" $1; exit}' /proc/kallsyms)
	[[ ! $timer ]] || quota=(-e timer:hrtimer_expire_entry --filter "function == $timer")
	export -f run_causes cause_failed without_spinners
	export WORKLOADS quota_group weight_group spinners
	timeout -k 5 120 perf record -q -k CLOCK_MONOTONIC -o "$file" -m 8M -a -g \
		-e sched:sched_switch -e sched:sched_waking "${quota[@]}" -e sched:sched_wakeup -e sched:sched_wakeup_new \
		-e sched:sched_migrate_task -e signal:signal_generate \
		-e irq:irq_handler_entry -e irq:irq_handler_exit -e irq:softirq_entry -e irq:softirq_exit \
		-e block:block_rq_insert -e block:block_rq_issue -e block:block_rq_requeue -e block:block_rq_complete \
		-e vmscan:mm_vmscan_direct_reclaim_begin -e vmscan:mm_vmscan_direct_reclaim_end \
		-e vmscan:mm_vmscan_memcg_reclaim_begin -e vmscan:mm_vmscan_memcg_reclaim_end \
		-e cpu-clock/freq=499/ -- bash -c 'run_causes "$@"' - "$@" >"$truth" </dev/null 3>&-
}

# why_of FILE LINE-OF-TRUTH OPTIONS...: the times are taken from the text of the line, as jq would round them
why_of() {
	local file=$1 line=$2
	shift 2
	[[ $line =~ \"subject\":\ ([0-9]+).*\"from\":\ ([0-9.]+).*\"to\":\ ([0-9.]+) ]] || return 1
	timeout -k 5 60 "$FRBPF" why -i "$file" --tid "${BASH_REMATCH[1]}" \
		--from "${BASH_REMATCH[2]}" --to "${BASH_REMATCH[3]}" "$@"
}

# right: the answer has the culprit and the cause, and that other CPUs idled if they did. incomplete: the culprit is in
# the tree with a quarter of the time or more, but is not the verdict. unknown: the answer says so. wrong: all else.
judge() { # FILE LINE-OF-TRUTH
	local answer
	answer=$(why_of "$1" "$2" --json) || return
	jq -r --argjson truth "$2" '
		[.. | objects | select(.type) |
			select((.task.tid, .behind.tid, .waker.tid, .sender.tid, .owner.tid) as $t |
				$truth.culprits | index($t)) | .ns] as $in_tree |
		([.. | objects | select(.type == "queued") | .idle_elsewhere_ns] | add // 0) as $idle |
		if $truth.others_idle and $idle * 2 < .of_ns then "incomplete"
		elif .cause == $truth.cause and (.culprit.tid as $t | $truth.culprits | index($t)) then "right"
		elif .cause == "unknown" then "unknown"
		elif ($in_tree | max // 0) * 4 >= .of_ns and ($truth.culprits[0] != $truth.subject) then "incomplete"
		elif $truth.culprits[0] == $truth.subject and
			([.. | objects | select(.type and .task.tid == $truth.subject and .type != "all") |
				if .type == "ran" then "computed" elif .type == "throttled" then "quota"
				elif .type == "reclaim" then "reclaim" elif .type == "held" then "io-limit"
				elif .type == "interrupted" then "interrupt" elif .type == "served" then "device"
				elif .for == "sleep" then "own-timer" elif .woken_by == "timer" then "timeout" else "" end] |
				index($truth.cause)) then "incomplete"
		else "wrong" end' <<<"$answer"
}
