#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Conditions on paths: of executables, also across mounts and in containers. Globs over cgroups.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	common_setup
	prog=$BATS_TEST_TMPDIR/frbpf-pcat
	cp "$(command -v cat)" "$prog"
	cgroup=
}

teardown() {
	common_teardown
	[[ ! $cgroup ]] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
}

# rule NAME CONDITION: prints a rule that counts failing calls of openat
rule() {
	printf '[rule-%s]\nwhen = syscall:openat fails (ENOENT)\nif = %s\ndump = none\ncooldown = 0\n\n' "$1" "$2"
}

# matched NAME: prints how often the rule has matched
matched() {
	frbpf status --json | jq -re --arg name "$1" '.rules[] | select(.name == $name).matched'
}

# Runs COMMAND... PROGRAM, which tries to open a file that does not exist.
miss() {
	! "$@" /frbpf/no/such/file 2>/dev/null
}

# in_cgroup DIRECTORY COMMAND...: runs COMMAND in that cgroup
in_cgroup() (
	echo "$BASHPID" >"$1/cgroup.procs"
	shift
	"$@"
)

need_cgroups() {
	local mount
	mount=$(findmnt -nt cgroup2 -o TARGET | head -1)
	[[ $mount ]] || skip "no cgroup2 file system"
	cgroup=$mount/frbpf-test-$$
	mkdir "$cgroup" 2>/dev/null || {
		cgroup=
		skip "no cgroup to be had here"
	}
	(echo "$BASHPID" >"$cgroup/cgroup.procs") 2>/dev/null || skip "no task can be moved to a cgroup here"
}

@test "exe is the path that /proc shows: equal, in a list, by a glob, negated" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	"$prog" "$BATS_TEST_TMPDIR/fifo" 3>&- &
	pid=$!
	exec {hold}>"$BATS_TEST_TMPDIR/fifo"
	exe=$(readlink "/proc/$pid/exe")
	exec {hold}>&-
	wait "$pid"
	{
		rule same "exe == \"$exe\""
		rule list "exe in (/no/such, \"$exe\")"
		rule glob "exe ~ \"*/frbpf-pc?t\""
		rule other "comm == frbpf-pcat && exe != \"$exe\""
		rule part "comm == frbpf-pcat && exe == \"${exe%t}\""
		rule none "comm == frbpf-pcat && !(exe ~ \"*/frbpf-pcat\")"
		rule current "current.exe == \"$exe\""
		printf '[rule-hit]\nwhen = sched:sched_process_exit\nif = %s\ndump = none\ncooldown = 0\n\n' \
			'process == frbpf-pcat && cgroup ~ "/*" && exe != "/no/such"'
	} | write_rules
	frbpf_load
	for _ in 1 2 3; do miss "$prog"; done
	between "$(matched same)" 3 1000 same
	for name in list glob current; do same "$name" "$(matched "$name")" "$(matched same)"; done
	between "$(matched hit)" 3 1000 "a tracepoint"
	for name in other part none; do same "$name" "$(matched "$name")" 0; done
}

@test "exe of a file that was replaced, of one below a mount, of one in a different root" {
	command -v unshare pivot_root >/dev/null || skip "no unshare or pivot_root"
	unshare -m true 2>/dev/null || skip "no mount namespace to be had here"
	box=$BATS_TEST_TMPDIR/box
	mkdir -p "$box"
	{
		rule replaced "exe == \"$prog\""
		rule below "exe == \"$box/deep/frbpf-pcat\""
		rule box "exe == /bin/frbpf-box"
	} | write_rules
	frbpf_load
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	"$prog" "$BATS_TEST_TMPDIR/fifo" /frbpf/no/such/file 2>/dev/null 3>&- &
	pid=$!
	exec {hold}>"$BATS_TEST_TMPDIR/fifo"
	before=$(matched replaced)
	rm "$prog"
	exec {hold}>&-
	wait "$pid" || true
	between "$(matched replaced)" $((before + 1)) 1000 "of a program whose file is gone"
	cp "$(command -v cat)" "$prog"

	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -c 'mount -t tmpfs tmpfs "$1" && mkdir "$1/deep" && mount --bind "$2" "$1/deep" &&
		! "$1/deep/frbpf-pcat" /frbpf/no/such/file' - "$box" "$BATS_TEST_TMPDIR" 2>/dev/null
	between "$(matched below)" 1 1000 "below a mount"

	# shellcheck disable=SC2016
	unshare -m bash -c 'mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir usr bin old && cp "$2" bin/frbpf-box &&
		mount --bind /usr usr && ln -s usr/lib lib && ln -s usr/lib64 lib64 && pivot_root . old &&
		! /bin/frbpf-box /frbpf/no/such/file' - "$box" "$prog" 2>/dev/null
	between "$(matched box)" 1 1000 "in a root of its own"
}

@test "a glob over cgroups: existing ones, later ones, and those below" {
	need_cgroups
	top=/${cgroup##*/}
	mkdir "$cgroup/b.scope"
	{
		rule services "cgroup ~ \"$top/*.service\""
		rule deep "cgroup ~ \"$top/*.service/b?low\""
		rule scopes "comm == frbpf-pcat && cgroup ~ \"$top/*.scope\""
		rule others "comm == frbpf-pcat && !(cgroup ~ \"$top/*.service\")"
		rule all "comm == frbpf-pcat && cgroup ~ \"/\""
	} | write_rules
	frbpf_load
	mkdir "$cgroup/a.service"
	in_cgroup "$cgroup/a.service" miss "$prog"
	n=$(matched services)
	between "$n" 1 1000 "in one that was made later"
	same "scopes" "$(matched scopes)" 0
	same "others" "$(matched others)" 0
	same "deep" "$(matched deep)" 0
	mkdir "$cgroup/a.service/below"
	in_cgroup "$cgroup/a.service/below" miss "$prog"
	between "$(matched services)" $((n + 1)) 1000 "below it"
	between "$(matched deep)" 1 1000 "deep"
	in_cgroup "$cgroup/b.scope" miss "$prog"
	between "$(matched scopes)" 1 1000 "in one that was there before"
	between "$(matched others)" 1 1000 "negated"
	same "all" "$(matched all)" $(($(matched scopes) + $(matched services)))
	# the cgroup is deeper than the levels that are compared: only the first levels count
	n=$(matched scopes) below=$cgroup/b.scope$(printf '/%d' {1..40})
	mkdir -p "$below"
	in_cgroup "$below" miss "$prog"
	between "$(matched scopes)" $((n + 1)) 1000 "40 levels below it"
}
