#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Start and stop of a daemon, and the errors on the way.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$ # a thread name of our own, because rules look at the whole machine
}

teardown() {
	common_teardown
}

good_rules() {
	write_rules <<-EOF
		[rule-spike]
		when = runqlat > 20ms
		if = comm == "$victim"
	EOF
}

# Prints the paths that begin with $BASE: everything that frbpf has made.
entries() {
	find "$BATS_TEST_TMPDIR" -path "$BASE*" | sort
}

daemon_answers() {
	frbpf status >/dev/null 2>&1
}

@test "load starts a daemon in the background and returns when it records" {
	good_rules
	frbpf_load
	pid=$(daemon_pid)
	same "parent of the daemon" "$(awk '/^PPid:/ {print $2}' "/proc/$pid/status")" 1
	run -0 frbpf status
	[[ $output == *"$pid"* ]]
	run -0 frbpf dump
	((${#lines[@]} == 2))
}

@test "stop ends the daemon, and a stopped base can be loaded again" {
	good_rules
	frbpf_load
	pid=$(daemon_pid)
	run -0 --separate-stderr frbpf stop
	same "what stop says" "$stderr" "frbpf: the daemon at $BASE (pid $pid) has ended"
	[[ ! $output ]]
	wait_until 10 no_daemon
	is_gone "$pid" || fail "the daemon still runs after stop"
	run -1 --separate-stderr frbpf status
	[[ $stderr ]]
	frbpf_load
	[[ $(daemon_pid) != "$pid" ]]
	run -0 --separate-stderr frbpf daemon stop # silent, like perf daemon stop
	[[ ! $output && ! $stderr ]] || fail "$output$stderr"
}

@test "FRBPF_BASE overrides the base of the file, as in other commands; the commands that load suggests work" {
	good_rules
	printf '[daemon]\nbase = %s\n' "$BASE-of-the-file" >>"$RULES"
	export FRBPF_BASE=$BASE
	run -0 --separate-stderr timeout 60 "$FRBPF" load "$RULES" 3>&-
	[[ $stderr == *"the base is FRBPF_BASE=$BASE, not the $BASE-of-the-file of the rules"* ]] || fail "$stderr"
	[[ $stderr == *"\`frbpf status\` shows it"* ]] || fail "$stderr"
	run -0 "$FRBPF" status
	[[ ! -e $BASE-of-the-file ]]
	run -0 "$FRBPF" stop
	# with --base, FRBPF_BASE does not matter
	export FRBPF_BASE=$BASE-nowhere
	run -0 --separate-stderr frbpf_load
	[[ $stderr == *"\`frbpf status --base $BASE\` shows it, \`frbpf stop --base $BASE\` ends it"* ]] ||
		fail "$stderr"
}

@test "ping and signal of a session that does not exist fail with one line" {
	local command
	good_rules
	frbpf_load
	for command in ping signal; do
		run -0 --separate-stderr frbpf $command --session cpu
		run -1 --separate-stderr frbpf $command --session nosuch
		same "$command" "$output$stderr" "frbpf: error: no session 'nosuch' here: \`frbpf status\` lists them"
	done
}

@test "errors in the command line: one prefix, and the command that was meant" {
	run -1 --separate-stderr "$FRBPF" stat
	same "a beginning" "$stderr" \
		"frbpf: error: unknown command 'stat' (did you mean 'status'?); frbpf --help lists them"
	run -1 --separate-stderr "$FRBPF" shwo
	[[ $stderr == "frbpf: error: unknown command 'shwo' (did you mean 'show'?)"* ]] || fail "$stderr"
	run -1 --separate-stderr "$FRBPF" stop now
	same "the first line" "${stderr_lines[0]}" "frbpf: error: stop: takes no operands"
	run -1 --separate-stderr "$FRBPF" start rules.conf
	same "start, for load" "${stderr_lines[0]}" \
		"frbpf: error: start: takes no rules file: use \`frbpf load FILE\` or --config FILE"
	run -1 --separate-stderr "$FRBPF" check @latnecy
	same "a rules file" "$stderr" "frbpf: error: no shipped rules file @latnecy (did you mean @latency?)"
	run -0 "$FRBPF" help help
	same "help help" "${lines[0]}" "Usage: frbpf [COMMAND] [OPTIONS]"
	run -0 "$FRBPF" stop --help
	same "usage of stop" "${lines[0]}" "Usage: frbpf stop"
}

@test "stop without a daemon succeeds, and says so in one line" {
	run -0 --separate-stderr frbpf stop
	same "lines on standard error" "${#stderr_lines[@]}" 1
	[[ ! $output ]]
}

@test "a limit of descriptors with no room for dumps is refused, with the number needed" {
	local n
	write_rules </dev/null
	frbpf_load
	n=$(find "/proc/$(daemon_pid)/fd" -type l | wc -l)
	frbpf_stop
	run -1 --separate-stderr prlimit --nofile=$((n + 20)) "$FRBPF" load --base "$BASE" "$RULES"
	[[ $stderr == *"sessions need "*" file descriptors"*"the limit is $((n + 20))"* ]]
	no_daemon || fail "a daemon runs"
}

@test "load keeps descriptors free for rings that are resized after measuring" {
	local events='' i need
	for ((i = 0; i < 40; i++)); do events+=' -e faults'; done
	write_rules <<-EOF
		[session-resized]
		run =$events --overwrite --switch-output -a
		ring = 10s
	EOF
	run -1 --separate-stderr prlimit --nofile=90 "$FRBPF" load --base "$BASE" "$RULES"
	[[ $stderr =~ need\ ([0-9]+)\ file.*\ dumps\ ([0-9]+),\ and\ ([0-9]+) ]]
	need=$((BASH_REMATCH[1] + BASH_REMATCH[2] + BASH_REMATCH[3]))
	# The 41 events of one set take 41 descriptors on each CPU. Rings that are resized need two sets: 20 descriptors
	# too few.
	run -1 --separate-stderr prlimit --nofile=$((need - 20)) "$FRBPF" load --base "$BASE" "$RULES"
	[[ $stderr == *"file descriptors (one per event and CPU, with 'ring' two)"* ]]
	sed -i '/^ring/d' "$RULES"
	prlimit --nofile=$((need - 20)) "$FRBPF" load --base "$BASE" "$RULES"
}

@test "a reload with more descriptors than there are is refused before anything is opened" {
	local pid n
	write_rules </dev/null
	frbpf_load
	pid=$(daemon_pid)
	n=$(find "/proc/$pid/fd" -type l | wc -l)
	prlimit --pid "$pid" --nofile=$((n + 20))
	write_rules <<-'EOF'
		[session-further]
		run = -e cs -e faults --overwrite --switch-output -a
	EOF
	run -1 --separate-stderr frbpf load "$RULES"
	[[ $stderr == *"sessions need "*" file descriptors"*"the limit is $((n + 20))"* ]]
	[[ ! -e $BASE/session-further ]] || fail "the session was begun"
	frbpf dump >/dev/null
}

@test "directories removed under the daemon are made again for the next dump" {
	local files
	write_rules </dev/null
	frbpf_load
	rm -r "$BASE/session-cpu" "$BASE/incidents"
	files=$(frbpf dump)
	same "files" "$(wc -l <<<"$files")" 2
	[[ -s $(head -1 <<<"$files") ]] || fail "no file $files"
	wait_for_incident "$BASE" 1
	grep -q 'session-cpu was removed: created again' "$BASE/output"
}

@test "load reports which directories were removed and made again" {
	write_rules </dev/null
	frbpf_load
	rm -r "$BASE/session-cpu" "$BASE/incidents"
	run -0 --separate-stderr frbpf load "$RULES"
	[[ $stderr == *"$BASE/incidents was removed: created again"* ]]
	[[ $stderr == *"$BASE/session-cpu was removed: created again"* ]]
	[[ -d $BASE/session-cpu && -d $BASE/incidents ]]
	run -0 --separate-stderr frbpf load "$RULES"
	[[ $stderr != *"removed"* ]]
}

@test "the daemon ends if its base is removed, and another can be started" {
	write_rules </dev/null
	frbpf_load
	# try again if the daemon has made a file meanwhile
	wait_until 10 rm -rf "${BASE:?}"
	wait_until 20 no_daemon || fail "the daemon goes on where nobody can reach it"
	frbpf_load
}

@test "five stops at once all succeed" {
	local i pids=()
	write_rules </dev/null
	frbpf_load
	for i in 1 2 3 4 5; do
		frbpf stop &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "one of five has failed"
	done
	no_daemon || fail "the daemon still runs"
}

@test "a rules file with an error is refused with place, line and caret, and nothing is left" {
	write_rules <<-'EOF'
		[rule-spike]
		when = runqlat > 20mss
	EOF
	before=$(entries)
	line=$(grep -n 20mss "$RULES" | cut -d: -f1)
	run -1 --separate-stderr frbpf_load
	[[ ! $output ]]
	[[ $stderr == *"$RULES:$line:"*"error:"* ]]
	[[ $stderr == *"when = runqlat > 20mss"* ]]
	# the caret is below the wrong token
	text=$(grep -F '| when = runqlat > 20mss' <<<"$stderr")
	caret=$(grep -E '^ *\| *\^+ *$' <<<"$stderr")
	up_to_token=${text%%20mss*}
	up_to_caret=${caret%%^*}
	same "column of the caret" "${#up_to_caret}" "${#up_to_token}"
	same "files" "$(entries)" "$before"
	no_daemon
}

@test "every error of a file is reported, not just the first" {
	write_rules <<-'EOF'
		[rule-a]
		when = runqlatt > 20ms
		[rule-b]
		when = runqlat > 20ms
		colldown = 3s
	EOF
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *runqlatt* && $stderr == *colldown* ]]
	same "errors" "$(grep -c ' error: ' <<<"$stderr")" 2
}

@test "an event that this kernel lacks is refused at its place, and nothing is left" {
	cat >"$RULES" <<-'EOF'
		[session-a]
		run = -e sched:no_such_event --overwrite --switch-output -a
	EOF
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"$RULES:2:"* && $stderr == *sched:no_such_event* ]]
	[[ ! -e $BASE ]]
	no_daemon
}

@test "a missing file, a directory, an unknown option and an unknown command are refused" {
	run -1 --separate-stderr frbpf_load "$BATS_TEST_TMPDIR/none.conf"
	[[ $stderr == *"$BATS_TEST_TMPDIR/none.conf"*"No such file"* ]]
	run -1 --separate-stderr frbpf_load "$BATS_TEST_TMPDIR"
	[[ $stderr == *"$BATS_TEST_TMPDIR"*directory* ]]
	good_rules
	run -1 --separate-stderr frbpf load --no-such-option "$RULES"
	[[ $stderr == *no-such-option* ]]
	run -1 --separate-stderr "$FRBPF" no-such-command
	[[ $stderr == *no-such-command* ]]
	[[ ! -e $BASE ]]
	no_daemon
	# a name of a shipped file, without @
	run -1 --separate-stderr frbpf load disk
	[[ $stderr == *"disk: No such file or directory (did you mean @disk?)" ]] || fail "$stderr"
}

@test "a file that the user may not read is refused" {
	good_rules
	chmod 0600 "$RULES"
	chmod 0755 "$BATS_TEST_TMPDIR"
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$FRBPF" ||
		skip "the program is not reachable for another user"
	run -1 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups \
		timeout -k 5 30 "$FRBPF" load --base "$BASE" "$RULES"
	[[ $stderr ]]
	[[ ! -e $BASE ]]
}

@test "a second daemon on the same base is refused and the first continues" {
	good_rules
	frbpf_load
	pid=$(daemon_pid)
	run -1 --separate-stderr frbpf load -f "$RULES"
	[[ $stderr == *"$pid"* ]]
	same "pid of the daemon" "$(daemon_pid)" "$pid"
	frbpf dump >/dev/null
}

@test "load on a running daemon replaces its rules" {
	good_rules
	frbpf_load
	pid=$(daemon_pid)
	write_rules <<-EOF
		[rule-other]
		when = syscall:clock_nanosleep > 100ms
		if = comm == "$victim"
	EOF
	frbpf_load
	same "pid of the daemon" "$(daemon_pid)" "$pid"
	run -0 frbpf status
	[[ $output == *other* && $output != *spike* ]]
	workload runq_spike --ms 60 --comm "$victim"
	workload slow_syscall --ms 200 --comm "$victim"
	wait_for_incident "$BASE" 1
	frbpf_finish
	same "rules that fired" "$(jq -r '(.triggers + .merged)[].rule' "$BASE"/incidents/*.json)" other
}

@test "a bad file on a running daemon changes nothing" {
	good_rules
	frbpf_load
	pid=$(daemon_pid)
	write_rules <<-'EOF'
		[rule-other]
		when = runqlat >
	EOF
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"$RULES:"* ]]
	same "pid of the daemon" "$(daemon_pid)" "$pid"
	workload runq_spike --ms 60 --comm "$victim"
	wait_for_incident "$BASE" 1
	same "rule" "$(manifest "$(incidents "$BASE")" rule)" spike
}

@test "a base of another user is refused and left alone" {
	good_rules
	mkdir "$BASE"
	chown 65534:65534 "$BASE"
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"$BASE"* ]]
	same "files" "$(entries)" "$BASE"
	no_daemon
}

@test "a base that others can write is refused and left alone" {
	good_rules
	mkdir -m 0777 "$BASE"
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"$BASE"* ]]
	same "files" "$(entries)" "$BASE"
	no_daemon
}

@test "a user who may not record is told so once, with the commands that give the privileges" {
	good_rules
	# the user owns all files, but lacks the privileges
	run -1 --separate-stderr setpriv --bounding-set -all "$FRBPF" load --base "$BASE" "$RULES" 3>&-
	same "errors" "$(grep -c 'error: ' <<<"$stderr")" 1
	[[ $stderr == *CAP_BPF* && $stderr == *"sudo setcap"* ]] || fail "$stderr"
	[[ ! -e $BASE ]]
}

@test "load -f stays in the foreground and SIGTERM stops it" {
	good_rules
	"$FRBPF" load -f --base "$BASE" "$RULES" </dev/null >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	foreground_pid=$!
	wait_until 15 daemon_answers || fail "no answer: $(cat "$BATS_TEST_TMPDIR/out")"
	same "pid of the daemon" "$(daemon_pid)" "$foreground_pid"
	kill -TERM "$foreground_pid"
	status=0
	wait "$foreground_pid" || status=$?
	foreground_pid=
	same "exit status" "$status" 0
	no_daemon
}

@test "shipped rules files are loaded by name, from the tree and when installed" {
	run -1 --separate-stderr "$FRBPF" load --base "$BASE" @nothing
	[[ $stderr == *"@nothing: use one of @"* && $stderr == *" @latency"* ]] || fail "$stderr"
	run -1 --separate-stderr "$FRBPF" check @../configs/latency
	[[ $stderr == *"use one of @"* ]] || fail "$stderr"
	make -s -C "$root" install DESTDIR="$BATS_TEST_TMPDIR/root" >/dev/null
	run -0 "$BATS_TEST_TMPDIR/root/usr/local/bin/frbpf" check @latency
	[[ $output == *runqlat* ]]
	run -0 "$FRBPF" load --base "$BASE" @latency
	daemon_answers
}
