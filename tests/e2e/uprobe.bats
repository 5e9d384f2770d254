#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules on functions and static probes of programs: values are compared with the program's own measurements.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	[[ -e /sys/bus/event_source/devices/uprobe/type ]] || skip "no uprobes in this kernel"
	common_setup
	# a program that only this test uses
	program=$BATS_TEST_TMPDIR/user_func
	cp "$WORKLOADS/user_func" "$program"
}

teardown() {
	[[ ! ${waiting-} ]] || kill -KILL "$waiting" 2>/dev/null || true
	[[ ! ${open_dir-} ]] || rm -rf "$open_dir"
	common_teardown
}

rules() {
	{
		cat <<-'EOF'
			[daemon]
			merge = 0

			[session-x]
			run = -e dummy -m 64K --overwrite --switch-output -a

		EOF
		cat
	} >"$RULES"
}

# program PROGRAM ARGUMENTS...: runs PROGRAM to its end
program() {
	timeout -k 5 60 "${1-$program}" "${@:2}" 3>&-
}

# start_waiting PROGRAM ARGUMENTS...: runs PROGRAM, which waits for go_on and writes to $BATS_TEST_TMPDIR/out
start_waiting() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	timeout -k 5 60 "$@" --wait <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	waiting=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_until 10 grep -q waiting "$BATS_TEST_TMPDIR/out"
}

go_on() {
	echo >&7
	exec 7>&-
	wait "$waiting"
	waiting=
}

user_frame() { # INCIDENT: prints "MODULE FUNCTION" of the subject of its first trigger
	named "$BASE/incidents/$1.json"
	jq -re '.triggers[0].stacks.user[0] | "\(.module) \(.symbol)"' "$BASE/incidents/$1.json"
}

@test "a slow function fires with its own time, its caller and its arguments" {
	rules <<-EOF
		[rule-slow]
		when = uprobe:$program:user_func_slow > 20ms
		if = arg0 == 50 && ret == 350

		[rule-never]
		when = uprobe:$program:user_func_slow > 100s
	EOF
	frbpf_load
	program "$program" --ms 1 >/dev/null
	line=$(program "$program" --ms 50 --comm frbpf-uf)
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" slow
	same "source" "$(manifest "$name" source)" uprobe
	same "comm" "$(manifest "$name" comm)" frbpf-uf
	same "pid" "$(manifest "$name" pid)" "$(json "$line" .pid)"
	between "$(manifest "$name" value)" 50000000 "$(json "$line" .took_ns)" "time in the function"
	between "$(manifest "$name" time)" "$(json "$line" .begin_ns)" "$(json "$line" .end_ns)" "moment"
	same "arg0" "$(jq -re '.triggers[0].args.arg0' "$BASE/incidents/$name.json")" 50
	same "ret" "$(jq -re '.triggers[0].ret' "$BASE/incidents/$name.json")" 350
	run -0 frbpf show
	[[ $output == *"threshold 20ms, returned 350"*"arg0=50 arg1=2 arg2=3 "* ]]
	# the stack is that of a function about to return
	same "stack" "$(user_frame "$name")" "$program user_func_slow"
	jq -e '.triggers[0].stacks.kernel | length > 0' "$BASE/incidents/$name.json"
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
}

@test "a call fires, also of a library function by its name" {
	rules <<-EOF
		[rule-hit]
		when = uprobe:$program:user_func_hit
		if = arg0 == 3

		[rule-library]
		when = uprobe:libc:nanosleep > 10ms
		if = comm == "frbpf-uf"
	EOF
	frbpf_load
	program "$program" --call hit --times 5 >/dev/null
	wait_for_incident "$BASE" 1
	same "rule" "$(manifest "$(incidents "$BASE")" rule)" hit
	same "stack" "$(user_frame "$(incidents "$BASE")")" "$program user_func_hit"
	line=$(program "$program" --ms 30 --comm frbpf-uf)
	wait_for_incident "$BASE" 2
	name=$(incidents "$BASE" | tail -n 1)
	same "rule" "$(manifest "$name" rule)" library
	between "$(manifest "$name" value)" 30000000 "$(json "$line" .took_ns)" "time in libc"
	same "matched" "$(frbpf status --json | jq -re '.rules[] | select(.name == "hit").matched')" 1
}

@test "calls left by longjmp are not measured" {
	rules <<-EOF
		[rule-jump]
		when = uprobe:$program:user_func_jump > 5ms
		cooldown = 0
	EOF
	frbpf_load
	line=$(program "$program" --call jump --times 40 --ms 30)
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	between "$(manifest "$(incidents "$BASE")" value)" 30000000 "$(json "$line" .took_ns)" "the last call"
}

@test "exceptions pass through a measured function" {
	[[ -x $WORKLOADS/throws ]] || skip "no C++ compiler"
	cp "$WORKLOADS/throws" "$BATS_TEST_TMPDIR/throws"
	rules <<-EOF
		[rule-outer]
		when = uprobe:$BATS_TEST_TMPDIR/throws:"demo::outer(int)" > 1s
		cooldown = 0

		[rule-inner]
		when = uprobe:$BATS_TEST_TMPDIR/throws:_ZN4demo5innerEi > 1s
		dump = none
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"to its end by return instructions"* ]]
	frbpf_load
	line=$(program "$BATS_TEST_TMPDIR/throws" 20 1500)
	same "caught" "$(json "$line" .caught)" 20
	same "matched" "$(frbpf status --json | jq -re '.rules[] | select(.name == "inner").matched')" 1
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	between "$(manifest "$(incidents "$BASE")" value)" 1500000000 "$(json "$line" .took_ns)" "demo::outer"
	sed -i 's/"demo::outer(int)"/demo::outer/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"several functions 'demo::outer', write one in full: "*"demo::outer(int)"* ]]
}

# Stacks of C programs are unwound, too: through functions with clean-ups, and through functions without unwind tables.
@test "threads are cancelled and end inside of measured functions, and all clean-ups run" {
	local with=$BATS_TEST_TMPDIR/with without=$BATS_TEST_TMPDIR/without file func
	command -v gcc >/dev/null || skip "no C compiler"
	gcc -D_GNU_SOURCE -O1 -fexceptions "$root/tests/workloads/unwinds.c" -o "$with" -pthread
	gcc -D_GNU_SOURCE -O1 -fno-asynchronous-unwind-tables "$root/tests/workloads/unwinds.c" -o "$without" -pthread
	for file in "$with" "$without"; do
		for func in plain attribute pushes returns; do
			printf '[rule-%s-%s]\nwhen = uprobe:%s:%s > 20ms\ncooldown = 0\ndump = none\n' \
				"${file##*/}" "$func" "$file" "$func"
		done
	done | rules
	frbpf_load
	same "with clean-ups" "$(program "$with")" "cleaned 50, strange 0"
	same "without" "$(program "$without")" "cleaned 10, strange 0"
	# calls that were cut off have no end, so they do not match
	same "matched" "$(frbpf status --json | jq -c '[.rules[].matched]')" "[0,0,0,1,0,0,0,1]"
}

@test "data among the instructions of a measured function stays as it is" {
	local data=$BATS_TEST_TMPDIR/data
	[[ $(uname -m) == x86_64 ]] && command -v gcc >/dev/null || skip "no compiler for this assembly"
	cat >"$data.c" <<-'EOF'
		#include <stdio.h>
		__asm__(".globl with_data\n.type with_data,@function\nwith_data: jmp 1f\n"
			"2: .byte 0xc3,0xc3,0x90,0xc3,0x48,0x89,0xe5,0xc3\n" /* ret ret nop ret ... */
			"1: mov 2b(%rip),%rax\nret\n.size with_data,.-with_data\n");
		unsigned long with_data(void);
		int main(void) { return printf("%lx\n", with_data()) < 0; }
	EOF
	gcc -o "$data" "$data.c"
	rules <<-EOF
		[rule-data]
		when = uprobe:$data:with_data > 1ns
		dump = none
	EOF
	frbpf_load
	same "the data" "$(program "$data")" c3e58948c390c3c3
	same "matched" "$(frbpf status --json | jq -re '.rules[0].matched')" 1
}

@test "data that a jump through a pointer may reach gets no probe" {
	local data=$BATS_TEST_TMPDIR/data
	[[ $(uname -m) == x86_64 ]] && command -v gcc >/dev/null || skip "no compiler for this assembly"
	cat >"$data.c" <<-'EOF'
		__asm__(".globl with_table\n.type with_table,@function\n"
			"with_table: lea 1f(%rip),%rax\njmp *%rax\n"
			"2: .byte 0xc3,0xc3,0x90,0xc3,0x48,0x89,0xe5,0xc3\n" /* ret ret nop ret ... */
			"1: mov 2b(%rip),%rax\nret\n.size with_table,.-with_table\n");
		unsigned long with_table(void);
		int main(void) { return with_table() != 0xc3e58948c390c3c3; }
	EOF
	gcc -o "$data" "$data.c"
	rules <<<"[rule-data]
		when = uprobe:$data:with_table > 1ns"
	run -1 frbpf check "$RULES"
	[[ $output == *"cannot measure how long 'with_table' takes: it may return in places that no instruction leads to"* ]] ||
		fail "$output"
	# the function begins with two instructions of 7 and 2 bytes; data follow
	sed -i 's/with_table .*/with_table+0x7/' "$RULES"
	run -0 frbpf check "$RULES"
	sed -i 's/+0x7/+0x9/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"nothing in 'with_table' leads to +0x9 directly: it may be data, which a probe would change"* ]] ||
		fail "$output"
}

# mini_debuginfo PROGRAM: strips PROGRAM, and puts the names of its functions into .gnu_debugdata
mini_debuginfo() {
	nm "$1" --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' >"$1.keep"
	objcopy -S --keep-symbols="$1.keep" --remove-section .comment "$1" "$1.mini"
	xz -f "$1.mini"
	strip "$1"
	objcopy --add-section ".gnu_debugdata=$1.mini.xz" "$1"
	chmod go-w "$1"
}

@test "exceptions pass through functions of programs that do not reveal that they throw" {
	command -v g++ >/dev/null && command -v xz >/dev/null || skip "no C++ compiler or no xz"
	local throws=$BATS_TEST_TMPDIR/throws
	g++ -O2 -static-libstdc++ -static-libgcc "$root/tests/workloads/throws.cc" -o "$throws" ||
		skip "no static libstdc++"
	mini_debuginfo "$throws"
	rules <<-EOF
		[rule-outer]
		when = uprobe:$throws:_ZN4demo5outerEi > 500ms
		cooldown = 0
	EOF
	frbpf_load
	line=$(program "$throws" 20 700)
	same "caught" "$(json "$line" .caught)" 20
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	between "$(manifest "$(incidents "$BASE")" value)" 700000000 "$(json "$line" .took_ns)" "demo::outer"
}

@test "panics of Rust pass through a measured function" {
	command -v rustc >/dev/null || skip "no rustc"
	local panics=$BATS_TEST_TMPDIR/panics
	cat >"$panics.rs" <<-'EOF'
		use std::{panic, thread, time::{Duration, Instant}};
		#[no_mangle]
		#[inline(never)]
		pub fn panics_inner(ms: u64) -> u64 {
			if ms == 0 {
				panic!("no time");
			}
			thread::sleep(Duration::from_millis(ms));
			ms + 1
		}
		fn main() {
			panic::set_hook(Box::new(|_| {}));
			let caught = (0..20).filter(|_| panic::catch_unwind(|| panics_inner(0)).is_err()).count();
			let begin = Instant::now();
			let ret = panics_inner(700);
			println!("{{\"caught\":{},\"took_ns\":{},\"ret\":{}}}", caught, begin.elapsed().as_nanos(), ret);
		}
	EOF
	# rustup finds the compiler by the home directory
	HOME=$(getent passwd "$(id -u)" | cut -d: -f6) rustc -O -o "$panics" "$panics.rs" 2>/dev/null ||
		skip "rustc cannot build here"
	mini_debuginfo "$panics"
	rules <<-EOF
		[rule-inner]
		when = uprobe:$panics:panics_inner > 500ms
		cooldown = 0
	EOF
	frbpf_load
	line=$(program "$panics")
	same "caught" "$(json "$line" .caught)" 20
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	between "$(manifest "$(incidents "$BASE")" value)" 700000000 "$(json "$line" .took_ns)" "panics_inner"
}

@test "programs without position independence, static and stripped ones" {
	command -v gcc >/dev/null || skip "no compiler"
	local source=$root/tests/workloads/user_func.c
	gcc -O2 -D_GNU_SOURCE -no-pie "$source" -o "$program.fixed"
	gcc -O2 -D_GNU_SOURCE -static "$source" -o "$program.static" || skip "no static libc"
	strip -o "$program.stripped" "$program"
	rules <<-EOF
		[rule-fixed]
		when = uprobe:$program.fixed:user_func_slow > 5ms

		[rule-static]
		when = uprobe:$program.static:user_func_slow > 5ms
	EOF
	frbpf_load
	program "$program.fixed" --ms 20 >/dev/null
	wait_for_incident "$BASE" 1
	program "$program.static" --ms 20 >/dev/null
	wait_for_incident "$BASE" 2
	sed -i "s|$program.fixed|$program.stripped|" "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"$program.stripped has no function 'user_func_slow': it is stripped"* ]]
	# a program that exports other functions, like programs with plug-ins
	gcc -O2 -D_GNU_SOURCE -rdynamic "$source" -o "$program.exports"
	strip "$program.exports"
	sed -i "s|$program.stripped:user_func_slow|$program.exports:not_exported_at_all|" "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"$program.exports has no function 'not_exported_at_all': it is stripped, so only exported functions have names"* ]] ||
		fail "$output"
	# a load with this error keeps the old rules
	run -1 frbpf load "$RULES"
	same "rules" "$(frbpf status --json | jq -re '.rules | length')" 2
}

@test "the duration of a Go function is refused with the reason, but a rule on its calls is not" {
	command -v go >/dev/null || skip "no Go compiler"
	printf 'package main\n\nfunc main() { println("hello") }\n' >"$program.go"
	(cd "$BATS_TEST_TMPDIR" && go build -o "$program.bin" "$program.go")
	rules <<-EOF
		[rule-go]
		when = uprobe:$program.bin:main.main > 5ms
	EOF
	run -1 frbpf check "$RULES"
	[[ $output == *"$program.bin is a Go program: its stacks move"* ]] || fail "$output"
	sed -i 's/ > 5ms//' "$RULES"
	frbpf_load
	program "$program.bin" 2>/dev/null
	wait_for_incident "$BASE" 1
}

@test "a static probe fires with its arguments, and its semaphore counts us" {
	rules <<-EOF
		[rule-tick]
		when = usdt:$program:frbpf_test:tick
		if = arg0 == -3 && arg1 == 1003 && arg2 == -5
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"frbpf_test:tick"*"3 arguments"* ]]
	sed 's/arg2/arg3/' "$RULES" >"$BATS_TEST_TMPDIR/more.conf"
	run -1 frbpf check "$BATS_TEST_TMPDIR/more.conf"
	[[ $output == *"'if' uses arg3, but this probe has 3 arguments"* ]] || fail "$output"
	same "semaphore" "$(json "$(program "$program" --call probe)" .semaphore)" 0
	frbpf_load
	line=$(program "$program" --call probe --times 6 | tail -n 1)
	same "semaphore" "$(json "$line" .semaphore)" 1
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "source" "$(manifest "$name" source)" usdt
	same "arguments" "$(jq -c '.triggers[0].args' "$BASE/incidents/$name.json")" '{"arg0":-3,"arg1":1003,"arg2":-5}'
	same "pid" "$(manifest "$name" pid)" "$(json "$line" .pid)"
	frbpf_stop
	same "semaphore" "$(json "$(program "$program" --call probe)" .semaphore)" 0
}

@test "a span from a static probe to a function, by an argument of both" {
	rules <<-EOF
		[rule-pair]
		when = usdt:$program:frbpf_test:tick -> uprobe:$program:user_func_hit by tid, arg1 = arg0 > 20ms
		if = start.arg0 == -2 && arg0 == 1002

		[rule-hangs]
		when = pending(usdt:$program:frbpf_test:tick -> uprobe:$program:user_func_hit by tid, arg1 = arg0) > 20s
	EOF
	run -0 frbpf check "$RULES"
	[[ $output == *"$program: frbpf_test:tick, in 1 place, 3 arguments"*"$program: user_func_hit, 0x"* ]] ||
		fail "$output"
	sed 's/start.arg0/start.arg3/' "$RULES" >"$BATS_TEST_TMPDIR/more.conf"
	run -1 frbpf check "$BATS_TEST_TMPDIR/more.conf"
	[[ $output == *"'if' uses arg3, but this probe has 3 arguments"* ]] || fail "$output"
	sed 's/arg1 = arg0/arg4 = arg0/' "$RULES" >"$BATS_TEST_TMPDIR/more.conf"
	run -1 frbpf check "$BATS_TEST_TMPDIR/more.conf"
	[[ $output == *"the key 'arg4': tick has 3 arguments"* ]] || fail "$output"
	frbpf_load
	line=$(program "$program" --call pair --times 4 --ms 30 | sed -n 3p)
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "source" "$(manifest "$name" source)" span
	same "pid" "$(manifest "$name" pid)" "$(json "$line" .pid)"
	between "$(manifest "$name" value)" 30000000 "$(json "$line" .took_ns)" "time from the one to the other"
	between "$(manifest "$name" time)" "$(json "$line" .begin_ns)" "$(json "$line" .end_ns)" "moment"
	same "arguments" "$(jq -c '.triggers[0].args' "$BASE/incidents/$name.json")" '{"start.arg0":-2,"arg0":1002}'
	same "stack" "$(user_frame "$name")" "$program user_func_hit"
	run -0 frbpf test "$RULES" "$name"
	[[ $output == *"rule pair"*"cannot tell: "*"hits of probes in programs"* ]] || fail "$output"
	frbpf_stop
	same "semaphore" "$(json "$(program "$program" --call probe)" .semaphore)" 0
}

@test "a glob is searched in running processes" {
	mkdir -p "$BATS_TEST_TMPDIR/v1/bin"
	mv "$program" "$BATS_TEST_TMPDIR/v1/bin/server"
	rules <<-EOF
		[rule-server]
		when = uprobe:$BATS_TEST_TMPDIR/*/bin/server:user_func_slow > 5ms
	EOF
	run -1 frbpf check "$RULES"
	[[ $output == *"no running process has mapped a file that matches"* ]]
	start_waiting "$BATS_TEST_TMPDIR/v1/bin/server" --ms 30
	frbpf_load
	go_on
	wait_for_incident "$BASE" 1
	# processes that run the same file later are watched, too
	program "$BATS_TEST_TMPDIR/v1/bin/server" --ms 30
	matched_twice() {
		(($(frbpf status --json | jq -re '.rules[0].matched') == 2))
	}
	wait_until 10 matched_twice
}

@test "a program that only another mount namespace has" {
	mkdir "$BATS_TEST_TMPDIR/inside"
	rules <<-EOF
		[rule-inside]
		when = uprobe:$BATS_TEST_TMPDIR/inside/server:user_func_slow > 5ms
	EOF
	run -1 frbpf check "$RULES"
	[[ $output == *"no such file, and no running process has one"* ]]
	unshare -m true 2>/dev/null || skip "no mount namespaces"
	# shellcheck disable=SC2016 # for the shell in there
	start_waiting unshare -m bash -c \
		'mount -t tmpfs none "$1" && cp "$2" "$1/server" && exec "$1/server" "${@:3}"' \
		- "$BATS_TEST_TMPDIR/inside" "$program" --ms 30
	[[ ! -e $BATS_TEST_TMPDIR/inside/server ]]
	frbpf_load
	go_on
	wait_for_incident "$BASE" 1
}

@test "after a program was replaced, a reload watches the new one" {
	rules <<-EOF
		[rule-slow]
		when = uprobe:$program:user_func_slow > 5ms
		cooldown = 0
	EOF
	frbpf_load
	program "$program" --ms 20
	wait_for_incident "$BASE" 1
	cp "$program" "$program.new"
	mv "$program.new" "$program"
	program "$program" --ms 20
	same "matched before the reload" "$(status_of slow .matched)" 1
	frbpf_load
	program "$program" --ms 20
	wait_for_incident "$BASE" 2
}

# rule_and_names_agree N: a rule on a function of $program fires as incident N, and its stack has the function's name
rule_and_names_agree() {
	rules <<-EOF
		[rule-slow-$1]
		when = uprobe:$program:user_func_slow > 5ms
	EOF
	frbpf_load
	program "$program" --ms 20 >/dev/null
	wait_for_incident "$BASE" "$1"
	same "stack" "$(user_frame "$(incidents "$BASE" | tail -n 1)")" "$program user_func_slow"
}

@test "rules and stacks find the same names in stripped programs: .gnu_debugdata, a separate debug file" {
	command -v objcopy >/dev/null && command -v xz >/dev/null || skip "no objcopy or xz"
	local mini=$BATS_TEST_TMPDIR/mini
	nm "$program" --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ {print $1}' >"$mini.keep"
	objcopy --only-keep-debug "$program" "$mini.debug"
	objcopy -S --remove-section .comment --keep-symbols="$mini.keep" "$mini.debug" "$mini"
	xz "$mini"
	strip "$program"
	run -1 frbpf events "uprobe:$program:user_func_slow"
	cp "$program" "$program.linked"
	objcopy --add-section .gnu_debugdata="$mini.xz" "$program"
	run -0 frbpf events "uprobe:$program:user_func_slow"
	rule_and_names_agree 1
	mv "$program.linked" "$program"
	objcopy --add-gnu-debuglink="$mini.debug" "$program"
	chmod go-w "$mini.debug"
	rule_and_names_agree 2
	chmod o+w "$mini.debug" # anybody may have written this file now
	run -1 frbpf check "$RULES"
	[[ $output == *"it is stripped"* ]] || fail "$output"
}

@test "check and events need no root" {
	command -v setpriv >/dev/null || skip "no setpriv"
	open_dir=$(mktemp -d /tmp/frbpf-e2e.XXXXXX)
	chmod 755 "$open_dir"
	rules <<-EOF
		[rule-slow]
		when = uprobe:libc:nanosleep > 5ms
	EOF
	cp "$FRBPF" "$program" "$RULES" "$open_dir"
	as_nobody() {
		setpriv --reuid 65534 --clear-groups "$open_dir/frbpf" "$@"
	}
	run -0 as_nobody check "$open_dir/${RULES##*/}"
	[[ $output == *"libc"*": nanosleep, 0x"*"return instructions"* ]]
	run -0 as_nobody events "uprobe:$open_dir/user_func:user_func_s*"
	[[ ${lines[0]} == "uprobe:$open_dir/user_func:user_func_slow "* ]]
	same "functions" "${#lines[@]}" 1
	run -0 as_nobody events "usdt:$open_dir/user_func:*"
	[[ $output == "usdt:$open_dir/user_func:frbpf_test:tick "*"static probe"* ]]
}
