#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The path passed to a system call.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$
}

teardown() {
	common_teardown
}

@test "rules see the path of a call as the program wrote it, whichever argument has it" {
	local long
	printf -v long '%0600d' 0
	write_rules <<-EOF
		[rule-below]
		when = syscall:* fails
		if = comm == "$victim" && path ~ "/frbpf-no/*"
		dump = none

		[rule-one]
		when = syscall:openat fails (ENOENT)
		if = comm == "$victim" && path == "/frbpf-no/a/b"
		dump = none

		[rule-other]
		when = syscall:* fails
		if = comm == "$victim" && path ~ "*frbpf-no*" && !(path ~ "/frbpf-no/*")
		dump = none

		[rule-long]
		when = syscall:openat fails
		if = comm == "$victim" && path ~ "/long/0*0"
		dump = none

		[rule-slow]
		when = syscall:openat > 1ns
		if = comm == "$victim" && path == "/dev/null"
		dump = none
	EOF
	frbpf_load
	# shellcheck disable=SC2016 # of perl
	perl -e '
		$0 = $ARGV[0];
		open(F, "<", "/frbpf-no/a/b") and die for 1 .. 3;
		open(F, "<", "/frbpf-no/a/bc") and die;
		mkdir("/frbpf-no/d/e") and die;
		rename("/frbpf-no/x", "/tmp/frbpf-y") and die;
		open(F, "<", "frbpf-no/a/b") and die for 1 .. 2;
		open(F, "<", "/frbpf-nobody") and die;
		open(F, "<", "/long/$ARGV[1]") and die;
		open(F, "<", "/dev/null") or die for 1 .. 4;
	' "$victim" "$long" 3>&-
	same "one path" "$(status_of one .matched)" 3
	same "below" "$(status_of below .matched)" 6
	same "not below" "$(status_of other .matched)" 3
	# the path is longer: only its first 511 bytes are compared
	same "long" "$(status_of long .matched)" 1
	same "calls that did not fail" "$(status_of slow .matched)" 4
}

@test "the manifest, show and why name the path or the address of a call that failed, as strace does" {
	command -v strace >/dev/null || skip "no strace"
	write_rules <<-EOF
		[rule-path]
		when = syscall:openat fails (ENOENT)
		if = comm == "$victim"

		[rule-peer]
		when = syscall:connect fails (ECONNREFUSED)
		if = comm == "$victim" && peer == 127.0.0.0/8

		[rule-neither]
		when = syscall:ftruncate fails
		if = comm == "$victim"
	EOF
	frbpf_load >/dev/null
	cat >"$BATS_TEST_TMPDIR/calls.pl" <<-'EOF'
		use Socket;
		$0 = $ARGV[0];
		open(F, "<", "/srv/frbpf no\e[31m/x") and die;
		socket(S, AF_INET, SOCK_DGRAM, 0) or die;
		bind(S, sockaddr_in(0, INADDR_LOOPBACK)) or die;
		my ($port) = sockaddr_in(getsockname(S)); # most likely, nobody listens on this port by TCP
		socket(C, AF_INET, SOCK_STREAM, 0) or die;
		connect(C, sockaddr_in($port, INADDR_LOOPBACK)) and die;
		syscall(77, 999, 0); # ftruncate
	EOF
	[[ $(uname -m) == x86_64 ]] || sed -i 's/syscall(77/syscall(46/' "$BATS_TEST_TMPDIR/calls.pl"
	strace -o "$BATS_TEST_TMPDIR/strace" -e trace=openat,connect,ftruncate perl "$BATS_TEST_TMPDIR/calls.pl" \
		"$victim" 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	jq -rs '[.[] | (.triggers + .merged)[]] | sort_by(.time.monotonic_ns)[] | .call' "$BASE"/incidents/*.json \
		>"$BATS_TEST_TMPDIR/calls"
	port=$(sed -n 's/^connect(.*sin_port=htons(\([0-9]*\)).*/\1/p' "$BATS_TEST_TMPDIR/strace")
	same "calls" "$(<"$BATS_TEST_TMPDIR/calls")" "openat(\"/srv/frbpf no"$'\e'"[31m/x\") = -1 ENOENT
connect(127.0.0.1:$port) = -1 ECONNREFUSED
ftruncate(...) = -1 EBADF"
	grep -qF '"/srv/frbpf no\33[31m/x", O_RDONLY|O_CLOEXEC) = -1 ENOENT' "$BATS_TEST_TMPDIR/strace" ||
		fail "$(cat "$BATS_TEST_TMPDIR/strace")"
	first=$(incidents "$BASE" | head -n 1)
	run -0 frbpf show "$first"
	[[ $output == *$'\n  call       openat("/srv/frbpf no?[31m/x") = -1 ENOENT'$'\n'* ]] || fail "$output"
	run frbpf why "$first"
	same "status: $output" "$status" 0
	[[ ${lines[1]} == '          of openat("/srv/frbpf no?[31m/x") = -1 ENOENT' ]] || fail "$output"
	frbpf why --json "$first" | jq -e '.call | startswith("openat(\"/srv/frbpf no")'
}

@test "the manifest and show name the path of a call that hangs" {
	write_rules <<-EOF
		[rule-hang]
		when = pending(syscall:openat) > 100ms
		if = comm == "cat"
	EOF
	mkfifo "$BATS_TEST_TMPDIR/nobody writes"
	frbpf_load >/dev/null
	cat "$BATS_TEST_TMPDIR/nobody writes" 3>&- &
	reader=$!
	wait_for_incident "$BASE" 1
	json=$BASE/incidents/$(incidents "$BASE" | head -n 1).json
	wait_until 20 jq -e '.triggers[0].state.waits_in.path' "$json" >/dev/null
	true >"$BATS_TEST_TMPDIR/nobody writes"
	wait "$reader"
	same "subject" "$(jq .triggers[0].subject.pid "$json")" "$reader"
	same "call" "$(jq -r .triggers[0].state.waits_in.syscall "$json")" openat
	same "path" "$(jq -r .triggers[0].state.waits_in.path "$json")" "$BATS_TEST_TMPDIR/nobody writes"
	run -0 frbpf show
	[[ $output == *"waits in   openat of \"$BATS_TEST_TMPDIR/nobody writes\", at "* ]] || fail "$output"
}

hangs_in_flock() {
	frbpf ls 2>&1 | grep -qw lock
}

@test "the manifest names the file of a descriptor, when the call has ended and while it hangs" {
	write_rules <<-EOF
		[daemon]
		merge = 0

		[rule-sync]
		when = syscall:fsync,fdatasync > 1ns
		if = comm == "$victim"

		[rule-pipe]
		when = syscall:write > 1ns
		if = comm == "$victim"

		[rule-lock]
		when = pending(syscall:flock) > 100ms
		if = comm == "$victim"
	EOF
	frbpf_load >/dev/null
	exec 9>"$BATS_TEST_TMPDIR/locked"
	flock 9
	# shellcheck disable=SC2016 # of perl
	perl -MFcntl=:flock -MIO::Handle -e '
		$0 = $ARGV[0];
		open(F, ">", "$ARGV[1]/synced") or die;
		F->sync or die;
		open(L, "<", "$ARGV[1]/locked") or die;
		pipe(R, W);
		syswrite(W, "x");
		flock(L, LOCK_EX) or die;
	' "$victim" "$BATS_TEST_TMPDIR" 3>&- 9>&- &
	locker=$!
	wait_until 20 hangs_in_flock || fail "no incident of flock: $(frbpf ls)"
	exec 9>&-
	wait "$locker"
	frbpf_stop >/dev/null
	jq -rs '[.[] | (.triggers + .merged)[]] | unique_by(.rule)[] | .call' "$BASE"/incidents/*.json \
		>"$BATS_TEST_TMPDIR/calls"
	same "calls" "$(<"$BATS_TEST_TMPDIR/calls")" "flock(<$BATS_TEST_TMPDIR/locked>)
write(...) = 1
fsync(<$BATS_TEST_TMPDIR/synced>) = 0"
}
