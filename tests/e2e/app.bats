#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# app:NAME: messages of applications, and malicious messages.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	stay=$BATS_TEST_TMPDIR/stay
	write_rules <<-'EOF'
		[rule-slow]
		when = app:slow > 100ms
		cooldown = 0

		[rule-bad]
		when = app:answer
		if = status >= 500 && route ~ "/api/*"
		cooldown = 0
	EOF
}

teardown() {
	common_teardown
}

app() { # FIELD
	frbpf status --json | jq -re ".app.$1"
}

send() { # MESSAGE ARGUMENTS...
	local message=$1
	shift
	printf %b "$message" | timeout -k 5 60 "$WORKLOADS/app_send" "$(app socket)" "$@" 3>&-
}

# Sends a message from a process that stays alive until `let_go`, so that it exists when the message is read. The output
# of app_send is in $stay.
send_and_stay() { # MESSAGE ARGUMENTS...
	send "$@" --until "$BASE/go" >"$stay" &
	stayed=$!
}

let_go() {
	touch "$BASE/go"
	wait "$stayed"
	rm "$BASE/go"
	cat "$stay"
}

# Like send, but as user nobody, who is given access to the base directory for this.
send_as_nobody() { # MESSAGE ARGUMENTS...
	local message=$1 socket
	shift
	socket=$(app socket)
	chmod 711 "$BASE"
	[[ -x $BASE/app_send ]] || cp "$WORKLOADS/app_send" "$BASE/"
	(
		cd "$BASE" || exit 1
		[[ $socket != "$BASE"/* ]] || socket=app
		printf %b "$message" |
			timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups ./app_send "$socket" "$@" \
			3>&-
	)
}

received() { # N
	(($(app received) >= $1))
}

# Runs COMMAND in a mount namespace that has the socket at the path that the examples use.
at_run() { # COMMAND...
	# shellcheck disable=SC2016 # of the inner shell
	unshare -m sh -c 'mkdir -p /run/frbpf && { [ "$1" = /run/frbpf/app ] ||
		mount --bind "$(dirname "$1")" /run/frbpf; } && shift && exec "$@"' - "$(app socket)" "$@" 3>&-
}

@test "a message fires its rule: sender, value, and a window that covers the value" {
	local sent name dump time
	frbpf_load
	workload slow_syscall --ms 300 --times 1 >/dev/null
	send_and_stay 'slow 200ms' --comm frbpf-app
	wait_for_incident "$BASE" 1
	sent=$(let_go)
	name=$(incidents "$BASE")
	same rule "$(manifest "$name" rule)" slow
	same source "$(manifest "$name" source)" app
	same value "$(manifest "$name" value)" 200000000
	same comm "$(manifest "$name" comm)" frbpf-app
	same pid "$(manifest "$name" pid)" "$(json "$sent" .pid)"
	time=$(manifest "$name" time)
	# the time at which the message was sent, not the time at which it was read
	between "$time" "$(($(json "$sent" .end_ns) - $(json "$sent" .longest_ns)))" "$(json "$sent" .end_ns)" "time"
	dump=$(dumps sched)
	same trigger "$(events "$dump" frbpf:trigger | cut -f5)" "$time"
	same begin "$(events "$dump" frbpf:begin | cut -f5)" "$((time - 200000000))"
	jq -e ".sessions[] | select(.name == \"sched\") | .window.start.monotonic_ns <= $((time - 200000000))" \
		"$BASE/incidents/$name.json"
	# the window has switches of other tasks from before the begin marker
	(($(events "$dump" sched:sched_switch | awk -F'\t' -v t=$((time - 200000000)) '$5 < t' | wc -l) > 0))
}

@test "a window that does not reach back to the beginning is reported as short, with the ring size that would hold it" {
	local name window
	cat >"$RULES" <<-EOF
		[session-sched]
		run = -e sched:sched_switch -m 8K --overwrite --switch-output -a
		[rule-slow]
		when = app:slow > 100ms
	EOF
	frbpf_load
	"$WORKLOADS/pingpong" --loops 2000 --cpu 0 >/dev/null 3>&-
	# `check` reports how much the ring of the running recorder holds
	{
		cat "$RULES"
		printf '[rule-hung]\nwhen = blocked > 1h\n'
	} >"$BATS_TEST_TMPDIR/more.conf"
	run -0 --separate-stderr frbpf check "$BATS_TEST_TMPDIR/more.conf"
	[[ $stderr == *"more.conf:6:8: warning: the running recorder holds "*" in the rings of session 'sched'"* ]] ||
		fail "$stderr"
	send 'slow 5s' >/dev/null
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	window=$(jq -c '.sessions[0].window' "$BASE/incidents/$name.json")
	jq -e '.short and .asked_ns >= 5000000000 and .covered_ns < .asked_ns and .ring_needed_bytes >= 16384' \
		<<<"$window" ||
		fail "$window"
	frbpf ls | grep -q ' short (.* of 5.*s, wants -m ' || fail "$(frbpf ls)"
	frbpf show | grep -q '^  short      every CPU has .* of the 5.*s requested; -m .* would have held them$' ||
		fail "$(frbpf show)"
}

@test "a duration up to the threshold does not fire, nor does a message without a duration" {
	frbpf_load
	for text in 'slow 100ms' 'slow' 'slow 0' 'slow 99999us' 'slower 1s' 'slow 1s\n'; do
		send "$text" >/dev/null
	done
	wait_until 10 received 6
	same matched "$(status_of slow .matched)" 1
	same "of no rule" "$(app unknown)" 1
}

@test "conditions look at the values of a message" {
	frbpf_load
	for text in 'answer status=500 route=/api/x' 'answer status=499 route=/api/x' 'answer status=500 route=/app' \
		'answer status=500' 'answer route=/api/x' 'answer 3s route="/api/a b" status=0x1F4 other=1' \
		'answer status=abc route=/api/x'; do
		send "$text" >/dev/null
	done
	wait_until 10 received 7
	same matched "$(status_of bad .matched)" 2
	wait_for_incident "$BASE" 1
	same args "$(jq -c .triggers[0].args "$BASE/incidents/$(incidents "$BASE" | head -n 1).json")" \
		'{"status":500,"route":"/api/x"}'
	same "largest" "$(status_of bad .max_value_ns)" 3000000000
}

@test "the sender may name one of its threads, but no other thread" {
	local sent name other
	printf '[daemon]\nmerge = 0\n' >>"$RULES"
	frbpf_load
	send_and_stay 'slow 1s' --thread
	wait_for_incident "$BASE" 1
	sent=$(let_go)
	name=$(incidents "$BASE")
	same tid "$(manifest "$name" tid)" "$(json "$sent" .tid)"
	same pid "$(manifest "$name" pid)" "$(json "$sent" .pid)"
	[[ $(manifest "$name" tid) != "$(manifest "$name" pid)" ]]
	send_and_stay "slow 1s tid=$$"
	wait_for_incident "$BASE" 2
	other=$(let_go)
	name=$(incidents "$BASE" | tail -n 1)
	same "tid of another" "$(manifest "$name" tid)" "$(json "$other" .pid)"
}

@test "any user may send, and is recognised; uid and cooldown use the sender" {
	local sent name
	cat >>"$RULES" <<-'EOF'

		[rule-nobody]
		when = app:hello
		if = uid == 65534
		cooldown = 1h per uid
	EOF
	frbpf_load
	send hello >/dev/null
	send_as_nobody 'hello tid=1' --comm frbpf-nobody --until go >"$stay" &
	stayed=$!
	wait_for_incident "$BASE" 1
	sent=$(let_go)
	send_as_nobody hello >/dev/null
	name=$(incidents "$BASE")
	same rule "$(manifest "$name" rule)" nobody
	same comm "$(manifest "$name" comm)" frbpf-nobody
	same pid "$(manifest "$name" pid)" "$(json "$sent" .pid)"
	same tid "$(manifest "$name" tid)" "$(json "$sent" .pid)"
	same uid "$(jq .triggers[0].subject.uid "$BASE/incidents/$name.json")" 65534
	wait_until 10 received 3
	same matched "$(status_of nobody .matched)" 2
	same cooldown "$(status_of nobody .suppressed.cooldown)" 1
}

has_no_more_files() { # PID N
	(($(find "/proc/$1/fd" -type l | wc -l) <= $2))
}

@test "a malformed message is counted and does no harm" {
	local pid fds n=0 text
	frbpf_load
	pid=$(daemon_pid)
	fds=$(find "/proc/$pid/fd" -type l | wc -l)
	for text in '' '\n' 'slow\0' 'slow 1s\0 x=1' '\x1b[2J 1s' 'slow 1' 'slow 99999999999999999999d' 'slow 31d' \
		'slow 29d' 'slow 1s a=1 a=2' 'slow 1s a="' '../../etc/passwd 1s' '%s%n 1s' \
		"$(printf 'A%.0s' {1..5000})"; do
		n=$((n + 1))
		send "$text" >/dev/null
	done
	head -c 60000 /dev/urandom | "$WORKLOADS/app_send" "$(app socket)" >/dev/null 3>&-
	wait_until 10 received $((n + 1))
	same malformed "$(app malformed)" $((n + 1))
	same matched "$(status_of slow .matched)" 0
	# descriptors in a message are closed
	send 'slow 1s' --fds 253 >/dev/null
	wait_for_incident "$BASE" 1
	same pid "$(daemon_pid)" "$pid"
	# the daemon may still be busy with the dump, or with earlier messages
	wait_until 60 has_no_more_files "$pid" "$fds" || fail "descriptors: $(ls -l "/proc/$pid/fd"), before $fds"
}

@test "a flood of one user is limited and counted, and disturbs no other user and no other rule" {
	local flood victim=frbpf-$$
	cat >>"$RULES" <<-EOF

		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		cooldown = 0
	EOF
	frbpf_load
	send_as_nobody 'slow 1s' --times 100000 >"$BATS_TEST_TMPDIR/flood" &
	flood=$!
	wait_until 10 received 1000
	workload slow_syscall --ms 20 --times 1 --comm "$victim" >/dev/null
	wait "$flood"
	flood=$(cat "$BATS_TEST_TMPDIR/flood")
	same "sent or refused" "$(($(json "$flood" .sent) + $(json "$flood" .refused)))" 100000
	wait_until 10 received "$(json "$flood" .sent)"
	same "received" "$(app received)" "$(json "$flood" .sent)"
	(($(app limited) > 0))
	same "matched and limited" "$(($(app limited) + $(status_of slow .matched)))" "$(app received)"
	same "the other rule" "$(status_of call .fired)" 1
	# a message of another user arrives at once
	send 'answer status=500 route=/api/' >/dev/null
	wait_until 10 received $(($(json "$flood" .sent) + 1))
	same "another user's" "$(status_of bad .matched)" 1
	[[ $(frbpf status -v) == *"messages, "*" dropped (their user sent too many)"* ]]
}

@test "the socket comes with the first rule for messages and goes with the last" {
	local socket
	frbpf_load
	socket=$(app socket)
	[[ -S $socket && $(stat -c %a "$socket") == 666 ]]
	send 'answer status=500 route=/api/' >/dev/null
	wait_until 10 received 1
	# the rule now tests another value of the message: the socket stays
	sed -i 's/^if = status.*/if = code == 7/' "$RULES"
	frbpf_load
	send 'answer code=7' >/dev/null
	send 'answer status=500 route=/api/' >/dev/null
	wait_until 10 received 3
	same matched "$(status_of bad .matched)" 1
	sed -i '/^\[rule/,$d' "$RULES"
	printf '[rule-x]\nwhen = runqlat > 10s\n' >>"$RULES"
	frbpf_load
	[[ ! -e $socket ]]
	same app "$(frbpf status --json | jq -c .app)" null
	run -1 --separate-stderr frbpf trigger slow
	[[ $stderr == *"nobody listens"*"app:"* ]]
}

@test "frbpf trigger sends a message, and explains errors in one" {
	frbpf_load
	run -0 frbpf trigger answer 1s status=500 'route=/api/a "b" \c'
	[[ ! $output ]]
	wait_for_incident "$BASE" 1
	same rule "$(manifest "$(incidents "$BASE")" rule)" bad
	# the sender may have ended before its name was looked up: the output then says so
	run -0 frbpf ls
	[[ $output == *"app:answer, 1s by "[a-z]*"tid "* || $output == *"by tid "*", which had ended"* ]] ||
		fail "$output"
	[[ $output != *" by  "* ]] || fail "$output"
	run -0 frbpf show
	[[ $output == *"  subject "*"uid 0"* ]] || fail "$output"
	run -1 --separate-stderr frbpf trigger
	[[ $stderr == *"the name of a message is expected"*"Usage:"* ]]
	run -1 --separate-stderr frbpf trigger slow 5
	[[ $stderr == *"'5': a duration, such as 812ms, or KEY=VALUE is expected here"* ]]
	run -1 --separate-stderr frbpf trigger slow a=1 a=2
	[[ $stderr == *"'a=2': this key appears twice"* ]]
	run -1 --separate-stderr frbpf trigger 'a b' x
	[[ $stderr == *"'b': a duration, such as"* ]]
	same received "$(app received)" 1
	frbpf_stop
	run -1 --separate-stderr frbpf trigger slow
	[[ $stderr == *"nobody listens"* ]]
}

@test "a killed daemon leaves a socket, which the next one takes over" {
	frbpf_load
	kill -KILL "$(daemon_pid)"
	wait_until 10 no_daemon
	frbpf_load
	send 'slow 1s' >/dev/null
	wait_for_incident "$BASE" 1
}

@test "the examples send what their rule watches" {
	local dir=$root/configs/examples n=1
	cat >"$RULES" <<-'EOF'
		[session-sched]
		run = -e sched:sched_switch -m 256K --overwrite --switch-output -a
		[rule-example]
		when = app:slow-request > 500ms
		if = status == 500 && route ~ "/api/*"
		cooldown = 0
	EOF
	frbpf_load
	at_run true || skip "no mount namespace to be had"
	cc -Wall -Wextra -Werror -o "$BATS_TEST_TMPDIR/app" "$dir/app.c"
	at_run "$BATS_TEST_TMPDIR/app"
	if command -v python3 >/dev/null; then
		at_run python3 "$dir/app.py"
		n=$((n + 1))
	fi
	if command -v go >/dev/null; then
		HOME=$BATS_TEST_TMPDIR go build -o "$BATS_TEST_TMPDIR/go-app" "$dir/app.go"
		at_run "$BATS_TEST_TMPDIR/go-app"
		n=$((n + 1))
	fi
	if java --list-modules 2>/dev/null | grep -q '^jdk.compiler'; then
		PATH=${FRBPF%/*}:$PATH FRBPF_BASE=$BASE timeout 60 java "$dir/App.java" 3>&-
		n=$((n + 1))
	fi
	wait_until 10 received "$n"
	same matched "$(status_of example .matched)" "$n"
	# at most ten lines each
	for file in "$dir"/*; do
		(($(wc -l <"$file") <= 10)) || fail "$file is longer than ten lines"
	done
}

@test "the probe of frbpf.h is a USDT note that perf and readelf recognise" {
	run -0 readelf -n "$WORKLOADS/app_probe"
	[[ $output == *"Provider: frbpf"*"Name: slow_request"* && $output == *"Name: constant"* ]]
	[[ $output == *"Arguments: 8@"* ]]
	workload app_probe 3
}

@test "frbpf run receives the messages of its command, and no others" {
	local out=$BATS_TEST_TMPDIR/out go=$BATS_TEST_TMPDIR/go socket=/run/frbpf/app recorder i
	cat >"$BATS_TEST_TMPDIR/cmd" <<-'EOF'
		set -- "$1" "$2" "$FRBPF_APP"
		printf 'slow 200ms' | "$1" "$3" || exit 9
		echo "$3" >"$2.socket" && mv "$2.socket" "$2.inside"
		while [ ! -e "$2" ]; do sleep 0.05; done
		printf 'last' | "$1" "$3" --until "$2.end"
	EOF
	cat >>"$RULES" <<-'EOF'
		[daemon]
		merge = 0

		[rule-last]
		when = app:last
	EOF
	timeout -k 5 60 "$FRBPF" run --rules "$RULES" -o "$out" -- \
		sh "$BATS_TEST_TMPDIR/cmd" "$WORKLOADS/app_send" "$go" "$socket" "$out" >/dev/null 3>&- &
	recorder=$!
	wait_until 30 test -e "$go.inside"
	# processes outside of the command send, and stay alive until they are looked up
	for i in 300 400; do
		printf 'slow %sms' "$i" | "$WORKLOADS/app_send" "$(cat "$go.inside")" --until "$go.end" >"$go.$i" 3>&- &
		wait_until 10 grep -q '"sent": 1' "$go.$i"
	done
	# messages are read in order: when this one has fired, those of the other processes have been read
	touch "$go"
	wait_until 20 has_incidents "$out" 2
	touch "$go.end"
	wait "$recorder" && fail "no rule has fired"
	same matched \
		"$(jq -r '.rules[] | select(.name == "slow") | "\(.matched) \(.matches.max_ns)"' "$out/summary.json")" \
		"1 200000000"
}

runs() { # FILE
	find /proc/[0-9]*/exe -lname "$1" 2>/dev/null | grep -q .
}

@test "FRBPF_TRIGGER() fires a rule that names its program, by path or glob; a rule on app: gets the hint" {
	local hit name
	[[ -e /sys/bus/event_source/devices/uprobe/type ]] || skip "no uprobes: CONFIG_UPROBE_EVENTS"
	mkdir "$BATS_TEST_TMPDIR/v1"
	cp "$WORKLOADS/app_probe" "$BATS_TEST_TMPDIR/v1/server"
	cp "$WORKLOADS/app_probe" "$BATS_TEST_TMPDIR/later"
	write_rules <<-EOF
		[rule-message]
		when = app:slow_request > 100ms
		dump = none
		[rule-slow]
		when = usdt:$BATS_TEST_TMPDIR/*/server:frbpf:slow_request
		if = arg0 > 100000000
		[rule-later]
		when = usdt:$BATS_TEST_TMPDIR/later:frbpf:constant
		if = arg0 == 812000000
		dump = none
		cooldown = 0
	EOF
	timeout -k 5 60 "$BATS_TEST_TMPDIR/v1/server" 1 200 --until "$BASE.go" >"$stay" 3>&- &
	stayed=$!
	wait_until 10 runs "$BATS_TEST_TMPDIR/v1/server"
	run -0 frbpf check "$RULES"
	[[ $output == *"for FRBPF_TRIGGER() in a program write when = usdt:PATH:frbpf:slow_request with if = arg0 > 100000000"* ]] ||
		fail "$output"
	[[ $output == *"attaches:   $BATS_TEST_TMPDIR/v1/server: frbpf:slow_request, in 1 place, 1 argument"* ]] ||
		fail "$output"
	frbpf_load
	touch "$BASE.go"
	wait "$stayed"
	hit=$(cat "$stay")
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same rule "$(manifest "$name" rule)" slow
	same args "$(jq -c '.triggers[0].args' "$BASE/incidents/$name.json")" '{"arg0":200000000}'
	same tid "$(manifest "$name" tid)" "$(json "$hit" .pid)"
	between "$(manifest "$name" time)" "$(json "$hit" .begin_ns)" "$(json "$hit" .end_ns)" "time"
	# a program that starts later is watched from its first instruction
	"$BATS_TEST_TMPDIR/later" 5 200 3>&- >/dev/null
	same later "$(status_of later .matched)" 5
	# neither program has sent a message to the socket
	same messages "$(app received) $(status_of message .matched)" "0 0"
}
