#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# TCP connections that are not established.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	common_setup
	unshare -n ip link set lo up 2>/dev/null || skip "no network namespaces here"
}

teardown() {
	common_teardown
}

@test "a refused connect, with peer, port and error, as perf sees the socket" {
	need_perf
	need_tracepoints sock:inet_sock_set_state
	write_rules <<-'EOF'
		[session-sockets]
		run = -e sock:inet_sock_set_state -m 64K --overwrite --switch-output -a

		[rule-refused]
		when = connect fails (ETIMEDOUT, ECONNREFUSED)
		if   = peer == 127.0.0.0/8 && port == 9 && comm == "frbpf-client"

		[rule-timed-out]
		when = connect fails (ETIMEDOUT)
		if   = comm == "frbpf-client"
		dump = none
	EOF
	cp "$(type -P bash)" "$BATS_TEST_TMPDIR/frbpf-client"
	frbpf_load
	# shellcheck disable=SC2016 # $1 is of that shell
	run unshare -n sh -c 'ip link set lo up && exec "$1" -c "exec 3<>/dev/tcp/127.0.0.1/9"' - \
		"$BATS_TEST_TMPDIR/frbpf-client"
	[[ $output == *refused* ]] || fail "$output"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "source" "$(manifest "$name" source)" connect
	same "comm" "$(manifest "$name" comm)" frbpf-client
	same "values" "$(jq -c '.triggers[0].args' "$BASE/incidents/$name.json")" \
		'{"peer":"127.0.0.1","port":9,"family":"inet","result":"failed","error":"ECONNREFUSED"}'
	same "of a timeout" "$(frbpf status --json | jq '.rules[] | select(.name == "timed-out").matched')" 0
	perf_quiet script -i "$(dumps sockets)" --ns
	grep -q 'frbpf:trigger:.*peer=127.0.0.1 port=9 family=inet result=failed error=ECONNREFUSED' "$perf_out" ||
		fail "$(cat "$perf_out")"
	grep -q 'dport=9 .*oldstate=TCP_CLOSE newstate=TCP_SYN_SENT' "$perf_out" || fail "$(cat "$perf_out")"
	frbpf show "$name" >"$BATS_TEST_TMPDIR/shown"
	grep -q 'peer.*127\.0\.0\.1' "$BATS_TEST_TMPDIR/shown" || fail "$(cat "$BATS_TEST_TMPDIR/shown")"
	grep -q 'perf script -i .*session-sockets' "$BATS_TEST_TMPDIR/shown" || fail "$(cat "$BATS_TEST_TMPDIR/shown")"
}
