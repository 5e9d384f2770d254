# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # every test is a shell of its own; for the tests; set by bats
#
# Shared by the tests of frbpf run and frbpf bench. Each test works in a separate directory; OUT is the output
# directory.

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

# What the rules of these tests watch: a sleep that no other test makes.
WHEN='syscall:clock_nanosleep > 100ms'

# frbpf_run ARGUMENTS...: runs frbpf run with a time limit
frbpf_run() {
	timeout -k 5 240 "$FRBPF" run "$@" 3>&-
}

# frbpf_bench ARGUMENTS...: runs frbpf bench with a time limit
frbpf_bench() {
	timeout -k 5 240 "$FRBPF" bench "$@" 3>&-
}

# Options for frbpf bench with which the result does not depend on what else runs on this machine.
ALONE=(--others-limit 100%)
# A rule that never fires.
NEVER='syscall:clock_nanosleep > 1h'

# save FILE ARGUMENTS...: saves a baseline of five runs. All tests of the same command share it.
save() { # FILE ARGUMENTS...
	local file=$1 of=$BATS_FILE_TMPDIR/${*:2}
	shift
	if [[ ! -e $of ]]; then
		frbpf_bench "${ALONE[@]}" --repeat 5 --when "$NEVER" --save-baseline "$file" -o "$OUT.saved" "$@"
		cp "$file" "$of"
	fi
	cp "$of" "$file"
}

summary() { # JQ-PATH [DIRECTORY]
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

# Starts a process that sleeps for 200 ms again and again. Its pid is in $sleeper.
start_sleeper() {
	bash -c 'while :; do sleep 0.2; done' </dev/null &>/dev/null 3>&- &
	sleeper=$!
	background+=" $sleeper"
}

# Starts a process whose two threads both sleep for 200 ms again and again. Its pid is in $sleeper.
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

# Prints lines such as "prog 12" for the BPF objects that process $1 has open.
bpf_objects_of() {
	sed -nE 's/^(prog|map|link)_id:[[:space:]]*([0-9]+)$/\1 \2/p' "/proc/$1/fdinfo/"* 2>/dev/null | sort -u
}

has_links() {
	bpf_objects_of "$1" | grep -q '^link '
}

# Prints the objects in list $1 that the kernel still has. A worker frees links a moment later.
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

# The recording has begun when the directories of sessions exist, as these come with the rings.
recording() { # DIRECTORY: with -a, evidence is recorded
	[[ -d $1/session-cpu && (-d $1/session-sched || -d $1/session-evidence) ]]
}
