/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file system with one file, FUSE_FILE. It answers until it is told to hang. From then on whoever
 * opens the file waits, and cannot be killed while the file system exists. Speaks the kernel's
 * protocol (linux/fuse.h), without a library.
 */
#ifndef TESTS_UNIT_FUSE_FIXTURE_H
#define TESTS_UNIT_FUSE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUSE_FILE     "program"
#define FUSE_READ_MAX (1 << 20)

struct fuse_fixture {
	char dir[64], path[80];
	pid_t server;
	struct stat st; /* of the file */
};

struct fuse_server {
	int dev, file; /* the contents of the file are in @file */
	struct fuse_attr attr;
	char request[2 * FUSE_MIN_READ_BUFFER], reply[FUSE_READ_MAX + 4096];
};

static volatile sig_atomic_t fuse_hangs;

static inline void fuse_hang_now(int signal __attribute__((unused)))
{
	fuse_hangs = 1;
}

static inline void fuse_reply(struct fuse_server *s, uint64_t unique, int error, size_t len)
{
	struct fuse_out_header *h = (void *)s->reply;

	*h = (struct fuse_out_header){ .len = sizeof(*h) + len, .error = error, .unique = unique };
	if (write(s->dev, s->reply, h->len) < 0 && errno != ENOENT)
		_exit(1);
}

static inline void fuse_serve(struct fuse_server *s)
{
	const struct fuse_in_header *in = (void *)s->request;
	const void *arg = in + 1;
	void *out = s->reply + sizeof(struct fuse_out_header);
	struct fuse_attr_out *attr = out;
	struct fuse_entry_out *entry = out;
	const struct fuse_read_in *range = arg;
	const struct fuse_write_in *written = arg;
	ssize_t n;

	memset(s->reply, 0, sizeof(*entry) + sizeof(struct fuse_out_header));
	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out = (struct fuse_init_out){
			.major = FUSE_KERNEL_VERSION,
			.minor = 26,
			.max_readahead = 65536,
			.max_write = 4096,
		};
		fuse_reply(s, in->unique, 0, sizeof(struct fuse_init_out));
		break;
	case FUSE_GETATTR:
		attr->attr = s->attr;
		if (in->nodeid == FUSE_ROOT_ID)
			attr->attr =
				(struct fuse_attr){ .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
		fuse_reply(s, in->unique, 0, sizeof(*attr));
		break;
	case FUSE_LOOKUP:
		entry->nodeid = s->attr.ino;
		entry->attr = s->attr;
		fuse_reply(s, in->unique, strcmp(arg, FUSE_FILE) ? -ENOENT : 0,
			   strcmp(arg, FUSE_FILE) ? 0 : sizeof(*entry));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		/* otherwise an open would drop the pages of a process that runs the file */
		((struct fuse_open_out *)out)->open_flags = FOPEN_KEEP_CACHE;
		fuse_reply(s, in->unique, 0, sizeof(struct fuse_open_out));
		break;
	case FUSE_READ:
		n = pread(s->file, out, range->size < FUSE_READ_MAX ? range->size : FUSE_READ_MAX,
			  range->offset);
		fuse_reply(s, in->unique, n < 0 ? -EIO : 0, n < 0 ? 0 : n);
		break;
	case FUSE_WRITE: /* the data are dropped */
		*(struct fuse_write_out *)out = (struct fuse_write_out){ .size = written->size };
		fuse_reply(s, in->unique, 0, sizeof(struct fuse_write_out));
		break;
	case FUSE_STATFS:
		((struct fuse_statfs_out *)out)->st.blocks = 1;
		fuse_reply(s, in->unique, 0, sizeof(struct fuse_statfs_out));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		fuse_reply(s, in->unique, 0, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_reply(s, in->unique, -ENOSYS, 0);
		break;
	}
}

/*
 * Read all requests, because a request that was read cannot be interrupted. Once told to hang,
 * answer none.
 */
static inline void fuse_run(int dev, const char *content)
{
	static struct fuse_server s;
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test is killed, nobody must wait */
	close_range(3, dev - 1, 0);	  /* descriptors of the test */
	close_range(dev + 1, ~0U, 0);
	s.dev = dev;
	s.file = open(content, O_RDONLY | O_CLOEXEC);
	if (s.file < 0 || fstat(s.file, &st))
		_exit(1);
	s.attr = (struct fuse_attr){
		.ino = 2,
		.size = st.st_size,
		.blocks = st.st_blocks,
		.mode = S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
	signal(SIGUSR1, fuse_hang_now);
	for (;;) {
		ssize_t n = read(dev, s.request, sizeof(s.request) - 1);

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			_exit(0);
		s.request[n] = '\0';
		if (!fuse_hangs)
			fuse_serve(&s);
	}
}

/*
 * Enter a mount namespace of our own; processes that we fork from now on share it. It ends with the
 * last of them, even if that one is killed. Without root there is no namespace, and no mount.
 */
static inline void fuse_fixture__confine(void)
{
	if (!unshare(CLONE_NEWNS))
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* Mount it with @content. False: not possible on this machine. */
static inline bool fuse_fixture__mount(struct fuse_fixture *f, const char *content)
{
	char options[128];
	int dev = open("/dev/fuse", O_RDWR);

	strcpy(f->dir, "/tmp/frbpf-fuse-XXXXXX");
	f->server = 0;
	if (dev < 0 || !mkdtemp(f->dir))
		return false;
	snprintf(f->path, sizeof(f->path), "%s/" FUSE_FILE, f->dir);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 dev);
	if (mount("frbpf-test", f->dir, "fuse.frbpf", MS_NODEV, options)) {
		close(dev);
		rmdir(f->dir);
		return false;
	}
	f->server = fork();
	if (!f->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_run(dev, content);
	}
	close(dev);
	return f->server > 0 && !stat(f->path, &f->st);
}

/* Answer no request for the file from now on, and drop the kernel's cached pages. */
static inline void fuse_fixture__hang(const struct fuse_fixture *f)
{
	kill(f->server, SIGUSR1);
}

/* Unmount it. Processes that wait for the server get an error. */
static inline void fuse_fixture__unmount(struct fuse_fixture *f)
{
	if (f->server > 0) {
		kill(f->server, SIGKILL);
		waitpid(f->server, NULL, 0);
		f->server = 0;
	}
	umount2(f->dir, MNT_DETACH);
	rmdir(f->dir);
}

#endif
