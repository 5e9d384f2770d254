// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches a BPF program of type tracepoint, named takes_events, to a tracepoint. It returns 0, so
 * that no perf user gets the event any more.
 *
 * take_events ID
 *
 * ID: the number of the tracepoint, from the file `id` in tracefs. Choose a tracepoint that nobody
 * else records.
 *
 * Prints the program's id as JSON once it is attached, and stays until it is killed.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int load(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t) "GPL",
		.prog_name = "takes_events",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	struct bpf_prog_info info = { 0 };
	union bpf_attr ask = { 0 };
	int event, program;

	if (argc != 2) {
		fprintf(stderr, "usage: take_events ID\n");
		return 2;
	}
	attr.config = strtoul(argv[1], NULL, 10);
	program = load();
	if (program < 0)
		die("load", errno);
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program))
		die("attach", errno);
	ask.info.bpf_fd = program;
	ask.info.info_len = sizeof(info);
	ask.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &ask))
		die("info", errno);
	printf("{\"pid\":%d,\"id\":%u}\n", getpid(), info.id);
	fflush(stdout);
	for (;;)
		pause();
}
