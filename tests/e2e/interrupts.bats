#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Long interrupts, compared with perf's records of the same interrupts.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints irq:softirq_entry
	common_setup
	cp "$(command -v bash)" "$BATS_TEST_TMPDIR/frbpf-net"
}

teardown() {
	common_teardown
}

# Sends packets that nobody receives. Each one raises a softirq on the loopback device.
send_packets() {
	"$BATS_TEST_TMPDIR/frbpf-net" -c 'for i in {1..20}; do echo x >/dev/udp/127.0.0.1/9; done' 2>/dev/null 3>&- ||
		true
}

# A busy ksoftirqd may process the packets instead: then try again.
packets_fire() {
	send_packets
	wait_until 2 has_incidents "$BASE" 1
}

@test "a softirq is measured between perf's events of it, and has no subject" {
	cat >"$RULES" <<-'EOF'
		[session-irq]
		run = -e irq:softirq_entry -e irq:softirq_exit -m 1M --overwrite --switch-output -a

		# perf may record the end after us, and the CPU may be taken away in between
		[rule-net]
		when = softirq:net_rx > 1ns
		if = current.comm == "frbpf-net"
		post = 1s
	EOF
	frbpf_load
	wait_until 20 packets_fire || fail "no softirq while packets were sent"
	name=$(incidents "$BASE")
	dump=$BASE/session-irq/perf.data.$name
	same "source" "$(manifest "$name" source)" softirq
	same "key" "$(manifest "$name" key)" net_rx
	same "vec" "$(jq -r '.triggers[0].args.vec' "$BASE/incidents/$name.json")" net_rx
	same "comm" "$(manifest "$name" comm)" ""
	same "current" "$(jq -r '.triggers[0].current.comm' "$BASE/incidents/$name.json")" frbpf-net
	IFS=$'\t' read -r comm _ _ cpu _ _ text < <(events "$dump" frbpf:trigger)
	same "comm of the marker" "$comm" frbpf-net
	[[ $text == *" key=net_rx vec=net_rx" ]] || fail "marker: $text"
	same_span "$name" "$dump" irq:softirq_entry irq:softirq_exit "\$4 == $cpu && \$7 ~ /vec=3 /"
	run -0 frbpf show
	[[ $output == *"softirq:net_rx > 1ns"*"net_rx"* && $output != *"subject "* ]]
	run -0 frbpf ls
	[[ $output == *"on CPU $cpu"* ]]
}

# A kernel that miscounts how deep perf is nested in interrupts drops these events for every perf user: ask perf itself.
perf_sees_interrupts() {
	perf record --no-bpf-event -q -a -e irq:irq_handler_entry -o "$BATS_TEST_TMPDIR/irq.data" -- \
		dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=4k count=50 oflag=direct status=none >/dev/null 2>&1 \
		3>&- || true
	perf script -i "$BATS_TEST_TMPDIR/irq.data" 2>/dev/null | grep -q irq_handler_entry
}

@test "a hard interrupt is measured between perf's events of it" {
	need_tracepoints irq:irq_handler_entry
	keep_cpus_awake
	perf_sees_interrupts || skip "perf sees no hard interrupts here"
	cat >"$RULES" <<-'EOF'
		[session-irq]
		run = -e irq:irq_handler_entry -e irq:irq_handler_exit -m 1M --overwrite --switch-output -a

		# not the first interrupt, so that the session has recorded for a while
		[rule-irq]
		when  = hardirq > 1ns
		count = 5 in 60s
		post  = 1s
	EOF
	frbpf_load
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=4k count=20 oflag=direct status=none || true
	wait_until 10 has_incidents "$BASE" 1 || skip "devices do not interrupt here"
	name=$(incidents "$BASE" | head -n 1)
	dump=$BASE/session-irq/perf.data.$name
	cpu=$(manifest "$name" cpu)
	irq=$(jq -re '.triggers[0].args.irq' "$BASE/incidents/$name.json")
	handler=$(jq -re '.triggers[0].args.name' "$BASE/incidents/$name.json")
	grep -E "^ *$irq:.* ${handler}" /proc/interrupts || fail "/proc/interrupts has no $irq of $handler"
	same_span "$name" "$dump" irq:irq_handler_entry irq:irq_handler_exit "\$4 == $cpu && \$7 ~ /irq=$irq /"
	events "$dump" irq:irq_handler_entry | grep -q "irq=$irq name=$handler" || fail "perf saw no $irq of $handler"
}

@test "check warns if a rule on an interrupt asks for a task" {
	write_rules <<-'EOF'
		[rule-net]
		when = softirq:net_rx > 1ms
		if = comm == "postgres" && cpu < 8
		cooldown = 10s per process

		[rule-irq]
		when = hardirq > 1ms
		if = current.comm == "postgres" && cpu < 8
	EOF
	run -0 frbpf check "$RULES"
	same "warnings" "$(grep -c "'softirq' has no subject" <<<"$output")" 2
	[[ $output != *"'hardirq' has no subject"* ]]
}

# Sets $irqs to the interrupts in a dump that were recorded singly, such as "36 virtio1-req.0".
has_irqs() {
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=256k count=50 oflag=direct status=none || true
	irqs=$(events "$(frbpf dump)" frbpf:interrupt |
		sed -nE 's/.*\tirq=([0-9]+)( name=(.*))? ns=[0-9]+ times=1$/\1 \3/p' | sort -u)
	[[ $irqs ]]
}

@test "an interrupt in the evidence has the name that its handler has in /proc/interrupts" {
	keep_cpus_awake
	perf_sees_interrupts || skip "perf sees no hard interrupts here"
	printf '[session-evidence]\nrun = evidence -m 4M\n[rule-none]\nwhen = app:none\n' >"$RULES"
	frbpf_load
	wait_until 20 has_irqs || skip "no interrupt takes 10 microseconds here"
	while read -r irq handler; do
		[[ $handler ]] || fail "IRQ $irq has no name: $irqs"
		grep -E "^ *$irq:" /proc/interrupts | grep -qF " $handler" ||
			fail "$irq $handler: $(grep -E "^ *$irq:" /proc/interrupts)"
	done <<<"$irqs"
	run -0 events "$(frbpf dump)" frbpf:interrupt
	[[ $output != *softirq=+([0-9])" name="* ]] || fail "a softirq has a name: $output"
}
