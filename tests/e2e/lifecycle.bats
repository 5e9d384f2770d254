#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Killed daemons, restarts, permissions, and commands about a daemon.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$ # a thread name of our own, because rules look at the whole machine
	write_rules <<-EOF
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "$victim"
	EOF
}

spike() {
	workload runq_spike --ms 60 --comm "$victim"
}

teardown() {
	common_teardown
}

temporary_files() {
	find "$BASE" -name '*tmp*'
}

no_temporary_files() {
	[[ ! $(temporary_files) ]]
}

kill_daemon() {
	kill -KILL "$(daemon_pid)"
	wait_until 10 no_daemon
}

@test "a daemon killed while it writes leaves no file that perf cannot read" {
	local -A read=()
	for delay in 0.000 0.005 0.010 0.020 0.040; do
		frbpf_load
		frbpf dump >/dev/null 2>&1 &
		client=$!
		sleep $delay
		kill_daemon
		wait "$client" || true
		for path in $(dumps); do
			[[ ${read[$path]-} ]] || perf_quiet script -i "$path"
			read[$path]=yes
		done
		for name in $(incidents "$BASE"); do
			jq -e . "$BASE/incidents/$name.json" >/dev/null
		done
	done
}

@test "a command whose daemon dies fails and does not hang" {
	frbpf_load
	pid=$(daemon_pid)
	kill -STOP "$pid"
	frbpf dump >/dev/null 2>"$BATS_TEST_TMPDIR/err" &
	client=$!
	sleep 0.2
	kill -KILL "$pid"
	status=0
	wait "$client" || status=$?
	same "exit status" "$status" 1
	[[ -s $BATS_TEST_TMPDIR/err ]]
}

@test "the next start removes temporary files, keeps dumps, and works" {
	frbpf_load
	frbpf dump >/dev/null
	kept=$(dumps)
	kill_daemon
	touch "$BASE/session-cpu/.tmp-left" "$BASE/incidents/.tmp-left"
	frbpf_load
	# from time to time, the recorder itself makes temporary files, too
	wait_until 10 no_temporary_files || fail "$(temporary_files)"
	same "dumps" "$(dumps)" "$kept"
	frbpf dump >/dev/null
	same "number of dumps" "$(dumps | wc -l)" 4
}

@test "files are 0600, directories 0700, and all ours" {
	umask 0
	frbpf_load
	frbpf dump >/dev/null
	spike
	wait_for_incident "$BASE" 2
	same "files open to others" "$(find "$BASE" -type f ! -perm 0600)" ""
	same "directories open to others" "$(find "$BASE" -type d ! -perm 0700)" ""
	same "sockets and fifos open to others" "$(find "$BASE" ! -type f ! -type d -perm /077)" ""
	same "entries of others" "$(find "$BASE" ! -user 0)" ""
}

@test "status has the daemon, then the sessions in the order of the file" {
	frbpf_load
	pid=$(daemon_pid)
	run -0 frbpf status
	[[ ${lines[0]} == "[$pid:daemon] base: $BASE" ]] || fail "first line: ${lines[0]}"
	[[ ${lines[1]} =~ ^\[[0-9]+:cpu\]\ perf\ record\ -e\ cpu-clock ]] || fail "second line: ${lines[1]}"
	[[ ${lines[2]} =~ ^\[[0-9]+:sched\]\ perf\ record\ -e\ sched:sched_switch ]] || fail "third line: ${lines[2]}"
	[[ $output == *spike* ]]
}

@test "status without a command and with -x: as perf daemon" {
	frbpf_load
	pid=$(daemon_pid)
	run -0 timeout -k 5 30 "$FRBPF" --base "$BASE" -x:
	[[ ${lines[0]} =~ ^$pid:daemon:$BASE:$BASE/output:$BASE/lock:[0-9]+$ ]] || fail "first line: ${lines[0]}"
	[[ ${lines[1]} =~ ^[0-9]+:cpu:-e\ cpu-clock\ .*:$BASE/session-cpu: ]] || fail "second line: ${lines[1]}"
	[[ ${lines[2]} =~ ^[0-9]+:sched:-e\ sched: ]] || fail "third line: ${lines[2]}"
}

@test "--base may stand before the command, as with perf daemon" {
	frbpf_load
	run -0 "$FRBPF" --base "$BASE" ping
	run -0 "$FRBPF" --base="$BASE" dump --session cpu
	same "dump" "$output" "$(dumps cpu)"
	run -0 "$FRBPF" --base "$BASE" stop
	no_daemon
}

@test "status --json is JSON" {
	frbpf_load
	run -0 frbpf status --json
	jq -e . <<<"$output" >/dev/null
}

@test "ls and show of a rule's incident print rule, subject and value" {
	frbpf_load
	spike
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	run -0 frbpf ls
	[[ $output == *"$name"*spike*"$victim"* ]] || fail "ls: $output"
	for incident in "$name" last spike:last "${name:0:12}"; do
		run -0 frbpf show "$incident"
		[[ $output == *spike* && $output == *"$victim"* && $output == *"runqlat > 20ms"* ]] ||
			fail "show $incident: $output"
		[[ $output == *"$BASE/session-sched/perf.data.$name"* ]] || fail "show $incident has no path: $output"
	done
}

@test "two rules that fire on the same wait share an incident, and both find it" {
	cat >>"$RULES" <<-EOF

		[rule-second]
		when = runqlat > 10ms
		if = comm == "$victim"
	EOF
	frbpf_load
	spike
	wait_for_incident "$BASE" 1
	frbpf_finish
	name=$(incidents "$BASE")
	same "incidents" "$(wc -l <<<"$name")" 1
	run -0 frbpf ls
	[[ $output == *"$name  spike: "*" (also second)"* || $output == *"$name  second: "*" (also spike)"* ]] ||
		fail "ls: $output"
	for rule in spike second; do
		run -0 frbpf show "$rule:last"
		[[ $output == *"incident $name"* ]] || fail "show $rule:last: $output"
	done
	run -1 frbpf show third:last
	[[ $output == *"no incident of a rule 'third'"* ]]
}

@test "ls of a base without incidents prints no incident, and show fails" {
	frbpf_load
	run -0 frbpf ls
	[[ $output != *perf.data* ]]
	run -1 --separate-stderr frbpf show
	[[ $stderr ]]
}

@test "incidents can be read when no daemon runs" {
	frbpf_load
	frbpf dump --reason "before the end" >/dev/null
	frbpf_stop
	run -0 frbpf ls
	[[ $output == *"$(incidents "$BASE")"* ]]
	run -0 frbpf show
	[[ $output == *"before the end"* ]]
}

@test "SIGHUP reads the rules again" {
	frbpf_load
	sed -i 's/^\[rule-spike\]/[rule-renamed]/' "$RULES"
	kill -HUP "$(daemon_pid)"
	wait_until 10 status_has renamed
	spike
	wait_for_incident "$BASE" 1
	same "rule" "$(manifest "$(incidents "$BASE")" rule)" renamed
}

status_has() { # WORD
	[[ $(frbpf status) == *"$1"* ]]
}

@test "dumps of a loaded daemon continue while rules are replaced" {
	frbpf_load
	printf '[daemon]\nmerge = 0\n' >>"$RULES" # an incident may follow another one at once
	for i in 1 2 3 4 5; do
		sed -i "s/^\[rule-.*\]/[rule-number$i]/" "$RULES"
		frbpf_load
		spike >/dev/null
		wait_for_incident "$BASE" "$i"
	done
	same "rules that fired" "$(for name in $(incidents "$BASE"); do manifest "$name" rule; done | xargs)" \
		"number1 number2 number3 number4 number5"
}

@test "the log says who stopped the recorder" {
	write_rules
	frbpf_load
	frbpf_stop
	grep -q 'stopped by a request from frbpf (pid [1-9][0-9]*, uid 0)' "$BASE/output"
	frbpf_load
	kill -TERM "$(daemon_pid)"
	wait_until 10 no_daemon
	grep -q "stopped by SIGTERM from [^ ]* (pid $BASHPID, uid 0)" "$BASE/output"
}

# Checks the capabilities and filters of the thread in the directory TASK.
assert_rights() { # TASK
	local -A has=()
	local name value
	while read -r name value; do
		has[${name%:}]=$value
	done < <(grep -E '^(Cap|NoNewPrivs|Seccomp:)' "$1/status")
	# the capabilities of $may, in this order: bpf perfmon sys_ptrace syslog dac_read_search dac_override ipc_lock
	# sys_nice sys_resource
	local may=$((1 << 39 | 1 << 38 | 1 << 19 | 1 << 34 | 1 << 2 | 1 << 1 | 1 << 14 | 1 << 23 | 1 << 24))
	for name in CapPrm CapBnd; do
		same "more than may be in $name of $(<"$1/comm")" $((16#${has[$name]} & ~may)) 0
	done
	same "more than may be effective in $(<"$1/comm")" $((16#${has[CapEff]} & ~(may & ~2))) 0
	for name in CapInh CapAmb; do
		same "$name of $(<"$1/comm")" $((16#${has[$name]})) 0
	done
	same "no_new_privs of $(<"$1/comm")" "${has[NoNewPrivs]}" 1
	same "seccomp of $(<"$1/comm")" "${has[Seccomp]}" 2
}

@test "no thread keeps a capability that a reload does not need, nor gains one" {
	frbpf_load
	printf '[rule-app]\nwhen = app:%s\n[rule-calls]\nwhen = syscall:openat > 1h\n' "$victim" >>"$RULES"
	frbpf_load # starts threads for these rules
	for task in /proc/"$(daemon_pid)"/task/*; do
		assert_rights "$task"
	done
	[[ $(cat /proc/"$(daemon_pid)"/task/*/comm | wc -l) -ge 5 ]]
}

@test "seccomp = no leaves the recorder's system calls alone" {
	printf '[daemon]\nseccomp = no\n' >>"$RULES"
	frbpf_load
	same "seccomp" "$(awk '/^Seccomp:/ {print $2}' "/proc/$(daemon_pid)/status")" 0
	sed -i 's/^seccomp = no/seccomp = yes/' "$RULES"
	run -0 frbpf load "$RULES"
	[[ $output == *"changed 'seccomp' takes effect when the recorder is started anew"* ]]
}
