#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Direct memory reclaim by a task.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load memory_group

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints vmscan:mm_vmscan_memcg_reclaim_begin
	common_setup
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-mem"
	truncate -s 64M "$BATS_TEST_TMPDIR/file"
}

teardown() {
	common_teardown
	memory_group_remove
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
	in_memory_group "$BATS_TEST_TMPDIR/frbpf-mem" "$BATS_TEST_TMPDIR/file" >/dev/null &
	reader=$!
	wait "$reader"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	dump=$BASE/session-mem/perf.data.$name
	same "source" "$(manifest "$name" source)" reclaim
	same "pid" "$(manifest "$name" pid)" "$reader"
	same "comm" "$(manifest "$name" comm)" frbpf-mem
	same "scope" "$(jq -r '.triggers[0].args.scope' "$BASE/incidents/$name.json")" cgroup
	same_span "$name" "$dump" vmscan:mm_vmscan_memcg_reclaim_begin vmscan:mm_vmscan_memcg_reclaim_end \
		"\$3 == $reader"
	text=$(events "$dump" vmscan:mm_vmscan_memcg_reclaim_end |
		awk -F '\t' -v tid="$reader" -v end="$span_exit" '$3 == tid && $5 == end {print $7}')
	same "pages" "nr_reclaimed=$(jq -r '.triggers[0].args.pages' "$BASE/incidents/$name.json")" "$text"
	# the stacks show where: the kernel charges a page to the group, for a call of the program
	jq -e '.triggers[0].stacks | (.kernel | any(.symbol | strings | test("charge|reclaim"))) and
		(.user[0].module | test("libc|ld-"))' \
		"$BASE/incidents/$name.json" || fail "$(jq -c '.triggers[0].stacks' "$BASE/incidents/$name.json")"
	run -0 frbpf show "$name"
	[[ $output == *"scope=cgroup"* && $output == *"frbpf-mem (pid $reader"* ]]
}
