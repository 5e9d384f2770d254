#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A local user makes names lead to a file that root must not open. That file is the bait.

# shellcheck disable=SC2034,SC2154 # for the helpers; set by bats and them
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# This suite runs alone. When `perf record -a` of another suite ends, it opens the files that program names lead to
# then. One of them could be the bait.
load hostile_helpers

# The bait is a fifo of root. Opening it for reading lets the waiting writer continue, which creates bait.opened:
# `untouched` looks for that file.
lay_bait() {
	mkfifo -m 600 "$secret/bait"
	sh -c ': >"$1" && touch "$1.opened"' - "$secret/bait" </dev/null &>/dev/null 3>&- &
	background+=" $!"
	chmod 711 "$secret" # so that anybody can have links to it
}

untouched() {
	[[ ! -e $secret/bait.opened ]] || fail "root opened what a link of somebody else leads to"
}

@test "a file that took the name of a program that ran is not opened" {
	lay_bait
	write_rules </dev/null
	frbpf_load
	# each program runs, and is replaced by a link before anybody looks at it
	as_them sh -c 'for i in 1 2 3 4 5 6 7 8; do
		cp "$2" "$1/p$i" && "$1/p$i" -c "i=0; while [ \$i -lt 20000 ]; do i=\$((i + 1)); done"
		ln -sf "$3" "$1/link" && mv -T "$1/link" "$1/p$i"
	done' - "$theirs" "$(readlink -f /bin/sh)" "$secret/bait"
	frbpf dump >/dev/null
	run -0 frbpf show
	untouched
	[[ -L $theirs/p8 ]]
}

@test "a rule's program that became a link to something else is not opened" {
	lay_bait
	cp "$WORKLOADS/user_func" "$theirs/program"
	cat >"$RULES" <<-EOF
		[session-x]
		run = -e dummy -m 64K --overwrite --switch-output -a

		[rule-slow]
		when = uprobe:$theirs/program:user_func_slow > 5ms
	EOF
	frbpf_load
	as_them ln -s "$secret/bait" "$theirs/link"
	as_them mv -T "$theirs/link" "$theirs/program"
	run -1 frbpf check "$RULES"
	[[ $output == *"$theirs/program is not a file"* ]]
	frbpf load "$RULES" || true
	untouched
	# a file that only root may read is not opened either
	cp "$WORKLOADS/user_func" "$secret/program"
	chmod 600 "$secret/program"
	as_them ln -s "$secret/program" "$theirs/link"
	as_them mv -T "$theirs/link" "$theirs/program"
	run -1 frbpf check "$RULES"
	[[ $output == *'a link of another user leads to it'* ]]
	# the daemon still watches the earlier file
	same "rules" "$(frbpf status --json | jq -r '.rules[].name')" slow
}

@test "names that change all the time never make root open another file" {
	lay_bait
	cp "$WORKLOADS/app_probe" "$open_dir/app_probe"
	write_rules <<-'EOF'
		[rule-slow]
		when = app:slow_request > 100ms
		cooldown = 0
	EOF
	frbpf_load
	as_them sh -c 'i=0
	while [ $i -lt 60 ]; do
		cp "$2" "$1/p" && { "$1/p" 1 200 >"$1/out" & }
		ln -s "$3" "$1/link" && mv -T "$1/link" "$1/p" && rm "$1/p"
		i=$((i + 1))
	done
	wait' - "$theirs" "$open_dir/app_probe" "$secret/bait"
	frbpf dump >/dev/null
	run -0 frbpf show
	untouched
	frbpf ping
}

# Two of their names are swapped again and again until descriptor 7 is closed. $swapper is the process.
start_swapping() { # A B
	cp "$WORKLOADS/swap_names" "$open_dir/swap_names"
	mkfifo "$BATS_TEST_TMPDIR/swap"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$open_dir/swap_names" "$1" "$2" \
		<"$BATS_TEST_TMPDIR/swap" >"$BATS_TEST_TMPDIR/swapping" 3>&- &
	swapper=$!
	background+=" $swapper"
	exec 7>"$BATS_TEST_TMPDIR/swap"
	wait_until 10 grep -q swapping "$BATS_TEST_TMPDIR/swapping"
}

@test "a rule's program that keeps becoming a link never leads to another file" {
	local swapper
	lay_bait
	cp "$WORKLOADS/user_func" "$theirs/program"
	chown 65534 "$theirs/program"
	as_them ln -s "$secret/bait" "$theirs/link"
	printf '[rule-slow]\nwhen = uprobe:%s:user_func_slow > 5ms\n' "$theirs/program" >"$RULES"
	start_swapping "$theirs/program" "$theirs/link"
	for _ in {1..8}; do
		timeout -k 5 60 "$FRBPF" check "$RULES" &>/dev/null 3>&- 7>&- || true
	done
	exec 7>&-
	wait "$swapper"
	untouched
}

@test "a name with terminal sequences, in namespaces that nobody else sees, is only a name" {
	local evil=$'e\e[2J\r\177il'
	as_them unshare -Urm true || skip "users cannot have namespaces here"
	lay_bait
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep > 5ms
		if = uid == 65534 && comm ~ "e*il"
	EOF
	frbpf_load
	# the program, its mount and its root belong to them; the bait is where frbpf searches for a debug file
	as_them unshare -Urm sh -c 'mkdir "$1/m" && mount -t tmpfs none "$1/m" && cp "$2" "$1/m/$3" &&
		ln -s "$4" "$1/m/$3.debug" && "$1/m/$3" 0.05' - "$theirs" "$(readlink -f /bin/sleep)" "$evil" \
		"$secret/bait"
	wait_for_incident "$BASE" 1
	run -0 frbpf show
	[[ $output == *'fired by rule slow'* ]]
	harmless "$output"
	run -0 frbpf ls
	harmless "$output"
	same "name in the manifest" "$(frbpf show --json | jq -r '.triggers[0].subject.comm')" "$evil"
	untouched
}
