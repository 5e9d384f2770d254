#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A local user who owns files, names, folders and processes that we look at, and uses them against us.

# shellcheck disable=SC2034,SC2154 # for the helpers; set by bats and them
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load run_helpers

setup() {
	need_root
	need_btf
	common_setup
	background=
	cgroup=
	OUT=$BATS_TEST_TMPDIR/out
	# a place that any user reaches, with a folder of theirs and one that is nobody's business
	open_dir=$(mktemp -d /tmp/frbpf-hostile.XXXXXX)
	theirs=$open_dir/theirs
	secret=$open_dir/secret
	mkdir -p "$theirs" "$secret/out/session-x"
	touch "$secret/out/file" "$secret/out/session-x/perf.data"
	chmod 755 "$open_dir"
	chmod 700 "$secret"
	chown 65534:65534 "$theirs"
}

as_them() { # COMMAND...
	setpriv --reuid 65534 --regid 65534 --clear-groups timeout -k 5 60 "$@" </dev/null 3>&-
}

need_their_name() {
	their_name=$(getent passwd 65534 | cut -d: -f1)
	[[ $their_name ]] || skip "no user with uid 65534"
}

@test "run --user gives away what it has made, whatever has taken its name" {
	need_their_name
	as_them mkdir "$theirs/p"
	run -0 frbpf_run "--user=$their_name" --when 'runqlat > 1h' -o "$theirs/p/out" -- \
		sh -c "mv '$theirs/p' '$theirs/away' && ln -s '$secret' '$theirs/p'"
	same "owners of the secret" "$(find "$secret" -printf '%U\n' | sort -u)" 0
	same "owners of the folder" "$(find "$theirs/away/out" -printf '%U\n' | sort -u)" 65534
	[[ -s $theirs/away/out/summary.json ]]
}

# --- messages of applications

@test "run --user hears its command, also by frbpf trigger" {
	need_their_name
	run -2 frbpf_run "--user=$their_name" --when 'app:slow > 100ms' -o "$OUT" -- \
		"$FRBPF" trigger slow 200ms
	same "matched" "$(summary '.rules[0].matched')" 1
	same "left in /run" "$(find /run/frbpf -name 'run.*' 2>/dev/null)" ""
}

@test "frbpf trigger takes the socket of the run, or says that nobody listens there" {
	FRBPF_APP=$BATS_TEST_TMPDIR/none run -1 "$FRBPF" trigger slow
	[[ $output == *"nobody listens at $BATS_TEST_TMPDIR/none (FRBPF_APP)"* ]]
}

# recorder N COMMAND ARGUMENTS...: with the base of recorder N
recorder() {
	timeout -k 5 60 "$FRBPF" "$2" --base "$BATS_TEST_TMPDIR/base$1" "${@:3}" 3>&-
}

received() { # N
	[[ $(recorder "$1" status --json | jq .app.received) == 1 ]]
}

@test "of recorders that start together one has the common socket, all have their own" {
	local i starting=()
	cat >"$RULES" <<-'EOF'
		[session-x]
		run = -e dummy -m 64K --overwrite --switch-output -a

		[rule-slow]
		when = app:slow
		dump = none
	EOF
	for i in 1 2 3; do
		recorder $i load "$RULES" &>/dev/null &
		starting+=($!)
	done
	wait "${starting[@]}"
	for i in 1 2 3; do
		background+=" $(cat "$BATS_TEST_TMPDIR/base$i/lock")"
		recorder $i trigger slow
		wait_until 10 received $i
	done
	same "sockets" "$(for i in 1 2 3; do
		recorder $i status --json | jq -r .app.socket
	done | grep -c '^/run/frbpf/app$')" 1
	same "others say so" "$(grep -l '/run/frbpf/app is not ours' "$BATS_TEST_TMPDIR"/base?/output | wc -l)" 2
	for i in 1 2 3; do
		recorder $i stop
	done
	same "left in /run" "$(find /run/frbpf -type s)" ""
}
