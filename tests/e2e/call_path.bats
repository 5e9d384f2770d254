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
	# the first 511 bytes
	same "long" "$(status_of long .matched)" 1
	same "calls that did not fail" "$(status_of slow .matched)" 4
}
