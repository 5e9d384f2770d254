#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Dumps by hand, and how perf reads the files.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	write_rules </dev/null
	frbpf_load
}

teardown() {
	common_teardown
}

@test "dump prints the path of one file per session and nothing else" {
	run -0 --separate-stderr frbpf dump
	same "standard error" "$stderr" ""
	same "lines" "${#lines[@]}" 2
	same "paths" "$(sort <<<"$output")" "$(dumps)"
	for path in "${lines[@]}"; do
		[[ $path == "$BASE"/session-*/perf.data.* && -f $path ]]
		[[ ${path##*.} =~ ^[0-9]{16}$ ]]
	done
	same "times in the names" "${lines[0]##*.}" "${lines[1]##*.}"
	same "incidents" "$(incidents "$BASE")" "${lines[0]##*.}"
}

@test "dump --session writes one session, an unknown one is refused" {
	run -0 --separate-stderr frbpf dump --session sched
	same "output" "$output" "$(dumps)"
	[[ $output == "$BASE"/session-sched/perf.data.* ]]
	run -1 --separate-stderr frbpf dump --session nosuch
	[[ $stderr == *nosuch* ]]
	[[ ! $output ]]
	same "dumps" "$(dumps | wc -l)" 1
}

@test "dump --reason is in the marker and in the manifest" {
	path=$(frbpf dump --session sched --reason "customer 17 calls")
	line=$(events "$path" frbpf:trigger)
	same "markers" "$(wc -l <<<"$line")" 1
	[[ $line == *"customer 17 calls"* ]] || fail "marker: $line"
	[[ $line != *value=* && $line != *threshold=* ]] || fail "nothing was measured: $line"
	same "reason" "$(manifest "${path##*.}" reason)" "customer 17 calls"
}

@test "SIGUSR2 dumps every session" {
	kill -USR2 "$(daemon_pid)"
	wait_for_incident "$BASE" 1
	same "dumps" "$(dumps | wc -l)" 2
}

@test "consecutive dumps get different names and keep each other" {
	for _ in 1 2 3; do
		frbpf dump >>"$BATS_TEST_TMPDIR/paths"
	done
	same "files" "$(sort -u "$BATS_TEST_TMPDIR/paths" | wc -l)" 6
	same "dumps" "$(dumps)" "$(sort "$BATS_TEST_TMPDIR/paths")"
}

@test "simultaneous dumps are all answered" {
	local pids=() pid
	for i in 1 2 3 4; do
		frbpf dump >"$BATS_TEST_TMPDIR/paths.$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	for i in 1 2 3 4; do
		same "paths of command $i" "$(wc -l <"$BATS_TEST_TMPDIR/paths.$i")" 2
		while read -r path; do
			[[ -f $path ]] || fail "$path is not there"
			perf_quiet script -i "$path"
		done <"$BATS_TEST_TMPDIR/paths.$i"
	done
}

@test "a dump has what happened before it" {
	burn=$(workload burn --seconds 0.5)
	path=$(frbpf dump --session cpu)
	perf script -i "$path" -F comm,pid,ip,sym --pid "$(json "$burn" .pid)" >"$BATS_TEST_TMPDIR/stacks"
	# the stacks have the whole call chain
	for sym in burn_inner burn_middle burn_outer; do
		grep -q "$sym" "$BATS_TEST_TMPDIR/stacks" || fail "no $sym in the stacks"
	done
	same "unknown symbols of the burner's own code" \
		"$(grep -A1 burn_inner "$BATS_TEST_TMPDIR/stacks" | grep -c '\[unknown\]')" 0
}

@test "every perf command that reads a file accepts ours without a message" {
	workload burn --seconds 0.3
	frbpf dump >/dev/null
	for path in $(dumps); do
		perf_quiet script -i "$path"
		[[ -s $perf_out ]]
		perf_quiet report --stdio -i "$path"
		perf_quiet report --header-only -I -i "$path"
		for field in hostname 'os release' arch nrcpus cpudesc cmdline 'sample duration'; do
			grep -q "^# $field" "$perf_out" || fail "no '$field' in the header of $path"
		done
		perf_quiet evlist -v -i "$path"
		grep -q '^frbpf:trigger' "$perf_out"
		perf_quiet buildid-list -i "$path"
		perf_quiet data convert --to-json "$BATS_TEST_TMPDIR/out.json" --force -i "$path"
		jq -e . "$BATS_TEST_TMPDIR/out.json" >/dev/null
	done
	perf_quiet sched timehist -i "$(dumps sched)"
	[[ -s $perf_out ]]
}

@test "other tools find the metadata that they rely on" {
	burn=$(workload burn --seconds 0.3)
	path=$(frbpf dump --session cpu)
	perf script --header-only -I -i "$path" >"$BATS_TEST_TMPDIR/header"
	# the command line is stored as one string per argument, beginning with the command
	grep -qE '^# cmdline : \S*frbpf record -e cpu-clock' "$BATS_TEST_TMPDIR/header"
	strings -a "$path" | grep -qx -- '--overwrite'
	grep -qE '^# perf version : [0-9]+\.[0-9]+\.[0-9]+(-|$)' "$BATS_TEST_TMPDIR/header"
	# the last attribute has the same sample fields as the first
	perf evlist -v -i "$path" | grep -v "^#" >"$BATS_TEST_TMPDIR/attrs"
	same "sample fields" "$(sample_type "$(tail -n 1 "$BATS_TEST_TMPDIR/attrs")")" \
		"$(sample_type "$(head -n 1 "$BATS_TEST_TMPDIR/attrs")")"
	tail -n 1 "$BATS_TEST_TMPDIR/attrs" | grep -q '^dummy:HG'
	# the file has records that end rounds; the first task that it names is a program, not a kernel thread
	perf script -D -i "$path" 2>/dev/null >"$BATS_TEST_TMPDIR/raw"
	grep -q 'PERF_RECORD_FINISHED_ROUND' "$BATS_TEST_TMPDIR/raw"
	run ! grep -m 1 'PERF_RECORD_COMM: kworker' <(grep -m 1 'PERF_RECORD_COMM' "$BATS_TEST_TMPDIR/raw")
}

sample_type() { # LINE of perf evlist -v
	sed -E 's/.*sample_type: ([A-Z|_]*).*/\1/' <<<"$1"
}

@test "show --kallsyms lets another machine name kernel functions" {
	workload burn --seconds 0.2
	path=$(frbpf dump --session cpu)
	dir=$BATS_TEST_TMPDIR/cache
	run -0 frbpf show --kallsyms "$dir" "$path"
	[[ $output == *"perf --buildid-dir $dir script"* ]] || fail "$output"
	: >"$BATS_TEST_TMPDIR/empty"
	kernel_names() { # BUILD-ID-DIR: with no symbols of this machine
		# shellcheck disable=SC2016 # of the inner shell
		unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && mount -t tmpfs none /sys/kernel &&
			exec perf --buildid-dir "$2" script -i "$3" -F ip,sym,dso' - \
			"$BATS_TEST_TMPDIR/empty" "$1" "$path" 2>/dev/null |
			awk '/\[kernel.kallsyms\]/ {n[$2 == "[unknown]"]++} END {print n[0] + 0, n[1] + 0}'
	}
	read -r known unknown < <(kernel_names "$dir")
	((known > 0 && unknown * 100 <= known)) || fail "$known known, $unknown unknown"
	read -r known unknown < <(kernel_names "$BATS_TEST_TMPDIR")
	same "known without it" "$known" 0
}

@test "perf counts no unknown and no lost record" {
	frbpf dump >/dev/null
	for path in $(dumps); do
		perf_quiet report --stats -i "$path"
		run ! grep -iE 'unknown|lost' "$perf_out"
	done
}

@test "records are in order of time" {
	workload burn --seconds 0.2
	frbpf dump >/dev/null
	for path in $(dumps); do
		# perf sorts records by time, so their offsets, which it also prints, must rise as well
		perf script -D -i "$path" 2>/dev/null |
			sed -nE 's/^[0-9]+ [0-9]{3,} (0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_.*/\1/p' |
			while read -r offset; do
				echo $((offset))
			done >"$BATS_TEST_TMPDIR/offsets"
		[[ -s $BATS_TEST_TMPDIR/offsets ]]
		sort -n -c "$BATS_TEST_TMPDIR/offsets"
	done
}

@test "ls and show list every dump" {
	frbpf dump --reason "first one" >/dev/null
	frbpf dump --reason "second one" >/dev/null
	run -0 frbpf ls
	for name in $(incidents "$BASE"); do
		[[ $output == *"$name"* ]] || fail "$name is not in: $output"
	done
	run -0 frbpf show
	[[ $output == *"second one"* ]]
	first=$(incidents "$BASE" | head -n 1)
	run -0 frbpf show "$first"
	[[ $output == *"first one"* ]]
	run -0 frbpf show "$BASE/session-sched/perf.data.$first"
	[[ $output == *"first one"* ]]
	run -1 --separate-stderr frbpf show 19990101
	[[ $stderr == *1999* ]]
	run -0 "$FRBPF" show "$BASE/incidents/$first.json"
	[[ $output == *"first one"* ]]
	run -0 "$FRBPF" show "$BASE"
	[[ $output == *"second one"* ]]
	cp "$BASE/session-sched/perf.data.$first" "$BATS_TEST_TMPDIR/alone"
	run -1 --separate-stderr frbpf show "$BATS_TEST_TMPDIR/alone"
	[[ $stderr == "frbpf: error: "*"read a dump without its manifest with \`frbpf why"* ]] || fail "$stderr"
	# there is no incident to explain: the message says so, and does not blame the file
	run -0 --separate-stderr frbpf ls --causes
	[[ ! $output && $stderr == *"no rule has fired yet: no incident in "* ]] || fail "$output$stderr"
	run -1 --separate-stderr frbpf why
	[[ $stderr == *"requested by hand"* ]] || fail "$stderr"
}
