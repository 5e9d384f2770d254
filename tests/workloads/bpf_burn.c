// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads a BPF program named bpf_burner, runs it for a while, and unloads it.
 *
 *	bpf_burn [--xdp] SECONDS
 *
 * --xdp: an empty program of type XDP, which the kernel calls through its dispatcher.
 *
 * Prints one line of JSON: the program's id and tag.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define LOOPS 5000

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int load(bool xdp)
{
	/* for (r1 = LOOPS; r1; r1--) ; return 0 */
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = xdp ? 1 : LOOPS },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = xdp ? BPF_PROG_TYPE_XDP : BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t) "GPL",
	};

	strcpy(attr.prog_name, "bpf_burner");
	return bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = { 0 };
	char packet[64] = "";
	bool xdp = argc == 3 && !strcmp(argv[1], "--xdp");
	time_t end;
	int fd;

	if (argc != 2 + xdp) {
		fprintf(stderr, "usage: bpf_burn [--xdp] SECONDS\n");
		return 2;
	}
	fd = load(xdp);
	if (fd < 0)
		die("load", errno);
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die("info", errno);
	end = clock() + atof(argv[argc - 1]) * CLOCKS_PER_SEC;
	while (clock() < end) {
		attr = (union bpf_attr){
			.test.prog_fd = fd,
			.test.data_in = (uintptr_t)packet,
			.test.data_size_in = sizeof(packet),
			.test.repeat = xdp ? 100000 : 1000,
		};
		if (bpf(BPF_PROG_TEST_RUN, &attr))
			die("run", errno);
	}
	close(fd);
	printf("{\"pid\":%d,\"tid\":%d,\"id\":%u,\"tag\":\"", getpid(), getpid(), info.id);
	for (size_t i = 0; i < sizeof(info.tag); i++)
		printf("%02x", info.tag[i]);
	printf("\"}\n");
	return 0;
}
