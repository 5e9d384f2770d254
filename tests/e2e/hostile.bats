#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A local user attacks us by files, names, directories and processes that we read.

# shellcheck disable=SC2034,SC2154 # for the helpers; set by bats and them
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load hostile_helpers

need_their_name() {
	their_name=$(getent passwd 65534 | cut -d: -f1)
	[[ $their_name ]] || skip "no user with uid 65534"
}

@test "run --user changes the owner only of files that it made, whatever took their names" {
	need_their_name
	as_them mkdir "$theirs/p"
	run -0 frbpf_run "--user=$their_name" --when 'runqlat > 1h' -o "$theirs/p/out" -- \
		sh -c "mv '$theirs/p' '$theirs/away' && ln -s '$secret' '$theirs/p'"
	same "owners of the secret" "$(find "$secret" -printf '%U\n' | sort -u)" 0
	same "owners of the directory" "$(find "$theirs/away/out" -printf '%U\n' | sort -u)" 65534
	[[ -s $theirs/away/out/summary.json ]]
}

@test "run --user: the command cannot type into the terminal that it shares with root's shell" {
	need_their_name
	[[ $(sysctl -n dev.tty.legacy_tiocsti 2>/dev/null) != 0 ]] || skip "no program can on this kernel"
	cat >"$open_dir/type.py" <<-'EOF'
		import fcntl, termios
		for c in b"typed by the command\n":
		    fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))
	EOF
	cat >"$open_dir/terminal.py" <<-'EOF'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp(sys.argv[1], sys.argv[1:])
		out, sent = b"", False
		while True:
		    try: data = os.read(fd, 4096)
		    except OSError: break
		    if not data: break
		    out += data
		    if not sent and b"who types" in out:
		        os.write(fd, b"typed by root\n")
		        sent = True
		os.waitpid(pid, 0)
		print(out.decode())
	EOF
	chmod 644 "$open_dir"/*.py
	run -0 timeout 60 python3 "$open_dir/terminal.py" \
		sh -c '"$@"; echo "who types?"; read -r line; echo "got: $line"' - \
		"$FRBPF" run "--user=$their_name" --when 'runqlat > 1h' -o "$OUT" -- python3 "$open_dir/type.py" 3>&-
	[[ $output == *'got: typed by root'* && $output != *'got: typed by the command'* ]] || fail "$output"
	[[ $output == *'Operation not permitted'* ]]
}

@test "run --user: the command has no open file, capability or group of root's" {
	need_their_name
	run -0 --separate-stderr setpriv --inh-caps +net_raw "$FRBPF" run "--user=$their_name" --when 'runqlat > 1h' \
		-o "$OUT" -- \
		sh -c 'grep -E "^(Cap(Inh|Prm|Eff|Amb)|Groups)" /proc/self/status; ls -l /proc/self/fd' \
		7<"$secret/out/file" 3>&-
	same "capabilities" "$(sed -n 's/^Cap...:\t//p' <<<"$output" | sort -u)" 0000000000000000
	same "groups" "$(sed -n 's/^Groups:[[:space:]]*//p' <<<"$output" | xargs)" "$(id -G "$their_name")"
	[[ $output != *"$secret"* ]] || fail "$output"
}

@test "run --log writes to no file that a link of another user leads to" {
	local log
	echo 'of root' >"$secret/notes"
	as_them ln -s "$secret/notes" "$theirs/log"
	as_them ln -s "$secret" "$theirs/directory"
	for log in "$theirs/log" "$theirs/directory/notes" "$theirs/directory/new"; do
		run -125 frbpf_run --log "$log" --when 'runqlat > 1h' -o "$OUT" -- true
		[[ $output == *"--log $log: it goes through a link of another user"* ]] || fail "$output"
	done
	same "the file of root's" "$(cat "$secret/notes")" 'of root'
	[[ ! -e $secret/new && ! -e $OUT ]]
	# frbpf may write to a new file there, append to it, and follow a link of our own
	run -0 frbpf_run --log "$theirs/new" --when 'runqlat > 1h' -o "$OUT" -- true
	same "standard error" "$output" ""
	ln -s "$theirs/new" "$open_dir/own"
	run -0 frbpf_run --log "$open_dir/own" --when 'runqlat > 1h' -o "$OUT.2" -- true
	same "runs in the log" "$(grep -c "^frbpf: $OUT" "$theirs/new")" 2
	run -0 frbpf_run --log /dev/stderr --when 'runqlat > 1h' -o "$OUT.3" -- true
	[[ $output == *"frbpf: $OUT.3"* ]]
}

@test "files that root names to be written are never reached by a link of another user" {
	local dump out
	as_them ln -s "$secret" "$theirs/directory"
	as_them ln -s "$secret/notes" "$theirs/link"
	as_them touch "$theirs/file"
	run -125 frbpf_run --when 'runqlat > 1h' -o "$theirs/directory/out2" -- true
	[[ $output == *'it goes through a link of another user'* ]] || fail "$output"
	run -125 frbpf_run --when 'runqlat > 1h' -o "$theirs/directory/new/out" -- true
	[[ $output == *'it goes through a link of another user'* ]] || fail "$output"
	run -125 frbpf_run --when 'runqlat > 1h' -o "$theirs/link" -- true
	run -125 frbpf_bench "${ALONE[@]}" --repeat 5 --when "$NEVER" --save-baseline "$theirs/directory/b" \
		-o "$OUT.b" -- true
	[[ $output == *'it goes through a link of another user'* ]] || fail "$output"
	run -0 frbpf_run -o "$OUT" -- true
	dump=$(find "$OUT" -name 'perf.data.*' | head -n 1)
	for out in directory/all link file; do
		run -1 "$FRBPF" merge -o "$theirs/$out" "$dump"
		[[ $output == *'it goes through a link of another user'* || $output == *'it exists already'* ]] ||
			fail "$output"
	done
	run -1 "$FRBPF" merge -f -o "$theirs/link" "$dump"
	[[ $output == *'not a regular file'* ]] || fail "$output"
	# the file that replaces theirs belongs to us, and so does a new file
	"$FRBPF" merge -f -o "$theirs/file" "$dump"
	"$FRBPF" merge -o "$theirs/new" "$dump"
	same "owners" "$(stat -c %u "$theirs/file" "$theirs/new" | xargs)" '0 0'
	same "names in the secret" "$(ls -A "$secret")" out
	same "left beside" "$(find "$theirs" -name '.frbpf*' | wc -l)" 0
}

@test "the page of a CI job, and the kernel's symbols, are written through no link of another user" {
	local at
	echo 'of root' >"$secret/notes"
	as_them ln -s "$secret/notes" "$theirs/page"
	as_them ln -s "$secret" "$theirs/directory"
	for at in "$theirs/page" "$theirs/directory/notes"; do
		GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$at \
			run -0 frbpf_run --when 'runqlat > 1h' -o "$OUT.${at##*/}" -- true
		[[ $output == *"GITHUB_STEP_SUMMARY $at: "* ]] || fail "$output"
	done
	same "the file of root's" "$(cat "$secret/notes")" 'of root'
	write_rules </dev/null
	frbpf_load
	frbpf dump >/dev/null
	as_them mkdir "$theirs/cache"
	as_them ln -s "$secret" "$theirs/cache/[kernel.kallsyms]"
	for at in "$theirs/directory" "$theirs/directory/" "$theirs/directory/new" "$theirs/cache"; do
		run -1 frbpf show --kallsyms "$at"
	done
	same "names in the secret" "$(find "$secret" -mindepth 1 -maxdepth 1 -printf "%f\n" | sort | xargs)" "notes out"
	# their directory without links works, and so does a link of our own
	ln -s "$theirs" "$open_dir/own"
	run -0 frbpf show --kallsyms "$open_dir/own/new/"
	[[ -s $(echo "$theirs/new/[kernel.kallsyms]"/*/kallsyms) ]]
}

@test "a program on an overlay whose name another file took has its own names; the name of its cgroup is harmless" {
	local evil=$'c\e[2Jn' long mount
	as_them unshare -Urmp true || skip "users cannot have namespaces here"
	long=$(printf 'n%.0s' {1..250})
	cp "$WORKLOADS/hung_files" "$WORKLOADS/user_func" "$open_dir"
	mkfifo -m 666 "$open_dir/say"
	load_rule_on_bad_close
	mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
	[[ ! $mount ]] || cgroup=$mount/$evil
	[[ ! $mount ]] || mkdir "$cgroup"
	(
		[[ ! $mount ]] || echo "$BASHPID" >"$cgroup/cgroup.procs"
		as_them sh -c \
			'cd "$1" && mkdir low up work all && cp ../hung_files "low/$2" && cp ../user_func low/other &&
			exec unshare -Urmpf sh -c "mount -t overlay -o lowerdir=low,upperdir=up,workdir=work none all &&
				all/$2 --program <../say | { head -c 1 && mv all/other all/$2; echo done >moved; cat; }"
		' - "$theirs" "$long" >/dev/null
	) & # ends when its input ends
	exec 7>"$open_dir/say"
	wait_until 20 test -s "$theirs/moved" || skip "users cannot mount an overlay here"
	echo >&7
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	named "$BASE/incidents/$name.json"
	exec 7>&-
	run -0 frbpf show
	harmless "$output"
	[[ $output == *"hung_outer+0x"*"($long)"* ]] || fail "$output"
	[[ ! $mount || $output == *'cgroup /c?[2Jn'* ]] || fail "$output"
	[[ ! $mount ]] || wait_until 20 rmdir "$cgroup"
	cgroup=
}

# In a chroot, the kernel reports the path that the program sees. For us, that path is another file.
@test "a program in a chroot of its own, under the name of a file of ours, has its own names" {
	local file
	as_them unshare -Ur true || skip "users cannot have namespaces here"
	mkfifo -m 666 "$open_dir/say"
	for file in $(ldd "$WORKLOADS/hung_files" | grep -o '/[^ ]*'); do
		install -D "$file" "$theirs/jail$file"
	done
	install -D "$WORKLOADS/hung_files" "$theirs/jail/bin/true"
	load_rule_on_bad_close
	as_them sh -c 'exec unshare -Ur chroot "$1/jail" /bin/true --program <"$2"' - "$theirs" "$open_dir/say" \
		>"$BATS_TEST_TMPDIR/began" &
	exec 7>"$open_dir/say"
	wait_until 20 test -s "$BATS_TEST_TMPDIR/began"
	echo >&7
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	named "$BASE/incidents/$name.json"
	exec 7>&-
	run -0 jq -r '.triggers[0].stacks.user[] | "\(.module) \(.symbol)"' "$BASE/incidents/$name.json"
	[[ $output == *"true hung_outer"* ]] || fail "$output"
}

# Each of N processes calls close() once, on a descriptor that is not open.
close_in_processes() { # N
	perl -MPOSIX -e 'for (1 .. $ARGV[0]) {
		my $pid = fork() // die "fork: $!";
		if (!$pid) {POSIX::close(99999); POSIX::_exit(0)}
		waitpid($pid, 0);
	}' "$1"
}

@test "a user fills the table of one rule: the matches are counted, and other rules keep their room" {
	write_rules <<-'EOF'
		[rule-crowded]
		when = syscall:close fails (EBADF)
		if = comm == "perl"
		count = 2 in 1h per process
		dump = none

		[rule-spared]
		when = syscall:close fails (EBADF)
		if = comm == "perl" && uid == 0
		count = 2 in 1h per process
		dump = none
	EOF
	frbpf_load
	# a rule has room for 4096 counts; besides, each CPU has some entries of its own
	as_them bash -c "$(declare -f close_in_processes); close_in_processes 4500"
	(($(status_of crowded .suppressed.keys_full) >= 200)) || fail "$(frbpf status --json | jq .rules)"
	[[ $(status_of crowded .fired) == 0 ]]
	perl -MPOSIX -e 'POSIX::close(99999); POSIX::close(99999)'
	[[ $(status_of spared .fired) == 1 ]] || fail "$(frbpf status --json | jq .rules)"
	frbpf ping
}

@test "a malicious program file causes an error, and the daemon continues" {
	write_rules <<-'EOF'
		[rule-slow]
		when = syscall:clock_nanosleep > 1h
	EOF
	frbpf_load
	cp "$WORKLOADS/user_func" "$theirs/program"
	printf '\377%.0s' {1..64} | dd of="$theirs/program" bs=1 seek=24 conv=notrunc status=none
	chown 65534 "$theirs/program"
	run -1 frbpf arm "uprobe:$theirs/program:user_func_slow > 5ms" --for 1m
	[[ $output == *"$theirs/program"* ]]
	truncate -s 64K "$theirs/program"
	run -1 frbpf arm "uprobe:$theirs/program:user_func_slow > 5ms" --for 1m
	[[ $output == *"$theirs/program"* ]]
	# an intact program file still works afterwards
	cp "$WORKLOADS/user_func" "$theirs/whole"
	chown 65534 "$theirs/whole"
	run -0 frbpf arm "uprobe:$theirs/whole:user_func_slow > 5ms" --for 1m
	frbpf ping
}

# Checks a trace of strace. A filter of system calls must confine the reader and the opener that it started before the
# opener opens the dump. The reader itself opens nothing from then on.
read_behind_filter() { # TRACE
	awk '/clone|fork/ && / = [0-9]+$/ {parent[$NF] = $1}
		/(seccomp\(SECCOMP_SET_MODE_FILTER|<... seccomp resumed>).*= 0$/ {filtered[$1] = 1}
		/openat\(/ && filtered[$1] {late[$1] = 1}
		/openat\(.*perf\.data\.[0-9]+", O_RDONLY/ {opened[$1] = 1; n++; bad = bad || !filtered[$1]}
		/SIGSYS/ {bad = 1}
		END {for (pid in opened)
				bad = bad || !filtered[parent[pid]] || late[parent[pid]]
			exit bad || !n}' "$1" || fail "$(grep -E 'seccomp|perf.data|SIGSYS' "$1")"
}

@test "a process that looks at a recording can only read what it is given" {
	local dump trace=$BATS_TEST_TMPDIR/trace
	local -a command
	command -v strace >/dev/null || skip "no strace"
	write_rules </dev/null
	frbpf_load
	dump=$(frbpf dump | head -n 1)
	frbpf_stop
	while read -ra command; do
		# LeakSanitizer does not work in a traced process
		ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 \
			strace -f -qq -o "$trace" -e trace=seccomp,openat,clone,?clone3,?fork,?vfork "$FRBPF" \
			"${command[@]}" --base "$BASE" 3>&- || true
		read_behind_filter "$trace"
	done <<-EOF
		diff $dump $dump
		why -i $dump --tid 1
		merge -o $OUT $dump
	EOF
	[[ -s $OUT ]]
	rm "$OUT"
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -f -qq -o "$trace" \
		-e trace=seccomp,openat,clone,?clone3,?fork,?vfork "$FRBPF" run \
		--when 'syscall:clock_nanosleep > 100ms' --exit-code 3 -o "$OUT" -- sleep 0.2 3>&- && status=0 ||
		status=$?
	same "exit status" "$status" 3
	read_behind_filter "$trace"
	[[ $(summary '.incidents[0].why') != null && $(summary .unread) == null ]] || fail "$(summary .)"
}

# Writes a copy of DUMP that repeats its records until it has SIZE bytes.
grow() { # DUMP TO SIZE
	python3 - "$@" <<-'EOF'
		import struct, sys
		dump, size = bytearray(open(sys.argv[1], "rb").read()), int(sys.argv[3])
		begin, length = struct.unpack_from("<QQ", dump, 40)
		more = size // length
		features = dump[begin + length:]
		for i in range(bin(int.from_bytes(dump[72:104], "little")).count("1")):
		    at, = struct.unpack_from("<Q", features, 16 * i)
		    struct.pack_into("<Q", features, 16 * i, at + length * more)
		struct.pack_into("<Q", dump, 48, length * (more + 1))
		with open(sys.argv[2], "wb") as f:
		    f.write(dump[:begin] + dump[begin:begin + length] * (more + 1) + features)
	EOF
}

@test "a recording that needs more memory than its reader may use is a clear error" {
	local dump
	write_rules </dev/null
	frbpf_load
	dump=$(frbpf dump --session sched)
	frbpf_stop
	grow "$dump" "$BATS_TEST_TMPDIR/big" 50000000
	(
		ulimit -S -t 1
		run -1 frbpf diff "$BATS_TEST_TMPDIR/big" "$BATS_TEST_TMPDIR/big"
		[[ $output == *"reading the recordings takes more CPU time than the limit"* ]] || fail "$output"
	)
	[[ -z ${SAN-} && $FRBPF != *-san/* ]] || return 0 # no limit applies to the memory of the sanitizers
	(
		ulimit -S -d 8000
		run -1 frbpf diff "$BATS_TEST_TMPDIR/big" "$BATS_TEST_TMPDIR/big"
		[[ $output == *"reading the recordings took "*"M of memory; the limit is 7M"* ]] || fail "$output"
	)
}

@test "run --user: modes and owners are changed by descriptor, never by name" {
	local trace=$BATS_TEST_TMPDIR/trace
	need_their_name
	command -v strace >/dev/null || skip "no strace"
	as_them mkdir "$theirs/p"
	# LeakSanitizer does not work in a traced process
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 strace -f -qq -o "$trace" \
		-e trace=bind,chown,lchown,fchownat,fchown,?chmod,?fchmod,?fchmodat,?fchmodat2 \
		"$FRBPF" run "--user=$their_name" --when 'app:slow > 100ms' -o "$theirs/p/out" -- true 3>&- ||
		fail "$(cat "$trace")"
	grep -q 'bind([0-9]*, {sa_family=AF_UNIX, sun_path="[^@].*= 0' "$trace" || fail "no socket: $(cat "$trace")"
	grep -q 'fchown' "$trace" || fail "nothing was given away: $(cat "$trace")"
	run -1 grep -E ' (l?chown|chmod|fchmodat2?|fchownat)\(' \
		<(grep -vE 'fchownat\([0-9]+, "",.*AT_EMPTY_PATH' "$trace")
}

# --- messages of applications

@test "run --user receives messages of its command, also by frbpf trigger" {
	need_their_name
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$FRBPF" ||
		skip "the program is not reachable for another user"
	run -2 frbpf_run "--user=$their_name" --when 'app:slow > 100ms' -o "$OUT" -- \
		"$FRBPF" trigger slow 200ms
	same "matched" "$(summary '.rules[0].matched')" 1
	same "left in /run" "$(find /run/frbpf -name 'run.*' 2>/dev/null)" ""
}

@test "frbpf trigger uses the socket of the run, or reports that nobody listens there" {
	FRBPF_APP=$BATS_TEST_TMPDIR/none run -1 "$FRBPF" trigger slow
	[[ $output == *"nobody listens at $BATS_TEST_TMPDIR/none (FRBPF_APP)"* ]]
}

# recorder N COMMAND ARGUMENTS...: runs COMMAND with the base of recorder N
recorder() {
	timeout -k 5 60 "$FRBPF" "$2" --base "$BATS_TEST_TMPDIR/base$1" "${@:3}" 3>&-
}

received() { # N
	[[ $(recorder "$1" status --json | jq .app.received) == 1 ]]
}

@test "recorders that start together: one gets the common socket, each has its own" {
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
