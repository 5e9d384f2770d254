# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# What why and why_software share: a daemon that records what explains waits, and its dumps. Behind lib.bash.

# With a rule the subject's cgroup is read; here only the timer tells of its quota.
quota_timer() {
	awk '$3 == "sched_cfs_period_timer" && $1 !~ /^0+$/ {
		print " -e timer:hrtimer_expire_entry --filter \047function == 0x" $1 "\047"; exit}' /proc/kallsyms
}

# Sets $spinners. On some virtual machines perf writes no record of events in the context of an idle task.
keep_cpus_awake() {
	local cpu
	for ((cpu = 0; cpu < n_cpus; cpu++)); do
		chrt -i 0 taskset -c "$cpu" sh -c 'while :; do :; done' &
		children+=("$!")
	done
	spinners=${children[*]}
}

# A dump, not a rule, ends each cause: what is asked is what happened from its first to its last moment.
why_daemon_start() {
	cat >"$tmp/rules.conf" <<-EOF
		[daemon]
		base = $tmp/base
		max-memory = 50%
		[session-evidence]
		run = evidence -m 32M$(quota_timer)
		[session-cpu]
		run = -e cpu-clock -F 99 -g -m 1M --overwrite --switch-output -a
		[rule-none]
		when = app:none
	EOF
	"$FRBPF" load "$tmp/rules.conf" &>"$tmp/load" || fail "$(cat "$tmp/load")"
}

why_daemon_stop() {
	"$FRBPF" stop --base "$tmp/base" &>/dev/null
}

# Evidence, then CPU stacks
take_dumps() { # FOLDER
	local dumps
	rm -rf "$1" && mkdir "$1"
	mapfile -t dumps < <("$FRBPF" dump --base "$tmp/base")
	((${#dumps[@]} == 2)) && mv "${dumps[0]}" "$1/perf.data.1" && mv "${dumps[1]}" "$1/perf.data.2"
}
