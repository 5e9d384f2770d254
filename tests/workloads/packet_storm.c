// SPDX-License-Identifier: GPL-2.0-only
/*
 * A storm of short softirqs: sends datagrams to itself. A socket filter makes the kernel burn some
 * 100 us for each one, in the softirq net_rx that receives it.
 *
 * packet_storm
 *
 * Runs until SIGTERM, then prints one line of JSON: the number of datagrams.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

#define LOOPS 150000 /* the verifier walks through each */

static volatile sig_atomic_t over;

static void stop(int number)
{
	over = number;
}

static int load(void)
{
	/* for (r1 = LOOPS; r1; r1--) ; return 0: drop the packet */
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = LOOPS },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t) "GPL",
		.prog_name = "packet_storm",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int main(int argc, char **argv __attribute__((unused)))
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sigaction action = { .sa_handler = stop };
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), prog = load();
	cpu_set_t first;
	long n = 0;

	if (argc > 1) {
		fprintf(stderr, "usage: packet_storm (until SIGTERM)\n");
		return 2;
	}
	if (prog < 0)
		die("load", errno);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, len) ||
	    getsockname(fd, (struct sockaddr *)&to, &len))
		die("socket", errno);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof(prog)))
		die("filter", errno);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first); /* one CPU takes them all */
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }))
		setpriority(PRIO_PROCESS, 0, -20);
	sigaction(SIGTERM, &action, NULL);
	for (; !over; n++)
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len);
	printf("{\"pid\":%d,\"packets\":%ld}\n", (int)getpid(), n);
	return 0;
}
