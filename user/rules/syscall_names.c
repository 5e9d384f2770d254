// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/syscall_newer.h"
#include "rules/when.h"

/* Calls whose job is to wait: `syscall:*` omits them. */
static const char *const waiting[] = {
	"accept",	  "accept4",	     "clock_nanosleep",
	"epoll_pwait",	  "epoll_pwait2",    "epoll_wait",
	"epoll_wait_old", "futex",	     "futex_wait",
	"futex_waitv",	  "io_getevents",    "io_pgetevents",
	"io_uring_enter", "mq_timedreceive", "msgrcv",
	"nanosleep",	  "pause",	     "poll",
	"ppoll",	  "pselect6",	     "recvfrom",
	"recvmmsg",	  "recvmsg",	     "restart_syscall",
	"rt_sigsuspend",  "rt_sigtimedwait", "select",
	"semop",	  "semtimedop",	     "vfork",
	"wait4",	  "waitid",
};

/* Calls that wait if their first argument is a tty, a pipe or a socket, but not if it is a file. */
static const char *const reading[] = { "preadv2", "read", "readv", "splice", "tee" };

/* Calls that never return. */
static const char *const endless[] = { "exit", "exit_group" };

/* Calls whose first, or second, argument is a path. */
static const char *const path_first[] = {
	"access",	"acct",	     "chdir",	 "chmod",     "chown",	"chroot",    "creat",
	"execve",	"getxattr",  "lchown",	 "lgetxattr", "link",	"listxattr", "llistxattr",
	"lremovexattr", "lsetxattr", "lstat",	 "mkdir",     "mknod",	"open",	     "readlink",
	"removexattr",	"rename",    "rmdir",	 "setxattr",  "stat",	"statfs",    "swapoff",
	"swapon",	"symlink",   "truncate", "umount2",   "unlink", "utime",     "utimes",
};
static const char *const path_second[] = {
	"execveat",   "faccessat",	   "faccessat2", "fchmodat",  "fchmodat2", "fchownat",
	"futimesat",  "inotify_add_watch", "linkat",	 "mkdirat",   "mknodat",   "mount",
	"move_mount", "name_to_handle_at", "newfstatat", "open_tree", "openat",	   "openat2",
	"readlinkat", "renameat",	   "renameat2",	 "statx",     "unlinkat",  "utimensat",
};

/* Calls that work on, or wait for, the file of the descriptor that is their first argument. */
static const char *const descriptor_first[] = {
	"accept",    "accept4",	  "connect",	"copy_file_range", "epoll_pwait", "epoll_wait",
	"fadvise64", "fallocate", "fchmod",	"fchown",	   "fcntl",	  "fdatasync",
	"fgetxattr", "flock",	  "fsetxattr",	"fstat",	   "fstatfs",	  "fsync",
	"ftruncate", "getdents",  "getdents64", "ioctl",	   "lseek",	  "pread64",
	"preadv",    "preadv2",	  "pwrite64",	"pwritev",	   "pwritev2",	  "read",
	"readahead", "readv",	  "recvfrom",	"recvmsg",	   "sendfile",	  "sendmsg",
	"sendto",    "splice",	  "syncfs",	"sync_file_range", "write",	  "writev",
};

/* Calls on sockets: where they have the address of the other side. */
static const struct {
	const char *name;
	enum frbpf_call_peer peer;
} peers[] = {
	{ "connect", FRBPF_CALL_ADDRESS },    { "sendto", FRBPF_CALL_SENDTO },
	{ "sendmsg", FRBPF_CALL_SOCKET },     { "sendmmsg", FRBPF_CALL_SOCKET },
	{ "recvfrom", FRBPF_CALL_SOCKET },    { "recvmsg", FRBPF_CALL_SOCKET },
	{ "recvmmsg", FRBPF_CALL_SOCKET },    { "shutdown", FRBPF_CALL_SOCKET },
	{ "getpeername", FRBPF_CALL_SOCKET }, { "setsockopt", FRBPF_CALL_SOCKET },
	{ "getsockopt", FRBPF_CALL_SOCKET },  { "read", FRBPF_CALL_SOCKET },
	{ "readv", FRBPF_CALL_SOCKET },	      { "write", FRBPF_CALL_SOCKET },
	{ "writev", FRBPF_CALL_SOCKET },      { "sendfile", FRBPF_CALL_SOCKET },
	{ "accept", FRBPF_CALL_ACCEPTED },    { "accept4", FRBPF_CALL_ACCEPTED },
};

static bool call_is_listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i], name))
			return true;
	}
	return false;
}

enum syscall_kind syscall__kind(const char *name)
{
	if (call_is_listed(waiting, ARRAY_SIZE(waiting), name))
		return SYSCALL_WAITS;
	if (call_is_listed(reading, ARRAY_SIZE(reading), name))
		return SYSCALL_READS;
	return call_is_listed(endless, ARRAY_SIZE(endless), name) ? SYSCALL_ENDLESS : SYSCALL_WORKS;
}

enum frbpf_call_file syscall__file_arg(int nr)
{
	const char *name = syscall__name(nr);

	if (!name)
		return FRBPF_CALL_NO_FILE;
	if (call_is_listed(path_first, ARRAY_SIZE(path_first), name))
		return FRBPF_CALL_PATH_FIRST;
	if (call_is_listed(path_second, ARRAY_SIZE(path_second), name))
		return FRBPF_CALL_PATH_SECOND;
	return call_is_listed(descriptor_first, ARRAY_SIZE(descriptor_first), name)
		       ? FRBPF_CALL_DESCRIPTOR
		       : FRBPF_CALL_NO_FILE;
}

enum frbpf_call_peer syscall__peer(int nr)
{
	const char *name = syscall__name(nr);

	for (size_t i = 0; name && i < ARRAY_SIZE(peers); i++) {
		if (!strcmp(peers[i].name, name))
			return peers[i].peer;
	}
	return FRBPF_CALL_NO_PEER;
}

void syscall__keys(unsigned int kinds, uint64_t *keys)
{
	for (size_t i = 0; syscall_names[i]; i++) {
		int nr = syscall__number(syscall_names[i], strlen(syscall_names[i]));

		if (nr < FRBPF_KEY_MAX && kinds & 1U << syscall__kind(syscall_names[i]))
			keys[nr / 64] |= 1ULL << (nr % 64);
	}
}

/*
 * The Makefile makes syscall_table.h: a sorted SYSCALL(name) for each call that syscall_newer.h
 * knows.
 */
#define SYSCALL(name) #name,
const char *const syscall_names[] = {
#include "syscall_table.h"
	NULL,
};
#undef SYSCALL

#define SYSCALL(name) __NR_##name,
static const int numbers[] = {
#include "syscall_table.h"
};
#undef SYSCALL

_Static_assert(ARRAY_SIZE(syscall_names) == ARRAY_SIZE(numbers) + 1, "one number per name");

int syscall__number(const char *name, size_t len)
{
	size_t low = 0, high = ARRAY_SIZE(numbers);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(name, syscall_names[mid], len);

		if (!order && !syscall_names[mid][len])
			return numbers[mid];
		if (order > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -ENOENT;
}

const char *syscall__name(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i] == nr)
			return syscall_names[i];
	}
	return NULL;
}
