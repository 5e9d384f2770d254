#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Replacing the rules of a daemon: what stays, what follows the file, and that nothing is lost meanwhile.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$ # a thread name of our own, because rules look at the whole machine
}

teardown() {
	common_teardown
}

has_rule() { # RULE
	status_of "$1" .name >/dev/null 2>&1
}

# Prints a small session and a rule that counts every match. More rules come from standard input.
counting_rules() { # FILE
	{
		cat <<-EOF
			[daemon]
			max-dumps = 256 in 1s
			[session-clock]
			run = -e cpu-clock -F 99 -m 4K --overwrite --switch-output -a
			[rule-count]
			when = syscall:clock_nanosleep > 1ms
			if = comm == "$victim"
			cooldown = 0
			max-dumps = 256 in 1s
		EOF
		cat
	} >"$1"
}

@test "unchanged rules keep their counters and cooldowns when other rules change" {
	write_rules <<-EOF
		[rule-one]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		cooldown = 1h
		escalate = never
	EOF
	frbpf_load
	workload slow_syscall --ms 20 --times 3 --comm "$victim" >/dev/null
	wait_for_incident "$BASE" 1
	same "matched" "$(status_of one .matched)" 3
	cat >>"$RULES" <<-EOF
		pre = 1s
		[rule-two]
		when = syscall:clock_nanosleep > 15ms
		if = comm == "$victim"
		cooldown = 1h
		escalate = never
	EOF
	frbpf_load
	same "matched after the reload" "$(status_of one .matched)" 3
	workload slow_syscall --ms 20 --times 2 --comm "$victim" >/dev/null
	wait_for_incident "$BASE" 2
	same "matched of the old" "$(status_of one .matched)" 5
	same "fired of the old: its cooldown goes on" "$(status_of one .fired)" 1
	same "incidents of the old" "$(status_of one .incidents)" 1
	same "fired of the new" "$(status_of two .fired)" 1
	sed -i 's/> 10ms/> 11ms/' "$RULES"
	frbpf_load
	same "matched of a rule that changed" "$(status_of one .matched)" 0
}

@test "a dump after a reload reaches back before it, in sessions whose line did not change" {
	need_perf
	write_rules </dev/null
	frbpf_load
	sleep 1
	before=$(awk '{printf "%.0f", $1 * 1000000000}' /proc/uptime)
	sed -i 's/-F 999/-F 998/' "$RULES"
	frbpf_load
	frbpf dump >/dev/null
	perf_quiet script -i "$(dumps sched)" --ns -F time
	first=$(sed -nE '1s/^ *([0-9]+)\.([0-9]{9}):.*/\1\2/p' "$perf_out")
	((10#$first < before)) || fail "the first record is of $first, the reload of $before"
	perf_quiet script -i "$(dumps cpu)" --ns -F time
	first=$(sed -nE '1s/^ *([0-9]+)\.([0-9]{9}):.*/\1\2/p' "$perf_out")
	((10#$first > before)) || fail "the changed session has records from before it"
}

@test "watch = yes: a write and an editor's rename are followed, a bad file is logged and changes nothing" {
	write_rules <<-'EOF'
		[daemon]
		watch = yes
		[rule-one]
		when = runqlat > 1s
	EOF
	frbpf_load
	sed 's/rule-one/rule-two/' "$RULES" >"$RULES.new"
	cat "$RULES.new" >"$RULES" # writes the file in place
	wait_until 10 has_rule two || fail "$(cat "$BASE/output")"
	sed -i 's/rule-two/rule-three/' "$RULES.new"
	mv "$RULES.new" "$RULES" # renames a file over it
	wait_until 10 has_rule three || fail "$(cat "$BASE/output")"
	sed 's/> 1s/> 1sec/' "$RULES" >"$RULES.new"
	mv "$RULES.new" "$RULES"
	wait_until 10 grep -q "$RULES:.*error: unknown unit" "$BASE/output"
	has_rule three
	sed 's/> 1sec/> 2s/; s/rule-three/rule-four/; s/watch = yes/watch = no/' "$RULES" >"$RULES.new"
	mv "$RULES.new" "$RULES"
	wait_until 10 has_rule four || fail "$(cat "$BASE/output")"
	# with watch = no, later changes are not followed
	sed -i 's/rule-four/rule-five/' "$RULES"
	sleep 0.5
	has_rule four
}

@test "sessions that an active incident needs count towards max-memory" {
	cpus=$(getconf _NPROCESSORS_ONLN)
	# max-memory has room for two of the sessions, but not for three
	cat >"$RULES" <<-EOF
		[daemon]
		max-memory = $((cpus * (5 * 1024 + 2112)))K
		[session-clock]
		run = -e cpu-clock -F 999 -m 1M --overwrite --switch-output -a
		[rule-missing]
		when = syscall:openat fails (ENOENT)
		if = exe ~ "$BATS_TEST_TMPDIR/*"
		post = 12s
	EOF
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-cat"
	frbpf_load
	one=$(frbpf status --json | jq ".memory | .used_bytes - .sideband_rings_bytes")
	run ! "$BATS_TEST_TMPDIR/frbpf-cat" /no/such/file
	sed -i 's/-F 999/-F 998/' "$RULES"
	frbpf_load # the new session is beside the one that the incident still needs
	same "both" "$(frbpf status --json | jq ".memory | .used_bytes - .sideband_rings_bytes")" $((one * 2))
	sed -i 's/-F 998/-F 997/; s/-m 1M/-m 2M/' "$RULES"
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"the new sessions need "*" and the old ones still use "*"max-memory"* ]]
	wait_until 40 has_incidents "$BASE" 1
	fits() { frbpf_load 2>/dev/null; }
	wait_until 15 fits
	used() { [[ $(frbpf status --json | jq ".memory | .used_bytes - .sideband_rings_bytes") == "$1" ]]; }
	# the earlier sessions are freed after the answer to `load`
	wait_until 15 used $((one * 2)) || fail "one: $(frbpf status --json | jq .memory)"
}

# Replaces the file as Kubernetes replaces the volume of a ConfigMap: rules.conf -> ..data/rules.conf, ..data -> ..N.
publish() { # NUMBER RULE
	local dir=$BATS_TEST_TMPDIR/volume
	mkdir -p "$dir/..$1"
	sed "s/rule-one/rule-$2/" "$RULES" >"$dir/..$1/rules.conf"
	ln -s "..$1" "$dir/..data_tmp"
	mv -T "$dir/..data_tmp" "$dir/..data"
}

@test "several files and the files that they include are loaded together, and followed" {
	write_rules <<-'EOF'
		[daemon]
		watch = yes
		include = more.conf
		[rule-one]
		when = runqlat > 1s
	EOF
	printf '[rule-two]\nwhen = runqlat > 2s\n' >"$BATS_TEST_TMPDIR/more.conf"
	sed -n '1,/^$/p' "$RULES" >"$BATS_TEST_TMPDIR/third.conf"
	printf '[rule-three]\nwhen = runqlat > 3s\n' >>"$BATS_TEST_TMPDIR/third.conf"
	frbpf load "$RULES" "$BATS_TEST_TMPDIR/third.conf"
	has_rule one && has_rule two && has_rule three
	same "sessions" "$(frbpf status --json | jq '.sessions | length')" 2
	sed -i 's/rule-two/rule-four/' "$BATS_TEST_TMPDIR/more.conf"
	wait_until 10 has_rule four || fail "$(cat "$BASE/output")"
	sed -i 's/rule-three/rule-five/' "$BATS_TEST_TMPDIR/third.conf"
	wait_until 10 has_rule five || fail "$(cat "$BASE/output")"
	frbpf load "$BATS_TEST_TMPDIR/third.conf" # the running recorder is given other files
	run ! has_rule one
}

@test "watch = yes: a symbolic link on the way to the file is changed, repeatedly" {
	write_rules <<-'EOF'
		[daemon]
		watch = yes
		[rule-one]
		when = runqlat > 1s
	EOF
	volume=$BATS_TEST_TMPDIR/volume
	publish 1 one
	ln -s ..data/rules.conf "$volume/rules.conf"
	ln -s "$volume/rules.conf" "$BATS_TEST_TMPDIR/link.conf"
	frbpf_load "$BATS_TEST_TMPDIR/link.conf"
	for i in 2 3 4; do
		publish "$i" "of-$i"
		rm -r "$volume/..$((i - 1))"
		wait_until 10 has_rule "of-$i" || fail "$(cat "$BASE/output")"
	done
	# two more changes: a write to the file at the end of the links, and a new first link
	sed 's/rule-of-4/rule-written/' "$volume/rules.conf" >"$RULES.new"
	cat "$RULES.new" >"$volume/..4/rules.conf"
	wait_until 10 has_rule written || fail "$(cat "$BASE/output")"
	sed 's/rule-one/rule-other/' "$RULES" >"$BATS_TEST_TMPDIR/other.conf"
	rm "$BATS_TEST_TMPDIR/link.conf"
	ln -s other.conf "$BATS_TEST_TMPDIR/link.conf"
	wait_until 10 has_rule other || fail "$(cat "$BASE/output")"
	# a file that the link no longer leads to is not followed
	publish 5 of-5
	sleep 0.5
	has_rule other
}

@test "1,000 reloads during a stream of matches lose none and count none twice" {
	counting_rules "$RULES" </dev/null
	counting_rules "$RULES.2" <<-'EOF'
		[rule-other]
		when = syscall:clock_nanosleep,fsync > 10s
	EOF
	frbpf_load
	run_counted "$BATS_TEST_TMPDIR/stop" "$WORKLOADS/reload_storm" "$BASE/control" 1000 "$RULES.2" "$RULES"
}

@test "reloads that load and detach programs meanwhile lose none and count none twice" {
	counting_rules "$RULES" </dev/null
	counting_rules "$RULES.2" <<-'EOF'
		[rule-other]
		when = runqlat > 10s
	EOF
	frbpf_load
	run_counted "$BATS_TEST_TMPDIR/stop" "$WORKLOADS/reload_storm" "$BASE/control" 100 "$RULES.2" "$RULES"
}

# Runs COMMAND... again and again while $victim makes calls, until it has made 1000. Then creates STOP, which ends the
# calls. Every call must have matched, and the outcomes of the matches must add up.
run_counted() { # STOP COMMAND...
	local stop=$1 calls status made
	shift
	(
		until [[ -e $stop ]]; do
			"$WORKLOADS/slow_syscall" --ms 2 --times 100 --threads 2 --comm "$victim"
		done
	) >"$BATS_TEST_TMPDIR/calls" 3>&- &
	calls=$!
	status=0
	until ((status || $(wc -l <"$BATS_TEST_TMPDIR/calls") >= 1000)); do # on a fast machine, COMMAND may end early
		timeout -k 5 240 "$@" 3>&- || status=$?
	done
	touch "$stop"
	wait "$calls"
	((status == 0)) || fail "$*: exit status $status"
	made=$(wc -l <"$BATS_TEST_TMPDIR/calls")
	same "matched" "$(status_of count .matched)" "$made"
	same "what became of them" "$(status_of count '.fired + (.suppressed | .cooldown + .self + .ring_full + .count +
		.rule_max_dumps + .max_dumps + .keys_full)')" "$made"
	same "what became of what fired" \
		"$(status_of count '.incidents + .joined + .merged + (.suppressed | .busy + .capped + .muted)')" \
		"$(status_of count .fired)"
}

has_begun_or_died() { # N: incidents
	local status
	status=$(frbpf status --json 2>/dev/null) || return 0
	(($(jq -re '[.rules[].incidents] | add' <<<"$status") >= $1))
}

@test "a storm of matches while incidents are freed: the recorder survives, and every incident is complete" {
	write_rules <<-'EOF'
		[daemon]
		merge         = 100ms
		max-dumps     = 250 in 1s
		max-incidents = 5

		[rule-storm]
		when      = syscall:close fails (EBADF)
		if        = comm == close_storm
		dump      = sched
		cooldown  = 0
		max-dumps = 250 in 1s
	EOF
	frbpf_load
	mkfifo "$BATS_TEST_TMPDIR/end"
	workload close_storm 2 <"$BATS_TEST_TMPDIR/end" &
	storm=$!
	exec 5>"$BATS_TEST_TMPDIR/end"
	wait_until 60 has_begun_or_died 40
	daemon_pid >/dev/null || fail "$(tail "$BASE/output")"
	exec 5>&-
	wait "$storm"
	frbpf_stop
	for name in $(incidents "$BASE"); do
		manifest "$name" rule >/dev/null
		jq -re '.sessions[].file' "$BASE/incidents/$name.json" | xargs stat -c %s >/dev/null
	done
}
