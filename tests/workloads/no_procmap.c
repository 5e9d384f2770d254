// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a command as on a kernel before 6.11, which does not report build ids of maps: the ioctl
 * PROCMAP_QUERY of /proc/PID/maps fails with ENOTTY, in the command and its children.
 *
 * no_procmap COMMAND...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* _IOWR('f', 17, struct procmap_query), whatever its size */
#define IOCTL_MASK     0xffff
#define IOCTL_PROCMAPS ('f' << 8 | 17)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
		/* the low word: both architectures are little-endian */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, IOCTL_MASK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IOCTL_PROCMAPS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (argc < 2) {
		fprintf(stderr, "usage: no_procmap COMMAND...\n");
		return 2;
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) {
		perror("no_procmap: seccomp");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
