#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Direct memory reclaim by a task.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints vmscan:mm_vmscan_memcg_reclaim_begin
	common_setup
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-mem"
	truncate -s 64M "$BATS_TEST_TMPDIR/file"
	memory_group=
}

teardown() {
	common_teardown
	[[ ! $memory_group ]] || wait_until 10 rmdir "$memory_group"
}

memory_group_make() { # BYTES
	local v2 v1
	v2=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	v1=$(findmnt -nt cgroup -O memory -o TARGET | head -n 1)
	if [[ $v2 ]] && grep -qw memory "$v2/cgroup.subtree_control" 2>/dev/null; then
		memory_group=$v2/frbpf-test-$$
		mkdir "$memory_group"
		echo "$1" >"$memory_group/memory.max"
	elif [[ $v1 ]]; then
		memory_group=$v1/frbpf-test-$$
		mkdir "$memory_group"
		echo "$1" >"$memory_group/memory.limit_in_bytes"
	else
		skip "no memory controller of cgroups"
	fi
}

# Read more than the group may hold.
read_in_group() {
	(
		echo "$BASHPID" >"$memory_group/cgroup.procs"
		exec "$BATS_TEST_TMPDIR/frbpf-mem" "$BATS_TEST_TMPDIR/file" >/dev/null 3>&-
	) &
	reader=$!
	wait "$reader"
}

@test "reclaim for a full memory cgroup is measured between perf's events of it" {
	memory_group_make 8388608
	cat >"$RULES" <<-'EOF'
		[session-mem]
		run = -e vmscan:mm_vmscan_memcg_reclaim_begin -e vmscan:mm_vmscan_memcg_reclaim_end -g -m 1M --overwrite --switch-output -a

		[rule-reclaim]
		when = reclaim > 1us
		if = comm == "frbpf-mem" && scope == cgroup
		post = 1s
	EOF
	frbpf_load
	read_in_group
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	dump=$BASE/session-mem/perf.data.$name
	same "source" "$(manifest "$name" source)" reclaim
	same "pid" "$(manifest "$name" pid)" "$reader"
	same "comm" "$(manifest "$name" comm)" frbpf-mem
	same "scope" "$(jq -r '.triggers[0].args.scope' "$BASE/incidents/$name.json")" cgroup
	same_span "$name" "$dump" vmscan:mm_vmscan_memcg_reclaim_begin vmscan:mm_vmscan_memcg_reclaim_end "\$3 == $reader"
	text=$(events "$dump" vmscan:mm_vmscan_memcg_reclaim_end |
		awk -F '\t' -v tid="$reader" -v end="$span_exit" '$3 == tid && $5 == end {print $7}')
	same "pages" "nr_reclaimed=$(jq -r '.triggers[0].args.pages' "$BASE/incidents/$name.json")" "$text"
	# and where: the kernel charges a page to the group, for a call of the program
	jq -e '.triggers[0].stacks | (.kernel | any(.symbol | strings | test("charge|reclaim"))) and (.user[0].module | test("libc|ld-"))' \
		"$BASE/incidents/$name.json" || fail "$(jq -c '.triggers[0].stacks' "$BASE/incidents/$name.json")"
	run -0 frbpf show
	[[ $output == *"scope=cgroup"* && $output == *"frbpf-mem (pid $reader"* ]]
}
