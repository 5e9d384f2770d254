#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf run: what it records of a command and its children, how it ends, and what it leaves.

# shellcheck disable=SC2154 # set by bats and the helpers
# shellcheck disable=SC2030,SC2031 # every test is a shell of its own
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load run_helpers

# --- passing and failing

@test "no rule fires: the command's output and status, reports, and no dump" {
	run -0 --separate-stderr frbpf_run --when 'syscall:clock_nanosleep > 20s' -o "$OUT" -- \
		bash -c 'sleep 0.1; echo out; echo err >&2'
	same "standard output" "$output" out
	[[ $stderr == *err* ]]
	same "dumps" "$(find "$OUT" -name 'perf.data*' | wc -l)" 0
	same "recorded" "$(summary .recorded)" true
	same "fired" "$(summary .fired)" false
	same "exit status" "$(summary .exit_status)" 0
	same "matched" "$(summary '.rules[0].matched')" 0
	# the distribution has all values, also the value of the sleep, which is below the threshold
	same "values" "$(summary '.rules[0].values.n')" 1
	(($(summary '.rules[0].values.max_ns') >= 100000000))
	xmllint --noout "$OUT/junit.xml"
	same "failures" "$(xmllint --xpath 'string(//testsuite/@failures)' "$OUT/junit.xml")" 0
	grep -q 'no rule fired' "$OUT/summary.md"
}

@test "a rule fires: status 2, a dump that perf reads, and reports that name it" {
	need_perf
	need_tracepoints
	run -2 frbpf_run --when "$WHEN" --if 'comm == "sleep"' -o "$OUT" -- sleep 0.2
	same "rule" "$(summary '.incidents[0].triggers[0].rule')" when-1
	same "task" "$(summary '.incidents[0].triggers[0].comm')" sleep
	(($(summary '.incidents[0].triggers[0].value_ns') >= 200000000))
	local dump
	dump=$(summary '.incidents[0].files[] | select(.session == "sched").file')
	perf_quiet script -i "$dump"
	same "markers" "$(events "$dump" frbpf:trigger | wc -l)" 1
	same "failures" "$(xmllint --xpath 'string(//testsuite/@failures)' "$OUT/junit.xml")" 1
	local failure
	failure=$(xmllint --xpath 'string(//testcase/failure)' "$OUT/junit.xml")
	[[ $failure == *"ms > 100ms, by sleep"*"perf script -i $OUT/"* ]] || fail "$failure"
	grep -q "perf script -i $OUT/" "$OUT/summary.md"
	same "manifest's value" "$(jq '.triggers[0].value_ns' "$OUT/incidents/$(summary '.incidents[0].name').json")" \
		"$(summary '.incidents[0].triggers[0].value_ns')"
}

@test "--exit-code is for rules; a rule that only counts fails nothing" {
	run -42 frbpf_run --when "$WHEN" --exit-code 42 -o "$OUT" -- sleep 0.2
	cat >"$RULES" <<-EOF
		[rule-counts]
		when = $WHEN
		dump = none
	EOF
	run -0 frbpf_run --rules "$RULES" -o "$OUT.2" -- sleep 0.2
	same "matched" "$(summary '.rules[0].matched' "$OUT.2")" 1
}

@test "the command's own status takes precedence, as a shell shows it" {
	run -3 frbpf_run --when "$WHEN" -o "$OUT.1" -- bash -c 'sleep 0.2; exit 3'
	same "fired" "$(summary .fired "$OUT.1")" true
	same "status" "$(summary .command.exit_status "$OUT.1")" 3
	run -137 frbpf_run --when "$WHEN" -o "$OUT.2" -- bash -c 'kill -KILL $$'
	same "signal" "$(summary .command.signal "$OUT.2")" 9
}

@test "a command that cannot be executed: 127 or 126, one message, and no directory" {
	run -127 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- ./not-there
	same "errors" "$stderr" "frbpf: error: ./not-there: command not found"
	[[ ! -e $OUT ]]
	echo "text" >not-executable
	run -126 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- ./not-executable
	[[ $stderr == *"./not-executable: cannot be executed: Permission denied"* ]]
	[[ ! -e $OUT ]]
}

@test "rules of a file, of --when, sessions of --session: all are used" {
	cat >"$RULES" <<-EOF
		[rule-from-file]
		when = $WHEN
		if   = comm == "sleep"
	EOF
	run -2 frbpf_run --rules "$RULES" --when 'syscall:clock_nanosleep > 150ms' --when 'runqlat > 1h' \
		--session '-e cpu-clock -F 199 -g -m 64K' -o "$OUT" -- sleep 0.2
	same "rules" "$(summary '[.rules[].name]')" '["from-file","when-1","when-2"]'
	same "failed" "$(summary '[.rules[].failed]')" '[true,true,false]'
	same "sessions" "$(summary '[.sessions[].name]')" '["run-1"]'
	same "condition" "$(summary '.rules[0].if')" 'comm == "sleep"'
}

@test "without a rule the last window of the run is saved" {
	need_perf
	run -0 frbpf_run -o "$OUT" -- bash -c 'for ((i = 0; i < 200000; i++)); do :; done'
	same "kind" "$(summary '[.incidents[].last_window]')" '[true]'
	perf_quiet script -i "$(summary '.incidents[0].files[0].file')" -F comm
	grep -q bash "$perf_out"
}

# --- tasks

@test "children of children are included, also orphans of a double fork; others are not" {
	start_sleeper
	cat >tree.sh <<-'EOF'
		( setsid bash -c 'sleep 1; exec sleep 0.2' & ) &
	EOF
	run -2 --separate-stderr frbpf_run --when "$WHEN" --session '-e cpu-clock -F 99 -m 64K' -o "$OUT" -- \
		bash tree.sh
	[[ $stderr == *"processes that it left have not"* ]]
	same "ended by" "$(summary .ended_by)" command
	# meanwhile, the sleeper outside of the command slept twice or more for 200 ms
	same "matched" "$(summary '.rules[0].matched')" 2
	same "values" "$(summary '.rules[0].values.n')" 2
}

@test "samples are of the command's tree only" {
	need_perf
	need_tracepoints
	start_sleeper
	run -2 frbpf_run --when "$WHEN" -o "$OUT" -- bash -c 'sleep 0.2; true'
	local dump pids
	dump=$(summary '.incidents[0].files[] | select(.session == "sched").file')
	pids=$(events "$dump" 'sched:[a-z_]*' | cut -f2 | sort -u)
	[[ $pids ]]
	same "of others" "$(grep -cx "$sleeper" <<<"$pids" || true)" 0
	same "swapper" "$(grep -cx 0 <<<"$pids" || true)" 0
}

@test "events without a threshold: of the command's tree only, whoever causes them" {
	need_tracepoints sched:sched_process_exec
	start_sleeper
	cat >events.sh <<-'EOF'
		/bin/true
		/bin/true
		( setsid sh -c '/bin/true; sleep 0.5' & )
	EOF
	run -2 frbpf_run --when 'sched:sched_process_exec' --when 'syscall:openat fails (ELOOP)' -o "$OUT" -- \
		sh events.sh
	# sh, true, true, setsid, sh, true, sleep; programs outside of the command are not counted
	same "executed" "$(summary '.rules[0].matched')" 7
	same "values" "$(summary '.rules[0].values')" null
	same "failed" "$(summary '.rules[1].matched')" 0
	grep -q 'it happened to' "$OUT/summary.md"
}

@test "a signal from outside: the subject is its target" {
	need_tracepoints signal:signal_generate
	"$FRBPF" run --when 'signal:signal_generate' --if 'sig == SIGUSR2' -o "$OUT" -- \
		sh -c 'trap : USR2; echo $$ >pid; while ! [ -e finished ]; do sleep 0.05; done' 2>run.err </dev/null \
		3>&- &
	local run_pid=$!
	background+=" $run_pid"
	wait_until 15 test -s pid || fail "$(cat run.err)"
	kill -USR2 "$(cat pid)"
	start_sleeper
	kill -USR2 "$sleeper"
	touch finished
	wait "$run_pid" || true
	same "signals" "$(summary '.rules[0].matched')" 1
	same "task" "$(summary '.incidents[0].triggers[0].pid')" "$(cat pid)"
}

@test "a task's switch back to its CPU is recorded, too" {
	need_perf
	need_tracepoints
	run -2 frbpf_run --when "$WHEN" -o "$OUT" -- sleep 0.2
	perf_quiet script \
		--show-switch-events -i "$(summary '.incidents[0].files[] | select(.session == "sched").file')"
	grep -q 'sleep.*PERF_RECORD_SWITCH OUT' "$perf_out"
	grep -q 'sleep.*PERF_RECORD_SWITCH IN' "$perf_out"
}

@test "-p: a process with its threads and children, until that process ends" {
	start_slow_process
	start_sleeper
	local other=$sleeper slow=${background%% "$sleeper"}
	slow=${slow// /}
	run -2 frbpf_run -p "$slow" --when "$WHEN" --dumps 1 --for 20s -o "$OUT"
	same "ended by" "$(summary .ended_by)" dumps
	same "process" "$(summary '.incidents[0].triggers[0].pid')" "$slow"
	[[ $other != "$slow" ]]
	run -2 frbpf_run -p "$slow" --when "$WHEN" --when "$WHEN" --if "tid != $slow" --when "$WHEN" \
		--if "tid == $slow" \
		--for 3s -o "$OUT.2"
	same "ended by" "$(summary .ended_by "$OUT.2")" time
	# each of the two threads fires its rule
	same "rules that matched" "$(summary '[.rules[].matched > 0]' "$OUT.2")" '[true,true,true]'
	frbpf_run -p "$slow" --when 'runqlat > 1h' -o "$OUT.3" &
	local run_pid=$!
	background+=" $run_pid"
	wait_until 15 test -e "$OUT.3/lock"
	wait_until 15 recording "$OUT.3"
	kill -KILL "$slow"
	wait "$run_pid"
	same "ended by" "$(summary .ended_by "$OUT.3")" target
	run -125 --separate-stderr frbpf_run -p "$slow" --when 'runqlat > 1h' -o "$OUT.4"
	[[ $stderr == *"-p $slow: "* && ! -e $OUT.4 ]]
}

@test "-p of a program that is just starting: all of its threads" {
	local pid in_fd out_fd run_pid
	coproc late { exec "$WORKLOADS/late_threads" 40 3>&-; }
	in_fd=${late[1]} out_fd=${late[0]}
	background+=" $late_PID"
	read -r -t 10 -u "$out_fd" pid
	frbpf_run -p "$pid" --session '-e sched:sched_switch -m 1M' --last-window --for 2s -o "$OUT" &
	run_pid=$!
	background+=" $run_pid"
	wait_until 15 test -e "$OUT/lock"
	echo go >&"$in_fd"
	expect_line "$out_fd" ready
	find "/proc/$pid/task" -mindepth 1 -maxdepth 1 ! -name "$pid" -printf '%f\n' | sort >"$BATS_TEST_TMPDIR/threads"
	wait "$run_pid"
	perf_quiet script -F tid,event -i "$(find "$OUT" -name 'perf.data.*')"
	awk '{print $1}' "$perf_out" | sort -u >"$BATS_TEST_TMPDIR/seen"
	same "threads" "$(wc -l <"$BATS_TEST_TMPDIR/threads")" 40
	same "threads without an event" "$(comm -23 "$BATS_TEST_TMPDIR/threads" "$BATS_TEST_TMPDIR/seen" | wc -l)" 0
}

@test "--cgroup: its tasks, and those below" {
	need_cgroup2
	start_sleeper
	local below=$cgroup/below
	mkdir "$below"
	bash -c 'echo $$ >"$1/cgroup.procs"; while :; do sleep 0.2; done' _ "$below" </dev/null &>/dev/null 3>&- &
	local member=$!
	background+=" $member"
	run -2 frbpf_run --cgroup "$cgroup" --when "$WHEN" --dumps 1 --for 20s -o "$OUT"
	same "scope" "$(summary .scope.kind)" cgroup
	same "process" "$(summary '.incidents[0].triggers[0].comm')" sleep
	run -2 frbpf_run --cgroup "/${cgroup#"$(cgroup_mount)/"}" --when "$WHEN" --when "$WHEN" --if "ppid == $member" \
		--for 2s -o "$OUT.2"
	# all matches are those of the member, as the other sleeper is outside of the cgroup
	same "all, and those of the member" "$(summary '[.rules[].matched] | .[0] > 0 and .[0] == .[1]' "$OUT.2")" true
	kill -KILL "$member"
	wait "$member" || true
	wait_until 10 rmdir "$below"
	run -125 --separate-stderr frbpf_run --cgroup "$cgroup-not" --when "$WHEN" -o "$OUT.3"
	[[ $stderr == *"--cgroup $cgroup-not: No such file or directory"* && ! -e $OUT.3 ]]
	local deep=$cgroup
	for _ in {1..16}; do deep+=/d; done
	mkdir -p "$deep"
	run -125 --separate-stderr frbpf_run --cgroup "$deep" --when "$WHEN" -o "$OUT.4"
	find "$cgroup" -mindepth 1 -depth -type d -exec rmdir {} +
	[[ $stderr == *"--cgroup $deep: is "*" levels deep: only the first 15 are compared"* ]]
}

@test "-a: the whole machine" {
	start_sleeper
	run -2 frbpf_run -a --when "$WHEN" --if 'comm == "sleep"' --dumps 1 --for 20s -o "$OUT"
	same "scope" "$(summary .scope.kind)" all
	same "task" "$(summary '.incidents[0].triggers[0].comm')" sleep
}

# --- end

@test "--for and --dumps end the recording, and the command continues to its own end" {
	run -2 frbpf_run --for 2s --when "$WHEN" -o "$OUT" -- bash -c 'sleep 0.2; sleep 3; touch finished'
	same "ended by" "$(summary .ended_by)" time
	[[ -e finished ]]
	rm finished
	run -2 frbpf_run --dumps 1 --when "$WHEN" -o "$OUT.2" -- bash -c '
		sleep 0.2
		until compgen -G "$1/incidents/2*.json"; do sleep 0.05; done
		sleep 2
		touch finished' _ "$OUT.2"
	same "ended by" "$(summary .ended_by "$OUT.2")" dumps
	[[ -e finished ]]
}

@test "signals are forwarded to the command, and we end with it" {
	cat >trap.sh <<-'EOF'
		trap 'echo terminated; exit 7' TERM
		trap 'echo asked' USR1
		echo ready
		while :; do sleep 0.05; done
	EOF
	"$FRBPF" run --when 'runqlat > 1h' -o "$OUT" -- bash trap.sh >trap.out 2>trap.err </dev/null 3>&- &
	local run_pid=$! status=0
	background+=" $run_pid"
	wait_until 15 grep -q ready trap.out
	kill -USR1 "$run_pid"
	wait_until 15 grep -q asked trap.out
	kill -TERM "$run_pid"
	wait "$run_pid" || status=$?
	same "status" "$status" 7
	grep -q terminated trap.out
	same "ended by" "$(summary .ended_by)" command
}

@test "Ctrl-C reaches the command once, from the terminal, and frbpf continues to report" {
	cat >count.py <<-'EOF'
		import os, signal, sys, time
		hits = 0
		def hit(*_):
		    global hits
		    hits += 1
		signal.signal(signal.SIGINT, hit)
		print("foreground", os.tcgetpgrp(0) == os.getpgrp(), flush=True)
		end = time.monotonic() + 20
		while not hits and time.monotonic() < end: time.sleep(0.05)
		time.sleep(0.5)  # waits for a second signal
		print("hits", hits, flush=True)
	EOF
	cat >terminal.py <<-'EOF'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp(sys.argv[1], sys.argv[1:])
		out, sent = b"", False
		while True:
		    try: data = os.read(fd, 4096)
		    except OSError: break
		    if not data: break
		    out += data
		    if not sent and b"foreground" in out:
		        os.write(fd, b"\x03")
		        sent = True
		print(out.decode(), "status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
	run -0 timeout 60 python3 terminal.py "$FRBPF" run --when 'runqlat > 10s' -o "$OUT" -- python3 count.py 3>&-
	[[ $output == *True* && $output == *"hits 1"* && $output == *"status 0"* ]] || fail "$output"
	same "ended by" "$(summary .ended_by)" command
}

@test "the command starts with the signal mask of our caller" {
	run -0 frbpf_run --when 'runqlat > 10s' -o "$OUT" -- grep -E '^Sig(Blk|Ign)' /proc/self/status
	same "masks" "$output" "$(timeout 9 grep -E '^Sig(Blk|Ign)' /proc/self/status 3>&-; echo "frbpf: $OUT")"
}

@test "without a command, a signal ends the recording" {
	"$FRBPF" run -a --when 'runqlat > 1h' -o "$OUT" 2>run.err </dev/null 3>&- &
	local run_pid=$! status=0
	background+=" $run_pid"
	wait_until 15 recording "$OUT"
	kill -TERM "$run_pid"
	wait "$run_pid" || status=$?
	same "status" "$status" 0
	same "ended by" "$(summary .ended_by)" signal
}

@test "the command gets the standard streams, and with --log nobody else uses them" {
	run -2 --separate-stderr bash -c 'printf in | timeout 30 "$@" 3>&-' _ "$FRBPF" run --when "$WHEN" \
		--log "$work/log" -o "$OUT" -- bash -c 'cat; echo; echo err >&2; sleep 0.2; ls -1 /proc/self/fd'
	# the command gets the files that our caller had open, and none of the files that frbpf opened
	same "output" "$output" "$(printf in | timeout 9 bash -c 'cat; echo; ls -1 /proc/self/fd' 3>&-)"
	same "error" "$stderr" err
	grep -q 'rule when-1 fired' "$work/log"
}

# --- bad input

refused() { # WANTED ARGUMENTS...
	local wanted=$1
	shift
	run -125 --separate-stderr frbpf_run "$@"
	[[ $stderr == *"$wanted"* ]] || fail "$stderr"
	[[ ! $output ]]
	same "directories" "$(find "$work" -mindepth 1 -maxdepth 1 -type d)" ""
	[[ ! -e ran ]]
}

@test "bad input: one clear error, 125, nothing run and nothing made" {
	refused 'no command: give one after --' --when "$WHEN"
	refused "command line: error: unknown unit 'mss'" --when 'runqlat > 20mss' --session '-e cpu-clock' \
		--session '-e cpu-clock' -- touch ran
	refused "unknown event" --when "$WHEN" --session '-e cpu-clok' -- touch ran
	refused 'take one line each' --when $'runqlat > 1s\ndump = none' -- touch ran
	refused '--if belongs to a --when' --if 'cpu == 0' -- touch ran
	refused 'exclude each other' -a -p 1 --when "$WHEN"
	refused '--for 5: ' --for 5 -- touch ran
	refused '--dumps 0: ' --dumps 0 -- touch ran
	refused '--exit-code 256: ' --exit-code 256 -- touch ran
	refused "unknown option '--rulez'" --rulez x -- touch ran
	refused "$work/none.conf: cannot read it" --rules "$work/none.conf" -- touch ran
	refused '--user no-such-user: no such user' --user=no-such-user -- touch ran
	refused 'not called by sudo' --user -- touch ran
	printf '[rule-x]\nwhen = runqlatt > 1s\n' >"$RULES"
	refused "$RULES:2:8: error: " --rules "$RULES" -- touch ran
}

@test "an output directory that exists is refused, and stays as it is" {
	mkdir "$OUT"
	echo mine >"$OUT/file"
	run -125 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- touch ran
	[[ $stderr == *"it exists already"* && ! -e ran ]]
	same "content" "$(find "$OUT" -mindepth 1)" "$OUT/file"
	ln -s nowhere link
	run -125 --separate-stderr frbpf_run --when "$WHEN" -o link -- touch ran
	[[ ! -e ran && ! -e nowhere ]]
}

@test "without -o every run has a directory of its own" {
	frbpf_run --when 'runqlat > 1h' -- true &
	frbpf_run --when 'runqlat > 1h' -- true
	wait $!
	same "directories" "$(find . -maxdepth 1 -name 'frbpf-2*' -type d | wc -l)" 2
}

# --- other recorders, and leftovers

@test "beside a running daemon and another run: each has its own results" {
	write_rules <<-EOF
		[rule-daemon]
		when = $WHEN
		if = comm == "sleep"
		cooldown = 0
	EOF
	frbpf_load
	frbpf_run --when "$WHEN" -o "$OUT.1" -- bash -c 'sleep 0.2; sleep 0.2' &
	local one=$! status=0
	run -2 frbpf_run --when "$WHEN" -o "$OUT.2" -- sleep 0.3
	wait "$one" || status=$?
	same "status" "$status" 2
	same "values of one" "$(summary '.rules[0].values.n' "$OUT.1")" 2
	same "values of two" "$(summary '.rules[0].values.n' "$OUT.2")" 1
	wait_for_incident "$BASE" 1
	frbpf status >/dev/null
	(($(frbpf status --json | jq '.rules[0].matched') >= 3))
	same "announced" "$(FRBPF_BASE='' "$FRBPF" status --base "$BASE" --json | jq -r .base)" "$BASE"
}

@test "a run leaves only its directory behind" {
	need_bpftool
	local run_pid objects
	"$FRBPF" run --when "$WHEN" -o "$OUT" -- sh -c 'until [ -e "$1" ]; do sleep 0.2; done' _ \
		"$BATS_TEST_TMPDIR/go" \
		2>/dev/null </dev/null 3>&- &
	run_pid=$!
	background+=" $run_pid"
	wait_until 15 has_links "$run_pid"
	objects=$(bpf_objects_of "$run_pid")
	[[ $(left_of "$objects") ]]
	touch "$BATS_TEST_TMPDIR/go"
	wait "$run_pid" || true
	wait_until 15 nothing_left_of "$objects"
	same "processes" "$(daemons_of "$OUT")" ""
	same "in /run" "$(grep -rlF "$work" /run/frbpf 2>/dev/null)" "" # meanwhile, others may leave their files there
	same "files" "$(find "$work" -mindepth 1 -maxdepth 1)" "$OUT"
	same "in the directory" "$(cd "$OUT" && find . -maxdepth 1 | sort | tr '\n' ' ')" \
		". ./incidents ./junit.xml ./session-cpu ./session-sched ./summary.json ./summary.md "
}

@test "a killed run takes its BPF programs with it, and the command continues" {
	"$FRBPF" run --when 'runqlat > 1h' -o "$OUT" -- bash -c \
		'echo ready >ready; until [ -e go ]; do sleep 0.05; done; touch finished' 2>/dev/null </dev/null \
		3>&- &
	need_bpftool
	local run_pid=$! objects
	wait_until 15 test -e ready
	objects=$(bpf_objects_of "$run_pid")
	[[ $(left_of "$objects") ]]
	kill -KILL "$run_pid"
	wait "$run_pid" || true
	wait_until 15 nothing_left_of "$objects"
	touch go
	wait_until 15 test -e finished
}
