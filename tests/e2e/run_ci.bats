#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf run in a pipeline: privileges, output for CI services, and the worked example.

# shellcheck disable=SC2154 # set by bats and the helpers
# shellcheck disable=SC2030,SC2031 # every test is a shell of its own
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load run_helpers

# --- privileges

# Makes a directory that any user can reach, with the program and a directory that belongs to user nobody.
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

@test "missing privileges: all of them, and the command that grants them" {
	need_unprivileged
	run -125 --separate-stderr as_nobody '' --when "$WHEN" -o out -- touch ran
	[[ $stderr == *"CAP_PERFMON"*"CAP_BPF"*"sudo setcap cap_perfmon,cap_bpf"*"+ep $open_dir/frbpf"* ]]
	[[ $stderr == *"--cap-add PERFMON --cap-add BPF"* ]]
	run -125 --separate-stderr as_nobody '+perfmon' --when "$WHEN" -o out -- touch ran
	[[ $stderr == *"missing: CAP_BPF"* && $stderr != *"CAP_PERFMON ("* ]]
	[[ ! -e ran && ! -e out ]]
	# an error in a rule is reported as such
	run -125 --separate-stderr as_nobody '' --when 'runqlatt > 1s' -o out -- touch ran
	[[ $stderr == *"command line:"*"runqlatt"* ]]
}

@test "--optional runs the command in any case, and the reports say so" {
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
	# without tracefs, PERF_RECORD_SWITCH records tell when the command left its CPU; these do not disturb other
	# perf users
	run -2 --separate-stderr as_nobody '+perfmon,+bpf,+ipc_lock' --when "$WHEN" -o plain -- sleep 0.2
	[[ $stderr != *"get mixed up"* ]] || fail "$stderr"
	perf script -f -i "$(summary '.incidents[0].files[] | select(.session == "sched").file' plain)" \
		--show-switch-events >script.txt 2>/dev/null
	grep -q '^ *sleep .*PERF_RECORD_SWITCH OUT' script.txt || fail "$(head script.txt)"
	run -2 --separate-stderr as_nobody '+perfmon,+bpf,+ipc_lock,+dac_read_search,+syslog' --when "$WHEN" -o two -- \
		sleep 0.2
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
	setcap cap_perfmon,cap_bpf,cap_ipc_lock,cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_sys_nice,cap_checkpoint_restore+ep \
		"$open_dir/frbpf" 2>/dev/null || skip "no file capabilities on this file system"
	run -0 --separate-stderr as_nobody '' --when 'runqlat > 1h' -o out -- grep CapEff /proc/self/status
	same "capabilities" "$output" "$(printf 'CapEff:\t0000000000000000')"
	same "recorded" "$(summary .recorded out)" true
	[[ $(summary '.sessions[].run' out) == *sched:sched_wak* ]] || fail "tracefs was not read"
	# The capabilities are used for files of the kernel. Of the files that the user names, only the user's own are
	# readable.
	install -m 0600 <(echo 'for root only') "$open_dir/secret"
	run -1 setpriv --reuid 65534 --regid 65534 --clear-groups "$open_dir/frbpf" check "$open_dir/secret"
	[[ $output == *"Permission denied"* && $output != *"for root"* ]] || fail "$output"
}

burns() { # PID
	[[ $(readlink "/proc/$1/exe") == */burn ]]
}

@test "file capabilities reach no files through the processes of others, and yet name these" {
	local dump theirs burner
	need_perf
	need_unprivileged
	setcap cap_perfmon,cap_bpf,cap_ipc_lock,cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_sys_nice,cap_checkpoint_restore+ep \
		"$open_dir/frbpf" 2>/dev/null || skip "no file capabilities on this file system"
	# a file that everybody may read, in a directory that only root can reach
	mkdir -p "$open_dir/closed/in"
	chmod 0700 "$open_dir/closed"
	install -m 0644 <(echo 'in a closed place') "$open_dir/closed/in/file"
	(cd "$open_dir/closed/in" && exec "$WORKLOADS/burn" --seconds 60) </dev/null &>/dev/null 3>&- &
	burner=$!
	background+=" $burner"
	wait_until 10 burns "$burner"
	for theirs in "/proc/$burner/cwd/file" "/proc/$burner/root/etc/hostname" /proc/1/maps; do
		run -1 setpriv --reuid 65534 --regid 65534 --clear-groups "$open_dir/frbpf" check "$theirs"
		[[ $output == *"Permission denied"* && $output != *"closed place"* ]] || fail "$theirs: $output"
	done
	run -0 --separate-stderr as_nobody '' -a --session '-e cpu-clock -F 999 -m 64K' --last-window -o out -- \
		sh -c 'sleep 1; grep CapEff /proc/$PPID/status'
	# of all its capabilities, only perfmon, bpf, ipc_lock and sys_nice are effective while it records
	same "effective" "$output" "$(printf 'CapEff:\t%016x' $((1 << 38 | 1 << 39 | 1 << 14 | 1 << 23)))"
	dump=$(find "$PWD/out" -name 'perf.data*')
	perf script -f -i "$dump" --show-mmap-events >script.txt 2>/dev/null
	grep -qE "MMAP2? $burner/.*burn" script.txt || fail "no map of the other user's program"
}

@test "--user: the command runs as the user who called sudo, and the directory is theirs" {
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

@test "names of tasks cannot inject anything into the reports" {
	cat >evil.py <<-'EOF'
		import ctypes, time
		ctypes.CDLL(None).prctl(15, b'</x>|`\n::e]\xff', 0, 0, 0)
		time.sleep(0.2)
	EOF
	GITHUB_ACTIONS=true run -2 --separate-stderr frbpf_run --when "$WHEN" -o "$OUT" -- python3 evil.py
	xmllint --noout "$OUT/junit.xml"
	jq -e . "$OUT/summary.json" >/dev/null
	same "commands" "$(grep -c '^::' <<<"$stderr")" 1
	run -1 grep -F '</x>|`' "$OUT/summary.md"
}

@test "the pipelines to paste are valid YAML, and their rules are valid" {
	python3 -c 'import yaml' 2>/dev/null || skip "no yaml module for python3"
	python3 -c 'import sys, yaml
for f in sys.argv[1:]: yaml.safe_load(open(f))' "$root"/configs/ci/*.yml
	run -0 "$FRBPF" run --rules "$root/configs/ci/rules.conf" --matches-only -o "$OUT" -- true
}

# --- the worked example

# With the higher threshold, a mere pause of the machine does not fire the rule.
lock_rules() {
	sed 's/150ms/1s/' "$root/tests/workloads/lock_service.conf" >"$RULES"
	grep -q '> 1s' "$RULES"
}

@test "a lock convoy fails the run, and the dump names the function that holds the lock" {
	need_perf
	need_tracepoints
	local dump
	lock_rules
	run -0 frbpf_run --rules "$RULES" -o "$OUT.good" -- "$WORKLOADS/lock_service"
	same "matched" "$(summary '.rules[0].matched' "$OUT.good")" 0
	run -2 frbpf_run --rules "$RULES" -o "$OUT" -- "$WORKLOADS/lock_service" --convoy --rounds 1 --fetch-ms 1500
	same "task" "$(summary '.incidents[0].triggers[0].comm')" worker
	dump=$(summary '.incidents[0].files[] | select(.session == "sched").file')
	perf_quiet script -i "$dump"
	# the task that slept with the lock: its stack has the function that held the lock
	awk -v RS= '/^ *refresher/ && /sched_switch/ && /refresh_catalog/ && /nanosleep/' "$perf_out" |
		grep -q refresh_catalog
	# the task that waited for the lock
	awk -v RS= '/^ *worker/ && /sched_switch/ && /futex_wait/' "$perf_out" | grep -q futex_wait
}

@test "the summary names the function that holds the lock, with its share in the window and in the rest of the run" {
	need_tracepoints
	local rows row here total
	lock_rules
	run -2 frbpf_run --rules "$RULES" -o "$OUT" -- "$WORKLOADS/lock_service" --convoy --fetch-ms 1500
	grep -qE '^\| [0-9.]+% \| [0-9.]+% \| refresher, S \|.* ← refresh_catalog ←' "$OUT/summary.md" ||
		fail "$(cat "$OUT/summary.md")"
	rows='.incidents[0].hot_stacks[] | select(.session == "sched" and .event == null)'
	row=$(summary "$rows | .stacks[] | select(.frames | any(.symbol == \"refresh_catalog\"))")
	[[ $row ]] || fail "$(summary "$rows")"
	# of all time off CPU in the window, 1500 ms belong to this stack
	total=$(summary "$rows | .here")
	here=$(jq -n "$(jq .percent <<<"$row") * $total / 100 | floor")
	between "$here" 1475000000 10000000000 "time of refresh_catalog"
	# after the dump, it holds the lock two more times: these make up the rest of the run
	same "in the rest" "$(jq '.percent_of_rest > 0' <<<"$row")" true
	(($(summary "$rows | .rest") >= 2950000000)) || fail "rest: $(summary "$rows | .rest")"
	# the dump that was saved only for this comparison is gone
	same "dumps" "$(find "$OUT" -name 'perf.data*' | wc -l)" 2
	same "manifests" "$(find "$OUT/incidents" -type f | wc -l)" 1
	same "incidents" "$(summary '.incidents | length')" 1
}

@test "a stack that is hot only in the window is shown with 0 % in the rest" {
	need_tracepoints
	keep_cpus_awake
	local rows row
	run -2 frbpf_run --when 'syscall:clock_nanosleep > 300ms' -o "$OUT" -- \
		bash -c '"$1" --ms 400; "$1" --ms 200 --call nanosleep' - "$WORKLOADS/slow_syscall"
	rows='.incidents[0].hot_stacks[] | select(.session == "sched" and .event == null)'
	row=$(summary "$rows | .stacks[] | select(.comm == \"frbpf-victim\" and
		(.frames | any(.symbol // \"\" | endswith(\"_sys_clock_nanosleep\"))))")
	same "it is in the window" "$(jq '.percent > 5' <<<"$row")" true
	same "it is in no rest" "$(jq '.percent_of_rest == 0' <<<"$row")" true
	same "its state" "$(jq -r .state <<<"$row")" S
	(($(summary "$rows | .rest") >= 200000000)) || fail "rest: $(summary "$rows | .rest")"
	# the Markdown summary has the same
	grep -qE '^\| [0-9.]+% \| 0\.0% \| frbpf-victim, S \|.*_sys_clock_nanosleep' "$OUT/summary.md" ||
		fail "$(cat "$OUT/summary.md")"
}
