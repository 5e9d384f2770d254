#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules about other rules of the file.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
}

teardown() {
	common_teardown
}

send() { # MESSAGE
	local socket
	socket=$(frbpf status --json | jq -re .app.socket)
	printf %s "$1" | timeout -k 5 60 "$WORKLOADS/app_send" "$socket" 3>&- >/dev/null
}

has_matched() { # RULE
	(($(status_of "$1" .matched) > 0))
}

@test "one rule after another: both markers are in the dump" {
	local name json first second
	# a rare event, so that the window reaches back to the first rule's match
	cat >"$RULES" <<-EOF
		[session-suspends]
		run = -e power:suspend_resume -m 64K --overwrite --switch-output -a

		[rule-both]
		when = rule:first then rule:second within 1h

		[rule-first]
		when = app:first > 1ms
		dump = none

		[rule-second]
		when = app:second
		dump = none
	EOF
	frbpf check "$RULES" | grep -qx '  programs:   none: it uses those of the rules that it names' ||
		fail "$(frbpf check "$RULES")"
	frbpf_load
	send second
	wait_until 30 has_matched second
	send "first 7ms"
	wait_until 30 has_matched first
	same "fired before the second comes after the first" "$(status_of both .fired)" 0
	send second
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	jq -e '.triggers | length == 1 and (.[0] | .rule == "both" and .source == "app" and (.after | length == 1 and
		(.[0] | .rule == "first" and .value_ns == 7000000)) and
		.after[0].time.monotonic_ns < .time.monotonic_ns)' "$json" || fail "$(cat "$json")"
	first=$(jq '.triggers[0].after[0].time.monotonic_ns' "$json")
	second=$(jq '.triggers[0].time.monotonic_ns' "$json")
	same "markers that perf shows" "$(events "$(dumps suspends)" frbpf:trigger | cut -f 5)" "$first"$'\n'"$second"
	frbpf show | grep -q '^  after      rule first: app:first > 1ms, 7ms, .* before, by ' || fail "$(frbpf show)"
}
