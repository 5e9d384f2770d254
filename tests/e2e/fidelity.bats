#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every sample has its name, map and symbol, whatever its task did before, in and after the window. The names that perf
# shows for a dump are compared; perfdata_check checks the records.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# with: others
load helpers

PERFDATA_CHECK=${FRBPF_HELPERS:-$WORKLOADS/../helpers}/perfdata_check

setup_file() {
	export IMAGES=$BATS_FILE_TMPDIR/images
	mkdir "$IMAGES"
	local image source=$BATS_TEST_DIRNAME/../workloads/image.c
	command -v cc >/dev/null || return 0
	for image in alpha beta gamma; do
		cc -O2 -g -D_GNU_SOURCE "-DIMAGE=$image" -Wl,--build-id "$source" -o "$IMAGES/$image"
		cc -O2 -g -D_GNU_SOURCE "-DIMAGE=lib_$image" -DLIBRARY -shared -fPIC -Wl,--build-id "$source" \
			-o "$IMAGES/lib$image.so"
	done
}

setup() {
	need_root
	need_perf
	need_btf
	common_setup
	[[ -x $IMAGES/gamma ]] || skip "needs cc"
}

teardown() {
	end_jobs
	common_teardown
}

record() { # [LINE OF [daemon]]...
	{
		printf '[daemon]\n'
		((!$#)) || printf '%s\n' "$@"
		printf '[session-cpu]\nrun = -e cpu-clock -F 1999 -m 4M --overwrite --switch-output -a\n'
	} >"$RULES"
	frbpf_load
}

# image NAME ARGUMENTS...: runs an image and prints its line of JSON
image() {
	local name=$1
	shift
	timeout -k 5 60 "$IMAGES/$name" "$@" 3>&-
}

# job COMMAND...: runs COMMAND in the background until end_jobs. Its input stays open. $job is its pid, $job_out its
# output.
job() {
	job_out=$BATS_TEST_TMPDIR/job.${#jobs[@]}
	mkfifo "$job_out.in"
	"$@" <"$job_out.in" >"$job_out" 3>&- &
	job=$!
	jobs+=("$job")
	# shellcheck disable=SC2034 # held open
	exec {job_in}>"$job_out.in"
}

end_jobs() {
	local pid
	for pid in ${jobs[@]+"${jobs[@]}"}; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	jobs=()
}

has_lines() { # FILE N
	(($(wc -l <"$1") >= $2))
}

burns() { # PID-FILE: the job has printed its line, which is when it burns
	[[ -s $1 ]]
}

has_ticks() { # PID N: of CPU time, hundredths of a second
	local -a stat
	read -r -a stat <"/proc/$1/stat"
	((stat[13] + stat[14] >= $2))
}

# Waits until the process has used half a second more of CPU time, which gives many samples.
let_burn() { # PID
	local -a stat
	read -r -a stat <"/proc/$1/stat"
	wait_until 30 has_ticks "$1" $((stat[13] + stat[14] + 50)) || fail "$1 does not run"
}

# Writes the samples of a dump, of some processes or of all, to $samples, one a line: comm, pid, tid, symbol (which may
# contain spaces in C++), object. Also checks the file.
dump() { # [PID,...]
	path=$(frbpf dump --session cpu)
	check "$path"
	names_of "$path" ${1:+--pid "$1"}
}

check() { # DUMP
	"$PERFDATA_CHECK" "$1" >"$BATS_TEST_TMPDIR/checked" || fail "perfdata_check refuses $1"
}

names_of() { # DUMP [ARGUMENTS OF perf script]...
	samples=$BATS_TEST_TMPDIR/samples
	perf script -i "$1" "${@:2}" -F comm,pid,tid,event,ip,sym,dso 2>"$BATS_TEST_TMPDIR/perf.err" |
		perl -ne 'print "$1\t$2\t$3\t$4\t$5\n"
			if m{^ *(.*[^ ]) +(-?\d+)/(-?\d+) +cpu-clock: +[\da-f]+ (.+) \(([/[].*|[a-z_]+:.*|[^ ()]+)\)$}' >"$samples"
	[[ -s $samples ]] || fail "no samples: $(cat "$BATS_TEST_TMPDIR/perf.err")"
}

# count COMM PID SYMBOL OBJECT: the number of samples that match; each argument is a regular expression for the whole
# field
count() {
	awk -F '\t' -v comm="^($1)$" -v pid="^($2)$" -v symbol="^(${3-.*})$" -v object="^(${4-.*})$" \
		'$1 ~ comm && $2 ~ pid && $4 ~ symbol && $5 ~ object {n++} END {print n + 0}' "$samples"
}

# seen COMM PID SYMBOL [OBJECT]: succeeds if there are many such samples, and no sample with the symbol under another
# comm
seen() {
	local n others
	n=$(count "$1" "$2" "$3" "${4-.*}")
	((n >= 20)) || fail "$n samples of $1 ($2) in $3 of ${4-any}; there are: $(awk -F '\t' -v pid="^($2)$" \
		'$2 ~ pid' "$samples" | sort | uniq -c | sort -rn | head -20)"
	others=$(($(count '.*' "$2" "$3") - $(count "$1" "$2" "$3")))
	((others == 0)) || fail "$others samples in $3 that are not of $1"
}

# all_known PID: succeeds if every sample of the process has comm, object and symbol. bash and timeout, which the
# process ran before an exec, have no symbols. A thread that has ended has no id any more: the kernel reports -1, which
# nobody can name.
all_known() {
	local bad
	bad=$(awk -F '\t' -v pid="^($1)$" '$2 ~ pid && $3 != -1 && ($1 ~ /^:/ || $5 == "[unknown]" ||
		($4 == "[unknown]" && $5 !~ /\/(bash|timeout)$/))' "$samples")
	[[ ! $bad ]] || fail "samples of $1 without a name: $bad"
}

build_ids() { # DUMP: id and object of the BUILD_ID feature
	perf buildid-list -i "$1" 2>/dev/null
}

build_id() { # FILE
	readelf -n "$1" 2>/dev/null | sed -n 's/^ *Build ID: //p'
}

@test "exec chain: each image under its own name and with its own symbols" {
	record
	line=$(image alpha 0.2 "$IMAGES/beta" 0.2 "$IMAGES/gamma" 0.2 | tail -n 1)
	pid=$(json "$line" .pid)
	dump "$pid"
	for name in alpha beta gamma; do
		seen "$name" "$pid" "burn_$name" "$IMAGES/$name"
	done
	all_known "$pid"
}

@test "exec before and in the window: the window begins with the old image" {
	{
		printf '[session-cpu]\nrun = -e cpu-clock -F 1999 -m 4M --overwrite --switch-output -a\n'
		printf '[rule-r]\nwhen = runqlat > 100s\npre = 1s\n'
	} >"$RULES"
	frbpf_load
	job "$IMAGES/gamma" 0.3 "$IMAGES/alpha" 1.2 "$IMAGES/beta" 30
	wait_until 30 has_lines "$job_out" 3 || fail "it does not become the last one"
	let_burn "$job"
	pid=$(json "$(head -n 1 "$job_out")" .pid)
	dump "$pid"
	seen alpha "$pid" burn_alpha
	seen beta "$pid" burn_beta
	all_known "$pid"
}

@test "libraries loaded and unloaded at the same addresses" {
	record
	line=$(workload reload 0.15 "$IMAGES"/lib{alpha,beta,gamma,alpha}.so)
	pid=$(json "$line" .pid)
	same "one address" "$(json "$line" '.same | tostring')" true
	dump "$pid"
	for name in alpha beta gamma; do
		seen reload "$pid" "burn_lib_$name" "$IMAGES/lib$name.so"
	done
	all_known "$pid"
}

@test "a deleted binary keeps its name, and its symbols by build id" {
	record
	cp "$IMAGES/alpha" "$BATS_TEST_TMPDIR/doomed"
	job "$BATS_TEST_TMPDIR/doomed" 30
	wait_until 10 burns "$job_out"
	rm "$BATS_TEST_TMPDIR/doomed"
	let_burn "$job"
	dump "$job"
	(($(count doomed "$job" '.*' "$BATS_TEST_TMPDIR/doomed") >= 20)) || fail "$(sort "$samples" | uniq -c)"
	build_ids "$path" | grep -q "^$(build_id "$IMAGES/alpha") $BATS_TEST_TMPDIR/doomed" ||
		fail "$(build_ids "$path")"
	perf buildid-cache -a "$IMAGES/alpha"
	names_of "$path" --pid "$job"
	seen doomed "$job" burn_alpha
}

@test "a binary deleted, and one replaced, before the recorder started" {
	cp "$IMAGES/alpha" "$BATS_TEST_TMPDIR/deleted"
	cp "$IMAGES/alpha" "$BATS_TEST_TMPDIR/replaced"
	job "$BATS_TEST_TMPDIR/deleted" 30
	deleted=$job
	wait_until 10 burns "$job_out"
	job "$BATS_TEST_TMPDIR/replaced" 30
	replaced=$job
	wait_until 10 burns "$job_out"
	rm "$BATS_TEST_TMPDIR/deleted"
	record
	# replace the file while the process runs, as an upgrade does; later the process ends, too
	cp "$IMAGES/beta" "$BATS_TEST_TMPDIR/new"
	let_burn "$replaced"
	mv "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/replaced"
	let_burn "$deleted"
	end_jobs
	dump "$deleted,$replaced"
	same "wrong symbols" "$(count '.*' "$replaced" 'burn_beta|burn_gamma')" 0
	perf buildid-cache -a "$IMAGES/alpha"
	names_of "$path" --pid "$deleted,$replaced"
	seen deleted "$deleted" burn_alpha
	seen replaced "$replaced" burn_alpha
}

@test "threads that come, rename themselves and go" {
	record
	line=$(workload rename_storm 200)
	pid=$(json "$line" .pid)
	dump "$pid"
	(($(count 'early-[0-9]+' "$pid" burn_early) >= 200)) ||
		fail "$(sort "$samples" | uniq -c | sort -rn | head -20)"
	(($(count 'late-[0-9]+' "$pid" burn_late) >= 200))
	same "late ones in burn_early" "$(count 'late-.*' "$pid" burn_early)" 0
	same "early ones in burn_late" "$(count 'early-.*' "$pid" burn_late)" 0
	same "others in them" "$(count '[^el].*' "$pid" 'burn_early|burn_late')" 0
	# each thread id has one name, and nearly all threads have samples
	(($(awk -F '\t' '$4 == "burn_late" {print $1, $3}' "$samples" | sort -u | wc -l) >= 190))
	same "names of a thread" \
		"$(awk -F '\t' '$4 == "burn_late" {print $1, $3}' "$samples" | sort -u | awk '{print $2}' |
		uniq -d | wc -l)" 0
	all_known "$pid"
}

@test "a reused process id" {
	record
	line=$(workload reuse_pid "$IMAGES/alpha" 0.2 -- "$IMAGES/beta" 0.2 -- "$IMAGES/gamma" 0.2 | tail -n 1)
	pid=$(json "$line" .pid)
	dump "$pid"
	for name in alpha beta gamma; do
		seen "$name" "$pid" "burn_$name" "$IMAGES/$name"
	done
	all_known "$pid"
}

@test "recorded in a small pid namespace: ids are those of the namespace, and are reused" {
	unshare --fork --pid --mount-proc true 2>/dev/null || skip "no pid namespaces"
	record_inside() {
		echo 300 >/proc/sys/kernel/pid_max 2>/dev/null || true # since Linux 6.14, of this namespace only
		record
		for ((i = 0; i < 400; i++)); do
			/bin/true
		done
		image alpha 0.2
		image beta 0.2
		dump
		frbpf_stop
		cp "$samples" "$BATS_TEST_TMPDIR/inside"
	}
	export -f record_inside record dump check names_of image frbpf frbpf_load frbpf_stop fail wait_until no_daemon \
		daemons_of
	export BASE RULES FRBPF IMAGES PERFDATA_CHECK
	run -0 timeout -k 5 "${FRBPF_LIMIT:-240}" unshare --fork --pid --mount-proc bash -euc record_inside 3>&-
	samples=$BATS_TEST_TMPDIR/inside
	for name in alpha beta; do
		pid=$(sed -nE 's/.*"pid":([0-9]+).*/\1/p' <<<"$output" |
			sed -n "$([[ $name == alpha ]] && echo 1 || echo 2)p")
		((pid < 2000)) || fail "pid $pid is not of the namespace"
		seen "$name" "$pid" "burn_$name"
		all_known "$pid"
	done
}

@test "a binary that only its mount namespace has: found by the process's root while it lives, by build id later" {
	unshare --mount true 2>/dev/null || skip "no mount namespaces"
	record
	mkdir "$BATS_TEST_TMPDIR/private"
	job unshare --mount bash -c "mount -t tmpfs none $BATS_TEST_TMPDIR/private &&
		cp $IMAGES/alpha $BATS_TEST_TMPDIR/private/contained && exec $BATS_TEST_TMPDIR/private/contained 30"
	wait_until 10 burns "$job_out"
	[[ ! -e $BATS_TEST_TMPDIR/private/contained ]]
	let_burn "$job"
	dump "$job"
	seen contained "$job" burn_alpha
	build_ids "$path" | grep -q "^$(build_id "$IMAGES/alpha") $BATS_TEST_TMPDIR/private/contained"
	end_jobs
	names_of "$path" --pid "$job"
	same "symbols of nobody" "$(count contained "$job" burn_alpha)" 0
	perf buildid-cache -a "$IMAGES/alpha"
	names_of "$path" --pid "$job"
	seen contained "$job" burn_alpha
}

@test "a mount namespace from before the recorder started" {
	unshare --mount true 2>/dev/null || skip "no mount namespaces"
	mkdir "$BATS_TEST_TMPDIR/private"
	job unshare --mount bash -c "mount -t tmpfs none $BATS_TEST_TMPDIR/private &&
		cp $IMAGES/alpha $BATS_TEST_TMPDIR/private/contained && exec $BATS_TEST_TMPDIR/private/contained 30"
	wait_until 10 burns "$job_out"
	record
	let_burn "$job"
	end_jobs # end the process
	dump "$job"
	perf buildid-cache -a "$IMAGES/alpha"
	names_of "$path" --pid "$job"
	seen contained "$job" burn_alpha
}

@test "a BPF program that was loaded, ran and was unloaded in the window" {
	record
	line=$(workload bpf_burn 0.5) || skip "no BPF_PROG_TEST_RUN"
	pid=$(json "$line" .pid)
	dump "$pid"
	seen bpf_burn "$pid" "bpf_prog_$(json "$line" .tag)_bpf_burner"
	perf report --header-only -I -i "$path" 2>/dev/null >"$perf_out"
	grep -q "bpf_prog_info $(json "$line" .id): bpf_prog_$(json "$line" .tag)_bpf_burner " "$perf_out" ||
		fail "$(grep -i bpf "$perf_out")"
	all_known "$pid"
}

has_dispatcher() {
	grep -qE 'bpf_dispatcher_xdp.\[bpf\]' /proc/kallsyms
}

@test "code that the kernel made before the recorder started: the dispatcher of XDP programs" {
	job "$WORKLOADS/bpf_burn" --xdp 60
	wait_until 5 has_dispatcher || skip "no BPF dispatcher on this kernel"
	record
	dump
	address=$(awk '$3 == "bpf_dispatcher_xdp" && $4 == "[bpf]" {print $1}' /proc/kallsyms)
	# samples may miss these few instructions, but the dump has their symbol in any case
	perf script -i "$path" --show-bpf-events 2>/dev/null |
		grep -i "KSYMBOL addr $address.* bpf_dispatcher_xdp" >"$perf_out" ||
		fail "no symbol at $address: $(perf script -i "$path" --show-bpf-events 2>/dev/null |
			grep KSYMBOL | head)"
	all_known "$job"
}

# modprobe -D also works with the modprobe of busybox, so depmod is not needed.
need_loadable_module() { # NAME
	[[ -e /proc/modules ]] || skip "a kernel without modules"
	modprobe -D "$1" >/dev/null 2>&1 || skip "no module $1 here"
	! grep -q "^$1 " /proc/modules || skip "module $1 is loaded already"
}

# This module computes while it is loaded: it measures which of its functions is the fastest.
@test "a kernel module loaded in the window, and an unloaded one: map, build id and symbols" {
	need_loadable_module raid6_pq
	record
	modprobe raid6_pq
	id=$(od -An -v -tx1 -j 16 /sys/module/raid6_pq/notes/.note.gnu.build-id | tr -d ' \n')
	dump
	# with /proc/kcore, perf attributes all modules to [kernel.kallsyms]
	n=$(count '.*' '.*' 'raid6_.*' '.(raid6_pq|kernel.kallsyms).')
	((n >= 5)) || fail "$n samples in raid6_pq: $(cut -f 4,5 "$samples" | sort | uniq -c | sort -rn | head -20)"
	same "samples of it without a symbol" "$(count '.*' '.*' '.unknown.' '.raid6_pq.')" 0
	build_ids "$path" | grep -qE "^$id .*raid6_pq" || fail "no $id of raid6_pq: $(build_ids "$path")"
	perf script -i "$path" --show-mmap-events 2>/dev/null | grep 'PERF_RECORD_MMAP -1/0.*raid6_pq' >"$perf_out"
	same "maps of it" "$(wc -l <"$perf_out")" 1
	rmmod raid6_pq
	dump
	build_ids "$path" | grep -qE "^$id .*raid6_pq" || fail "after its end no $id of raid6_pq: $(build_ids "$path")"
	perf script -i "$path" --show-mmap-events 2>/dev/null | grep -q 'PERF_RECORD_MMAP -1/0.*raid6_pq'
}

# In some kernels, the vdso has code that no symbol covers.
@test "code of the vdso has symbols" {
	grep -q '\[vdso\]' /proc/self/maps || skip "no vdso"
	record
	line=$(workload clock_burn 0.5)
	pid=$(json "$line" .pid)
	dump "$pid"
	n=$(count clock_burn "$pid" '[^[].*' '.vdso.')
	((n >= 5)) || fail "$n samples in the vdso; there are: $(awk -F '\t' -v pid="$pid" \
		'$2 == pid' "$samples" | sort | uniq -c | sort -rn | head -20)"
}

@test "a process that ended long before the dump, with little memory" {
	record 'sideband-memory = 256K'
	line=$(image alpha 0.3)
	pid=$(json "$line" .pid)
	workload fork_storm 1000 1 /bin/true >/dev/null # 700 KB of records
	path=$(frbpf dump --session cpu)
	names_of "$path"
	# missing data that memory could not hold must be reported, and must not be invented
	if (($(count alpha "$pid" burn_alpha) < 20)); then
		jq -e '.sessions[].sideband.incomplete' "$BASE"/incidents/*.json
	fi
	rm -rf "$BASE"/incidents/* "$BASE"/session-*/perf.data.*
	frbpf_stop
	record
	line=$(image alpha 0.3)
	pid=$(json "$line" .pid)
	workload fork_storm 1000 1 /bin/true >/dev/null
	dump "$pid"
	seen alpha "$pid" burn_alpha
	all_known "$pid"
	same "incomplete" "$(jq -r '.sessions[].sideband.incomplete' "$BASE"/incidents/*.json)" false
}

sideband() { # FIELD
	frbpf status --json -v | jq -re ".sideband.$1"
}

log_has_shrunk() {
	(($(sideband folded) > 1000 && $(sideband log_bytes) < $(sideband bytes)))
}

@test "the log of names reaches back only as far as the windows, and the windows lack no names" {
	{
		printf '[session-cpu]\nrun = -e cpu-clock -F 1999 -m 64K --overwrite --switch-output -a\n'
		printf '[session-other]\nrun = -e cpu-clock -F 999 -m 32K --overwrite --switch-output -a\n'
	} >"$RULES"
	frbpf_load
	job "$IMAGES/alpha" 60
	alpha=$job
	wait_until 10 burns "$job_out"
	job "$IMAGES/beta" 60
	wait_until 10 burns "$job_out"
	workload fork_storm 1000 2 /bin/true >/dev/null # some 1.4 MB of records
	# within a second or two, a busy process fills the rings of its CPU
	wait_until 40 log_has_shrunk || fail "$(frbpf status --json -v | jq .sideband)"
	let_burn "$alpha"
	dump "$alpha,$job"
	seen alpha "$alpha" burn_alpha "$IMAGES/alpha"
	seen beta "$job" burn_beta "$IMAGES/beta"
	all_known "$alpha"
	all_known "$job"
	same "incomplete" "$(jq -r '.sessions[].sideband.incomplete' "$BASE"/incidents/*.json | sort -u)" false
}

needs_back() { # SECONDS
	(($(sideband 'needed_ns // 0') > $1 * 1000000000))
}

@test "the log of names is kept for rings that have not wrapped, and for the pre of a rule" {
	printf '[session-cpu]\nrun = -e cpu-clock -F 1999 -m 64K --overwrite --switch-output -a\n' >"$RULES"
	printf '[session-slow]\nrun = -e cpu-clock -F 99 -m 4M --overwrite --switch-output -a\n' >>"$RULES"
	frbpf_load
	line=$(image alpha 1)
	pid=$(json "$line" .pid)
	job "$IMAGES/beta" 60
	wait_until 10 burns "$job_out"
	workload fork_storm 1000 2 /bin/true >/dev/null
	# the fast session alone would need at most two rounds of its rings, which is less than 12 s
	wait_until 40 needs_back 12
	same "folded" "$(sideband folded)" 0
	path=$(frbpf dump --session slow)
	names_of "$path" --pid "$pid"
	(($(count alpha "$pid" burn_alpha) >= 2)) || fail "$(count alpha "$pid" burn_alpha) samples of what ended first"
	all_known "$pid"
	same "incomplete" "$(jq -r '.sessions[].sideband.incomplete' "$BASE"/incidents/*.json)" false
	printf '[rule-far]\nwhen = runqlat > 10s\npre = 1m\n' >>"$RULES"
	sed -i '3,4d' "$RULES" # removes the slow session
	frbpf_load
	wait_until 60 needs_back 60
	same "folded" "$(sideband folded)" 0
}

@test "a process that had mapped its text before the recorder started" {
	job "$IMAGES/alpha" 30
	wait_until 10 burns "$job_out"
	record
	let_burn "$job"
	dump "$job"
	seen alpha "$job" burn_alpha "$IMAGES/alpha"
	all_known "$job"
}

@test "short-lived processes leave no sample without a name" {
	record
	for ((i = 0; i < 200; i++)); do
		/bin/true
	done
	workload short_lived --count 20
	dump
	# the kernel itself gives the id -1 to a released task
	same "unnamed" "$(awk -F '\t' '$1 ~ /^:/ && $3 != -1' "$samples" | wc -l)" 0
	# perfdata_check counts only samples in user space, so the kernel's own code before a task has any map is left
	# out
	grep -q '^unmapped 0$' "$BATS_TEST_TMPDIR/checked" || fail "$(cat "$BATS_TEST_TMPDIR/checked")"
}

@test "code of a JIT: its perf map is found, its jitdump file stays mapped" {
	record
	line=$(workload jit 0.4 "$BATS_TEST_TMPDIR")
	pid=$(json "$line" .pid)
	dump "$pid"
	rm -f "/tmp/perf-$pid.map.gone"
	seen jit "$pid" jitted_loop
	perf script -i "$path" --show-mmap-events 2>/dev/null | grep -q "PERF_RECORD_MMAP2 $pid/.*jit-$pid.dump" ||
		fail "the map of jit-$pid.dump is lost"
	rm -f "/tmp/perf-$pid.map"
}

@test "a binary that is removed at once has its build id, if the kernel reports it" {
	record
	dump
	perf evlist -v -i "$path" 2>/dev/null | grep -qE 'build_id: *1' ||
		skip "asking this kernel for build ids would disturb other users of perf"
	cp "$IMAGES/beta" "$BATS_TEST_TMPDIR/gone"
	id=$(build_id "$BATS_TEST_TMPDIR/gone")
	job "$BATS_TEST_TMPDIR/gone" 0.2
	wait_until 10 burns "$job_out"
	rm "$BATS_TEST_TMPDIR/gone"
	wait "$job"
	dump
	(($(count gone "$job" '.*' '.*/gone.*') >= 5)) || fail "$(count gone "$job" '.*') samples of it"
	build_ids "$path" | grep -q "^$id .*/gone" || fail "no $id of gone: $(build_ids "$path")"
}

@test "build ids are recorded of files with samples, not of all mapped files" {
	record
	line=$(image alpha 0.3)
	dump
	build_ids "$path" >"$BATS_TEST_TMPDIR/ids"
	grep -q "^$(build_id "$IMAGES/alpha") $IMAGES/alpha$" "$BATS_TEST_TMPDIR/ids" ||
		fail "$(cat "$BATS_TEST_TMPDIR/ids")"
	grep -q '\[kernel.kallsyms\]' "$BATS_TEST_TMPDIR/ids"
	while read -r _ object; do
		[[ $object == '['* ]] || grep -qF "$object" "$samples" || fail "$object was not hit"
	done <"$BATS_TEST_TMPDIR/ids"
}

sleeps_as() { # COMM PID
	[[ $(awk '{print $2, $3}' "/proc/$2/stat") == "($1) S" ]]
}

@test "sideband: only sampled tasks, or all" {
	job "$IMAGES/alpha" --wait 1 # sleeps
	sleeper=$job
	wait_until 15 sleeps_as alpha "$sleeper"
	record
	image beta 0.2
	dump
	run -0 perf script -i "$path" --show-task-events --show-mmap-events
	[[ $output != *"PERF_RECORD_MMAP2 $sleeper/"* ]] || fail "maps of a process without a sample"
	frbpf_stop
	record 'sideband = all'
	image beta 0.2
	dump
	run -0 perf script -i "$path" --show-task-events --show-mmap-events
	[[ $output == *"PERF_RECORD_MMAP2 $sleeper/"* ]] || fail "sideband = all leaves a process out"
	[[ $output == *"PERF_RECORD_COMM: alpha:$sleeper/$sleeper"* ]]
}

@test "cgroups: those from before the start and those of the window" {
	local root2 name
	root2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	[[ $root2 ]] || skip "no cgroup2"
	name=frbpf-test-$$
	mkdir "$root2/$name" || skip "no cgroups can be made"
	record
	mkdir "$root2/$name/inside"
	image beta 0.2
	path=$(frbpf dump)
	ids=$(stat -c '%i %n' "$root2/$name" "$root2/$name/inside")
	rmdir "$root2/$name/inside" "$root2/$name"
	check "$path"
	perf script -i "$path" --show-cgroup-events 2>/dev/null >"$perf_out"
	while read -r id dir; do
		grep -q "PERF_RECORD_CGROUP cgroup: $id ${dir#"$root2"}$" "$perf_out" ||
			fail "no $id $dir in $(grep CGROUP "$perf_out")"
	done <<<"$ids"
}

# --- the checker

# broken WHAT OFFSET BYTES: perfdata_check must refuse a copy of the dump with BYTES (in the syntax of printf) at OFFSET
broken() {
	local copy=$BATS_TEST_TMPDIR/broken
	cp "$path" "$copy"
	printf "%b" "$3" | dd of="$copy" bs=1 seek="$2" conv=notrunc status=none
	if cmp -s "$path" "$copy"; then
		fail "$1: nothing was changed"
	fi
	if "$PERFDATA_CHECK" "$copy" >/dev/null 2>"$BATS_TEST_TMPDIR/said"; then
		fail "$1: taken for good"
	fi
	grep -q '^offset ' "$BATS_TEST_TMPDIR/said" || fail "$1: $(cat "$BATS_TEST_TMPDIR/said")"
}

u64() { # OFFSET: the number there
	od -An -t u8 -j "$1" -N 8 "$path" | tr -d ' '
}

u16() { # OFFSET
	od -An -t u2 -j "$1" -N 2 "$path" | tr -d ' '
}

# Prints the offset of the Nth record of TYPE.
record_offset() { # TYPE [N]
	local from at
	from=$(u64 40)
	# od prints 8 bytes a line; a record's header is one line with type, misc and size
	at=$(od -An -v -t u4 -w8 -j "$from" -N "$(u64 48)" "$path" | awk -v type="$1" -v n="${2:-1}" '
		NR - 1 != next_line {next}
		$1 == type && --n == 0 {print next_line * 8; exit}
		{next_line += int($2 / 65536) / 8}')
	if [[ $at ]]; then
		echo $((from + at))
		return
	fi
	fail "no record of type $1"
}

@test "perfdata_check refuses broken files" {
	record
	image alpha 0.05
	path=$(frbpf dump)
	check "$path"
	local data comm sample
	data=$(u64 40) comm=$(record_offset 3 2) sample=$(record_offset 9)
	local end=$((data + $(u64 48)))
	broken "the magic" 0 'X'
	broken "the size of the header" 8 '\x10'
	broken "attrs outside of the file" 31 '\x10'
	broken "the length of the data" 48 '\x0b' # the length is a multiple of 8
	broken "a feature that is not there" 76 '\xff'
	broken "a record of an unknown type" "$comm" '\x63'
	broken "a record of no length" $((comm + 6)) '\x00\x00'
	broken "a record of an odd length" $((comm + 6)) '\x29'
	broken "a comm without an end" $((comm + 16)) "$(printf 'A%.0s' {1..64})"
	broken "a record before the one before it" $((comm + $(u16 $((comm + 6))) - 24)) \
		'\x01\x00\x00\x00\x00\x00\x00\x00'
	broken "a record without a time" $((comm + $(u16 $((comm + 6))) - 24)) '\x00\x00\x00\x00\x00\x00\x00\x00'
	broken "an id that no event has" $((sample + 8)) '\xff\xff\xff'
	broken "a sample of an unnamed process" $((sample + 24)) '\xee\xee\x7f\x00'
	broken "no map of the kernel" "$data" '\x03'
	broken "a feature's place" $((end + 5)) '\xff'
	cp "$path" "$BATS_TEST_TMPDIR/short"
	truncate -s $(($(stat -c %s "$path") - 9)) "$BATS_TEST_TMPDIR/short"
	run -1 "$PERFDATA_CHECK" "$BATS_TEST_TMPDIR/short"
	truncate -s 50 "$BATS_TEST_TMPDIR/short"
	run -1 "$PERFDATA_CHECK" "$BATS_TEST_TMPDIR/short"
	cat "$path" >"$BATS_TEST_TMPDIR/long"
	echo >>"$BATS_TEST_TMPDIR/long"
	run -1 "$PERFDATA_CHECK" "$BATS_TEST_TMPDIR/long"
	run -2 "$PERFDATA_CHECK" "$BATS_TEST_TMPDIR/missing"
}
