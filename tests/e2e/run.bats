#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf run: what it records of a command and of what that forks, how it ends, and what it leaves.

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

setup() {
	common_setup
	need_root
	need_btf
	work=$BATS_TEST_TMPDIR/work
	OUT=$work/out
	mkdir "$work"
	cd "$work" || return 1
	background=
	cgroup=
	unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI CI_JOB_URL CI_PROJECT_DIR SUDO_UID
}

teardown() {
	local pid
	for pid in $background; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[[ ! $cgroup ]] || rmdir "$cgroup" || true
	[[ ! ${open_dir-} ]] || rm -rf "$open_dir"
	cd / || true
	common_teardown
}

# What is slow in these tests: a sleep that no other test makes.
WHEN='syscall:clock_nanosleep > 100ms'

# frbpf_run ARGUMENTS...
frbpf_run() {
	timeout -k 5 60 "$FRBPF" run "$@" 3>&-
}

summary() { # JQ-PATH [FOLDER]
	jq -rc "$1" "${2:-$OUT}/summary.json"
}

cgroup_mount() {
	awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

need_cgroup2() {
	[[ $(cgroup_mount) ]] || skip "no cgroup2 file system"
	cgroup=$(cgroup_mount)/frbpf-test-$$-$BATS_TEST_NUMBER
	mkdir "$cgroup" 2>/dev/null || {
		cgroup=
		skip "cgroup2 cannot be written"
	}
}

# A process of its own that sleeps for 200 ms again and again; its pid is in $sleeper.
start_sleeper() {
	bash -c 'while :; do sleep 0.2; done' </dev/null &>/dev/null 3>&- &
	sleeper=$!
	background+=" $sleeper"
}

# The same within one process: a thread of it, too.
start_slow_process() {
	python3 -c '
import threading, time
def loop():
    while True: time.sleep(0.2)
threading.Thread(target=loop, daemon=True).start()
loop()' </dev/null &>/dev/null 3>&- &
	sleeper=$!
	background+=" $sleeper"
}

# Lines such as "prog 12" of the BPF objects that the process $1 has open.
bpf_objects_of() {
	sed -nE 's/^(prog|map|link)_id:[[:space:]]*([0-9]+)$/\1 \2/p' "/proc/$1/fdinfo/"* 2>/dev/null | sort -u
}

has_links() {
	bpf_objects_of "$1" | grep -q '^link '
}

# Those of the list $1 that the kernel still has. Links are freed by a worker of it, a moment later.
left_of() {
	local kind id
	while read -r kind id; do
		PATH=$PATH:/usr/sbin bpftool "$kind" show id "$id" >/dev/null 2>&1 && echo "$kind $id"
	done <<<"$1"
	return 0
}

nothing_left_of() {
	[[ ! $(left_of "$1") ]]
}

need_bpftool() {
	PATH=$PATH:/usr/sbin bpftool prog show >/dev/null 2>&1 || skip "no bpftool"
}

# --- passing and failing

@test "no rule fires: the command's output and status, reports, and not one dump" {
	run -0 --separate-stderr frbpf_run --when 'syscall:clock_nanosleep > 20s' -o "$OUT" -- \
		bash -c 'sleep 0.1; echo out; echo err >&2'
	same "standard output" "$output" out
	[[ $stderr == *err* ]]
	same "dumps" "$(find "$OUT" -name 'perf.data*' | wc -l)" 0
	same "recorded" "$(summary .recorded)" true
	same "fired" "$(summary .fired)" false
	same "exit status" "$(summary .exit_status)" 0
	same "matched" "$(summary '.rules[0].matched')" 0
	# the distribution is that of all values: the sleep is there, below the threshold
	same "values" "$(summary '.rules[0].values.n')" 1
	(($(summary '.rules[0].values.max_ns') >= 100000000))
	xmllint --noout "$OUT/junit.xml"
	same "failures" "$(xmllint --xpath 'string(//testsuite/@failures)' "$OUT/junit.xml")" 0
	grep -q 'no rule fired' "$OUT/summary.md"
}

@test "a rule fires: status 2, a dump that perf reads, and reports that lead to it" {
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

@test "the command's own status comes first, as a shell shows it" {
	run -3 frbpf_run --when "$WHEN" -o "$OUT.1" -- bash -c 'sleep 0.2; exit 3'
	same "fired" "$(summary .fired "$OUT.1")" true
	same "status" "$(summary .command.exit_status "$OUT.1")" 3
	run -137 frbpf_run --when "$WHEN" -o "$OUT.2" -- bash -c 'kill -KILL $$'
	same "signal" "$(summary .command.signal "$OUT.2")" 9
}

@test "a command that cannot be executed: 127 or 126, said once, and no folder" {
	run -127 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- ./not-there
	same "errors" "$stderr" "frbpf: error: ./not-there: command not found"
	[[ ! -e $OUT ]]
	echo "text" >not-executable
	run -126 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- ./not-executable
	[[ $stderr == *"./not-executable: cannot be executed: Permission denied"* ]]
	[[ ! -e $OUT ]]
}

@test "rules of a file, of --when, sessions of --session: all of them are there" {
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

# --- whom it is about

@test "children of children are in, also orphans of a double fork; others are not" {
	start_sleeper
	cat >tree.sh <<-'EOF'
		( setsid bash -c 'sleep 0.3; exec sleep 0.2' & ) &
	EOF
	run -2 --separate-stderr frbpf_run --when "$WHEN" --session '-e cpu-clock -F 99 -m 64K' -o "$OUT" -- bash tree.sh
	[[ $stderr == *"processes that it left have not"* ]]
	same "ended by" "$(summary .ended_by)" command
	# the sleeper beside made two or more of 200 ms meanwhile
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
	[[ ! $(grep -x "$sleeper" <<<"$pids") ]]
	same "swapper" "$(grep -cx 0 <<<"$pids" || true)" 0
}

@test "a task's way back to its CPU is recorded, too" {
	need_perf
	need_tracepoints
	run -2 frbpf_run --when "$WHEN" -o "$OUT" -- sleep 0.2
	perf_quiet script --show-switch-events -i "$(summary '.incidents[0].files[] | select(.session == "sched").file')"
	grep -q 'sleep.*PERF_RECORD_SWITCH OUT' "$perf_out"
	grep -q 'sleep.*PERF_RECORD_SWITCH IN' "$perf_out"
}

@test "-p: a process with its threads and what it forks, until it ends" {
	start_slow_process
	start_sleeper
	local other=$sleeper slow=${background%% "$sleeper"}
	slow=${slow// /}
	run -2 frbpf_run -p "$slow" --when "$WHEN" --dumps 1 --for 20s -o "$OUT"
	same "ended by" "$(summary .ended_by)" dumps
	same "process" "$(summary '.incidents[0].triggers[0].pid')" "$slow"
	[[ $other != "$slow" ]]
	run -2 frbpf_run -p "$slow" --when "$WHEN" --for 1s -o "$OUT.2"
	same "ended by" "$(summary .ended_by "$OUT.2")" time
	# two threads in a second
	(($(summary '.rules[0].matched' "$OUT.2") >= 4))
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

# Its sessions' folders come with the rings.
recording() { # FOLDER
	[[ -d $1/session-cpu && -d $1/session-sched ]]
}

@test "--cgroup: what is in it, and what is below" {
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
	run -2 frbpf_run --cgroup "/${cgroup#"$(cgroup_mount)/"}" --when "$WHEN" --for 1s -o "$OUT.2"
	between "$(summary '.rules[0].matched' "$OUT.2")" 1 5 "one sleeper of two"
	kill -KILL "$member"
	wait "$member" || true
	wait_until 10 rmdir "$below"
	run -125 --separate-stderr frbpf_run --cgroup "$cgroup-not" --when "$WHEN" -o "$OUT.3"
	[[ $stderr == *"--cgroup $cgroup-not: No such file or directory"* && ! -e $OUT.3 ]]
}

@test "-a: the whole machine" {
	start_sleeper
	run -2 frbpf_run -a --when "$WHEN" --if 'comm == "sleep"' --dumps 1 --for 20s -o "$OUT"
	same "scope" "$(summary .scope.kind)" all
	same "task" "$(summary '.incidents[0].triggers[0].comm')" sleep
}

# --- how it ends

@test "--for and --dumps end the recording, and the command goes on to its own end" {
	run -2 frbpf_run --for 500ms --when "$WHEN" -o "$OUT" -- bash -c 'sleep 0.2; sleep 0.6; touch done'
	same "ended by" "$(summary .ended_by)" time
	[[ -e done ]]
	rm done
	run -2 frbpf_run --dumps 1 --when "$WHEN" -o "$OUT.2" -- bash -c '
		sleep 0.2
		until compgen -G "$1/incidents/2*.json"; do sleep 0.05; done
		sleep 1
		touch done' _ "$OUT.2"
	same "ended by" "$(summary .ended_by "$OUT.2")" dumps
	[[ -e done ]]
}

@test "signals are for the command, and its end is ours" {
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

@test "the command starts with the signals that we were given" {
	run -0 frbpf_run --when 'runqlat > 1h' -o "$OUT" -- grep -E '^Sig(Blk|Ign)' /proc/self/status
	same "masks" "$output" "$(timeout 9 grep -E '^Sig(Blk|Ign)' /proc/self/status 3>&-; echo "frbpf: $OUT")"
}

@test "without a command SIGINT ends the recording" {
	"$FRBPF" run -a --when 'runqlat > 1h' -o "$OUT" 2>run.err </dev/null 3>&- &
	local run_pid=$! status=0
	background+=" $run_pid"
	wait_until 15 recording "$OUT"
	kill -TERM "$run_pid"
	wait "$run_pid" || status=$?
	same "status" "$status" 0
	same "ended by" "$(summary .ended_by)" signal
}

@test "standard streams are the command's, and with --log they are its alone" {
	run -2 --separate-stderr bash -c 'printf in | timeout 30 "$@" 3>&-' _ "$FRBPF" run --when "$WHEN" \
		--log "$work/log" -o "$OUT" -- bash -c 'cat; echo; echo err >&2; sleep 0.2; ls -1 /proc/self/fd'
	# what our caller has open is the command's, and nothing of ours is
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
	same "folders" "$(find "$work" -mindepth 1 -maxdepth 1 -type d)" ""
	[[ ! -e ran ]]
}

@test "bad input: one clear error, 125, nothing run and nothing made" {
	refused 'no command: give one behind --' --when "$WHEN"
	refused "command line:6:18: error: unknown unit 'mss'" --when 'runqlat > 20mss' --session '-e cpu-clock' --session '-e cpu-clock' -- touch ran
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
	refused 'nobody called sudo' --user -- touch ran
	printf '[rule-x]\nwhen = runqlatt > 1s\n' >"$RULES"
	refused "$RULES:2:8: error: " --rules "$RULES" -- touch ran
}

@test "an output folder that exists is refused, and stays as it is" {
	mkdir "$OUT"
	echo mine >"$OUT/file"
	run -125 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- touch ran
	[[ $stderr == *"it exists already"* && ! -e ran ]]
	same "content" "$(find "$OUT" -mindepth 1)" "$OUT/file"
	ln -s nowhere link
	run -125 --separate-stderr frbpf_run --when "$WHEN" -o link -- touch ran
	[[ ! -e ran && ! -e nowhere ]]
}

@test "without -o every run has a folder of its own" {
	frbpf_run --when 'runqlat > 1h' -- true &
	frbpf_run --when 'runqlat > 1h' -- true
	wait $!
	same "folders" "$(find . -maxdepth 1 -name 'frbpf-2*' -type d | wc -l)" 2
}

# --- beside others, and afterwards

@test "beside a running daemon and another run: each has its own" {
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

@test "nothing is left behind but the folder" {
	need_bpftool
	local before after run_pid objects
	before=$(find / -xdev -newer "$BASE/.." -path '/run/frbpf*' 2>/dev/null || true)
	"$FRBPF" run --when "$WHEN" -o "$OUT" -- sleep 2 2>/dev/null </dev/null 3>&- &
	run_pid=$!
	background+=" $run_pid"
	wait_until 15 has_links "$run_pid"
	objects=$(bpf_objects_of "$run_pid")
	[[ $(left_of "$objects") ]]
	wait "$run_pid" || true
	wait_until 15 nothing_left_of "$objects"
	same "processes" "$(daemons_of "$OUT")" ""
	after=$(find / -xdev -newer "$BASE/.." -path '/run/frbpf*' 2>/dev/null || true)
	same "/run" "$after" "$before"
	same "files" "$(find "$work" -mindepth 1 -maxdepth 1)" "$OUT"
	same "in the folder" "$(cd "$OUT" && find . -maxdepth 1 | sort | tr '\n' ' ')" \
		". ./incidents ./junit.xml ./session-cpu ./session-sched ./summary.json ./summary.md "
}

@test "killed, it takes its programs with it, and the command goes on" {
	"$FRBPF" run --when 'runqlat > 1h' -o "$OUT" -- bash -c 'echo ready >ready; sleep 1; touch done' 2>/dev/null </dev/null 3>&- &
	need_bpftool
	local run_pid=$! objects
	wait_until 15 test -e ready
	objects=$(bpf_objects_of "$run_pid")
	[[ $(left_of "$objects") ]]
	kill -KILL "$run_pid"
	wait "$run_pid" || true
	wait_until 15 nothing_left_of "$objects"
	wait_until 15 test -e done
}

# --- who may

# A place that any user reaches, with the program and a folder of theirs.
need_unprivileged() {
	open_dir=$(mktemp -d /tmp/frbpf-test.XXXXXX)
	chmod 0755 "$open_dir"
	cp "$FRBPF" "$open_dir/frbpf"
	mkdir "$open_dir/theirs"
	chown 65534:65534 "$open_dir/theirs"
	cd "$open_dir/theirs" || return 1
}

as_nobody() { # CAPABILITIES ARGUMENTS...
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups ${caps:+--inh-caps "$caps" --ambient-caps "$caps"} \
		timeout -k 5 60 "$open_dir/frbpf" run "$@" </dev/null 3>&-
}

@test "not allowed: everything that is missing, and the command that gives it" {
	need_unprivileged
	run -125 --separate-stderr as_nobody '' --when "$WHEN" -o out -- touch ran
	[[ $stderr == *"CAP_PERFMON"*"CAP_BPF"*"sudo setcap cap_perfmon,cap_bpf"*"+ep $open_dir/frbpf"* ]]
	[[ $stderr == *"--cap-add PERFMON --cap-add BPF"* ]]
	run -125 --separate-stderr as_nobody '+perfmon' --when "$WHEN" -o out -- touch ran
	[[ $stderr == *"missing: CAP_BPF"* && $stderr != *"CAP_PERFMON ("* ]]
	[[ ! -e ran && ! -e out ]]
	# what is wrong all the same is said as such
	run -125 --separate-stderr as_nobody '' --when 'runqlatt > 1s' -o out -- touch ran
	[[ $stderr == *"command line:"*"runqlatt"* ]]
}

@test "--optional runs the command all the same, and the reports say so" {
	need_unprivileged
	run -5 --separate-stderr as_nobody '' --optional --when "$WHEN" -o out -- bash -c 'echo ran; exit 5'
	same "output" "$output" ran
	[[ $stderr == *"not recorded: running the command without"* ]]
	same "recorded" "$(summary .recorded out)" false
	[[ $(summary .reason out) == *CAP_PERFMON* ]]
	same "skipped" "$(xmllint --xpath 'string(//testsuite/@skipped)' out/junit.xml)" 1
	run -125 as_nobody '' --optional --when 'runqlatt > 1s' -o out2 -- touch ran
	[[ ! -e ran ]]
}

@test "a user with CAP_PERFMON and CAP_BPF records; with CAP_IPC_LOCK and more as root does" {
	need_perf
	need_unprivileged
	run -2 as_nobody '+perfmon,+bpf' --when "$WHEN" --session '-e cpu-clock -F 99 -g -m 16K' -o one -- sleep 0.2
	same "owner" "$(stat -c %u one one/summary.json | sort -u)" 65534
	run -2 --separate-stderr as_nobody '+perfmon,+bpf,+ipc_lock,+dac_read_search,+syslog' --when "$WHEN" -o two -- sleep 0.2
	[[ $stderr != *warning* ]]
	local dump
	dump=$(summary '.incidents[0].files[] | select(.session == "sched").file' two)
	perf script -f -i "$dump" >script.txt 2>/dev/null
	grep -q 'sched:sched_switch' script.txt
	grep -q '__schedule' script.txt
	grep -q 'clock_nanosleep' script.txt
}

@test "file capabilities are enough, and the command does not get them" {
	need_unprivileged
	setcap cap_perfmon,cap_bpf,cap_ipc_lock,cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_sys_nice+ep \
		"$open_dir/frbpf" 2>/dev/null || skip "no file capabilities on this file system"
	run -0 --separate-stderr as_nobody '' --when 'runqlat > 1h' -o out -- grep CapEff /proc/self/status
	same "capabilities" "$output" "$(printf 'CapEff:\t0000000000000000')"
	same "recorded" "$(summary .recorded out)" true
}

@test "--user: the command runs as who called sudo, and the folder is theirs" {
	local name
	name=$(getent passwd 65534 | cut -d: -f1)
	[[ $name ]] || skip "no user with uid 65534"
	need_unprivileged
	SUDO_UID=65534 run -2 --separate-stderr frbpf_run --user --when "$WHEN" -o "$open_dir/out" -- \
		bash -c 'id -u; id -g; echo $USER; sleep 0.2'
	same "identity" "$(tr '\n' ' ' <<<"$output")" "65534 $(id -g "$name") $name "
	same "owner" "$(find "$open_dir/out" -printf '%U\n' | sort -u)" 65534
	SUDO_UID=65534 run -0 frbpf_run "--user=$name" --when 'runqlat > 1h' -o "$open_dir/out2" -- true
}

# --- pipelines

@test "GitHub: an annotation per rule that fired, and the summary on the job's page" {
	: >step.md
	GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$work/step.md \
		run -2 --separate-stderr frbpf_run --when "$WHEN" --when 'runqlat > 1h' -o "$OUT" -- sleep 0.2
	same "annotations" "$(grep -c '^::error title=frbpf%3A rule when-1::' <<<"$stderr")" 1
	same "of other rules" "$(grep -c 'when-2' <<<"$stderr" || true)" 0
	cmp step.md "$OUT/summary.md"
}

@test "GitLab: links from the job to the summary" {
	GITLAB_CI=true CI_JOB_URL=https://gitlab.example/g/p/-/jobs/7 CI_PROJECT_DIR=$work \
		run -2 frbpf_run --when "$WHEN" -o "$OUT" -- sleep 0.2
	same "links" "$(jq -r '.frbpf[].external_link.url' "$OUT/gl-annotations.json" | sort -u)" \
		https://gitlab.example/g/p/-/jobs/7/artifacts/file/out/summary.md
	same "labels" "$(jq '.frbpf | length' "$OUT/gl-annotations.json")" 2
}

@test "names of tasks cannot write into the reports" {
	cat >evil.py <<-'EOF'
		import ctypes, time
		ctypes.CDLL(None).prctl(15, b'</x>|`\n::e]\xff', 0, 0, 0)
		time.sleep(0.2)
	EOF
	GITHUB_ACTIONS=true run -2 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- python3 evil.py
	xmllint --noout "$OUT/junit.xml"
	jq -e . "$OUT/summary.json" >/dev/null
	same "commands" "$(grep -c '^::' <<<"$stderr")" 1
	[[ ! $(grep -F '</x>|`' "$OUT/summary.md") ]]
}

@test "the pipelines to paste are YAML, and their rules are right" {
	python3 -c 'import yaml' 2>/dev/null || skip "no yaml module for python3"
	python3 -c 'import sys, yaml
for f in sys.argv[1:]: yaml.safe_load(open(f))' "$root"/configs/ci/*.yml
	run -0 "$FRBPF" run --rules "$root/configs/ci/rules.conf" --matches-only -o "$OUT" -- true
}

# --- the worked example

@test "a lock convoy fails the run, and the dump names the function that holds the lock" {
	need_perf
	need_tracepoints
	local conf=$root/tests/workloads/lock_service.conf dump
	run -0 frbpf_run --rules "$conf" -o "$OUT.good" -- "$WORKLOADS/lock_service"
	same "matched" "$(summary '.rules[0].matched' "$OUT.good")" 0
	run -2 frbpf_run --rules "$conf" -o "$OUT" -- "$WORKLOADS/lock_service" --convoy
	same "task" "$(summary '.incidents[0].triggers[0].comm')" worker
	dump=$(summary '.incidents[0].files[] | select(.session == "sched").file')
	perf_quiet script -i "$dump"
	# who went to sleep with the lock: between the begin of the wait and its end
	awk -v RS= '/^ *refresher/ && /sched_switch/ && /refresh_catalog/ && /nanosleep/' "$perf_out" | grep -q refresh_catalog
	# and who waited for it
	awk -v RS= '/^ *worker/ && /sched_switch/ && /futex_wait/' "$perf_out" | grep -q futex_wait
}
