#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The findings of `frbpf doctor`, compared with this machine.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	common_setup
	need_root
	need_btf
}

teardown() {
	[[ ! ${taker-} ]] || kill "$taker"
	common_teardown
}

level_of() { # PART
	jq -r --arg part "$1" '.findings[] | select(.part == $part) | .level' "$BATS_TEST_TMPDIR/found"
}

# Prints the names of the sources that were attached, one a line.
attached() {
	jq -r '.findings[] | select(.part == "rules") | .text' "$BATS_TEST_TMPDIR/found" |
		sed 's/^attached: //; s/, /\n/g'
}

@test "as root: doctor finds what works, and nothing else" {
	local status=0
	frbpf doctor --json >"$BATS_TEST_TMPDIR/found" || status=$?
	[[ $(jq '.findings | length' "$BATS_TEST_TMPDIR/found") -ge 8 ]]
	[[ $(jq .ok "$BATS_TEST_TMPDIR/found") == "$( ((status == 0)) && echo true || echo false)" ]]
	[[ $(level_of privileges) == ok ]] || fail "$(<"$BATS_TEST_TMPDIR/found")"
	[[ $(level_of 'names of the kernel') == ok ]]
	[[ $(level_of evidence) =~ ^(ok|less)$ ]] # "less" where the kernel lacks a tracepoint
	[[ $(level_of tracepoints) == ok ]]
	# sysfs has a file for a hardware PMU if there is one
	[[ $(level_of 'perf events') == "$([[ -e /sys/bus/event_source/devices/cpu ]] && echo ok || echo less)" ]]
	[[ $(level_of 'real time') == "$(chrt -f 1 true 2>/dev/null && echo ok || echo less)" ]]
	# where securityfs is not mounted, this cannot be compared
	[[ ! -r /sys/kernel/security/lsm ||
		$(level_of confinement) == "$(grep -q landlock /sys/kernel/security/lsm && echo ok || echo less)" ]]
	# each source of rules is reported as attached or as failed
	local source
	for source in $(frbpf events --json | jq -r '.events[] | select(.kind == "source") | .name'); do
		attached | grep -qxF "${source%%[:(]*}" || [[ $(level_of "rules on ${source%%[:(]*}") == no ]] ||
			[[ $source =~ ^(app|usdt|rule)$ ]] || fail "$source is not examined"
	done
	# the text output has the same findings
	frbpf doctor >"$BATS_TEST_TMPDIR/words" || ((status != 0))
	[[ $(grep -cE '^(ok|less|no) +[a-z]' "$BATS_TEST_TMPDIR/words") == \
		"$(jq '.findings | length' "$BATS_TEST_TMPDIR/found")" ]]
}

@test "without a capability: doctor says what fails, and the command that helps" {
	run -1 frbpf_as -cap_38,-sys_admin doctor
	[[ $output =~ no\ +privileges\ +CAP_PERFMON\ is\ missing ]] || fail "$output"
	[[ $output =~ no\ +rules\  ]]
	[[ $output == *'sudo setcap cap_perfmon,'* ]]
	run -0 frbpf_as -sys_nice doctor
	[[ $output =~ less\ +privileges\ +CAP_SYS_NICE ]] || fail "$output"
	[[ $output =~ ok\ +rules\  ]]
}

text_of() { # PART
	jq -r --arg part "$1" '.findings[] | select(.part == $part) | .text' "$BATS_TEST_TMPDIR/found"
}

# Runs doctor with an empty DIRECTORY.
without() { # DIRECTORY
	# shellcheck disable=SC2016 # of sh
	unshare -m sh -c 'mount -t tmpfs none "$1" && shift && exec "$@"' - "$1" "$FRBPF" doctor --json \
		>"$BATS_TEST_TMPDIR/found" </dev/null 3>&- || (($? == 1))
}

@test "evidence: doctor says which tracepoints are missing, and what why cannot tell" {
	local tracing=/sys/kernel/tracing/events
	[[ -e $tracing/compaction/mm_compaction_begin ]] || skip "this kernel has no compaction"
	unshare -m true || skip "no mount namespaces"
	without "$tracing/compaction"
	[[ $(level_of evidence) == less ]] || fail "$(<"$BATS_TEST_TMPDIR/found")"
	[[ $(text_of evidence) == *'the time of compaction is unknown: this kernel has no compaction:mm_compaction_begin, compaction:mm_compaction_end'* ]] ||
		fail "$(text_of evidence)"
	[[ $(text_of evidence) != *block* ]]
}

@test "evidence: doctor says which BPF programs are refused, in the words of a session" {
	run -1 --separate-stderr frbpf_as -bpf,-sys_admin doctor
	[[ $output =~ less\ +evidence\ +the\ owner\ of\ a\ lock\ is\ not\ recorded:\  ]] || fail "$output"
}

frbpf_as() { # CAPABILITIES COMMAND
	timeout 60 setpriv --bounding-set "$1" --inh-caps "$1" -- "$FRBPF" "$2" --base "$BASE" </dev/null 2>&1 3>&-
}

@test "doctor finds a program of another tool that takes an event from us" {
	local id
	write_rules <<-'EOF'
		[session-oom]
		run = -e oom:mark_victim -m 64K --overwrite -a

		[daemon]
		base = /nowhere
	EOF
	sed -i "s|/nowhere|$BASE|" "$RULES"
	frbpf_load
	run -0 --separate-stderr frbpf doctor
	[[ $output == *'none keeps events from our sessions'* ]] || fail "$output"
	"$WORKLOADS/take_events" "$(</sys/kernel/tracing/events/oom/mark_victim/id)" >"$BATS_TEST_TMPDIR/taker" 3>&- &
	taker=$!
	wait_until 10 grep -q id "$BATS_TEST_TMPDIR/taker"
	id=$(jq .id "$BATS_TEST_TMPDIR/taker")
	bpftool prog show id "$id" | grep -q takes_events
	run -0 --separate-stderr frbpf doctor
	[[ $output =~ less\ +oom:mark_victim\ .*takes_events\ \(id\ $id\) ]] || fail "$output"
	frbpf_stop
}
