// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slow_disk.h"
#include "stage.h"

#define FILE_NODE 2
#define REQUEST	  (128 << 10) /* bytes of a read or write */

struct fuse_server {
	int fd;
	char *content;
	size_t bytes;
	const long *pace;
	char in[REQUEST + 8192], out[REQUEST];
};

static void reply(struct fuse_server *s, uint64_t unique, int error, const void *data, size_t n)
{
	struct fuse_out_header h = { .len = sizeof(h) + n, .error = error, .unique = unique };
	char b[sizeof(h) + REQUEST];

	memcpy(b, &h, sizeof(h));
	memcpy(b + sizeof(h), data, n);
	if (write(s->fd, b, h.len) < 0 && errno != ENOENT) /* ENOENT: its request was interrupted */
		exit(1);
}

static struct fuse_attr attr_of(const struct fuse_server *s, uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700;
	if (node == FILE_NODE)
		a.size = s->bytes;
	return a;
}

/* Reads and writes take time. */
static void transfer(struct fuse_server *s, const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_read_in *r = arg;
	const struct fuse_write_in *w = arg;
	struct fuse_write_out out = { .size = w->size };

	if (r->offset > s->bytes || r->size > REQUEST || r->size > s->bytes - r->offset) {
		reply(s, h->unique, -EINVAL, NULL, 0);
		return;
	}
	if (*(volatile const long *)s->pace)
		take_time(*s->pace);
	if (h->opcode == FUSE_READ) {
		reply(s, h->unique, 0, s->content + r->offset, r->size);
		return;
	}
	memcpy(s->content + w->offset, w + 1, w->size);
	reply(s, h->unique, 0, &out, sizeof(out));
}

static void answer(struct fuse_server *s)
{
	const struct fuse_in_header *h = (void *)s->in;
	const void *arg = h + 1;
	const struct fuse_init_in *i = arg;
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					    .minor = FUSE_KERNEL_MINOR_VERSION,
					    .max_readahead = i->max_readahead,
					    .flags = FUSE_BIG_WRITES | FUSE_ASYNC_READ,
					    .max_background = 16,
					    .congestion_threshold = 12,
					    .max_write = REQUEST };
	const struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(s, h->nodeid) };
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					      .entry_valid = 3600,
					      .attr_valid = 3600,
					      .attr = attr_of(s, FILE_NODE) };
	const struct fuse_open_out open = { .fh = 1 };

	switch (h->opcode) {
	case FUSE_INIT:
		reply(s, h->unique, 0, &init, sizeof(init));
		return;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		reply(s, h->unique, 0, &attr, sizeof(attr));
		return;
	case FUSE_LOOKUP:
		reply(s, h->unique, strcmp(arg, "disk") ? -ENOENT : 0, &entry,
		      strcmp(arg, "disk") ? 0 : sizeof(entry));
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(s, h->unique, 0, &open, sizeof(open));
		return;
	case FUSE_READ:
	case FUSE_WRITE:
		transfer(s, h, arg);
		return;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_ACCESS:
		reply(s, h->unique, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(s, h->unique, -ENOSYS, NULL, 0);
	}
}

static void serve_requests(struct fuse_server *s)
{
	for (;;) {
		ssize_t n = read(s->fd, s->in, sizeof(s->in));

		if (n < 0 && errno == EPERM) /* not mounted yet */
			usleep(1000);
		if (n < 0 &&
		    (errno == EINTR || errno == ENOENT || errno == EAGAIN || errno == EPERM))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			_exit(0); /* unmounted */
		answer(s);
	}
}

static void run_command(const char *command)
{
	if (system(command))
		not_here(command);
}

static struct slow_disk disk;

/* If a signal ends the program, its mounts end with the mount namespace. */
static void disk_free(void)
{
	*disk.pace = 0;
	/* lazily: open files keep the mounts until the program ends */
	if (disk.mounted[0] && (umount2(disk.mounted, MNT_DETACH) || rmdir(disk.mounted)))
		fprintf(stderr, "cause: %s: %s\n", disk.mounted, strerror(errno));
	if (umount2(disk.directory, MNT_DETACH) || rmdir(disk.directory))
		fprintf(stderr, "cause: %s: %s\n", disk.directory, strerror(errno));
}

struct slow_disk *slow_disk__serve(size_t bytes)
{
	static struct fuse_server s;
	struct slow_disk *d = &disk;
	char options[96];

	s.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (s.fd < 0)
		not_here("/dev/fuse");
	d->pace = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s.content = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->pace == MAP_FAILED || s.content == MAP_FAILED)
		die("mmap");
	s.bytes = bytes;
	s.pace = d->pace;
	snprintf(d->directory, sizeof(d->directory), "/tmp/cause-%d.fs", getpid());
	snprintf(d->file, sizeof(d->file), "%.63s/disk", d->directory);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40700,user_id=0,group_id=0", s.fd);
	d->server = fork();
	if (d->server < 0)
		die("fork");
	if (!d->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_requests(&s);
	}
	/*
	 * Keep the server out of our mount namespace. The end of a namespace unmounts its file
	 * systems, and must not wait for a server that ends with it.
	 */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		not_here("a mount namespace");
	mkdir(d->directory, 0700);
	if (mount("cause", d->directory, "fuse", MS_NOSUID | MS_NODEV, options)) {
		rmdir(d->directory);
		not_here("a FUSE file system");
	}
	close(s.fd);
	atexit(disk_free);
	return d;
}

void slow_disk__attach(struct slow_disk *d)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), loop, file;
	struct loop_config c = { .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);

	snprintf(d->device, sizeof(d->device), "/dev/loop%d", number);
	loop = number < 0 ? -1 : open(d->device, O_RDWR | O_CLOEXEC);
	file = open(d->file, O_RDWR | O_CLOEXEC);
	c.fd = file;
	if (loop < 0 || file < 0 || ioctl(loop, LOOP_CONFIGURE, &c)) {
		not_here("a loop device");
	}
	close(file);
	close(control);
	/* loop stays open until the program ends, and keeps the device */
}

static void mount_ext4(struct slow_disk *d)
{
	if (mount(d->device, d->mounted, "ext4", MS_NOATIME, "commit=300")) {
		rmdir(d->mounted);
		d->mounted[0] = '\0';
		not_here("mounting ext4");
	}
}

void slow_disk__mount(struct slow_disk *d)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0,nodiscard %s", d->device);
	run_command(command);
	snprintf(d->mounted, sizeof(d->mounted), "%s.ext4", d->directory);
	mkdir(d->mounted, 0700);
	mount_ext4(d);
}

void slow_disk__forget_cache(struct slow_disk *d)
{
	int file;

	if (umount(d->mounted))
		die(d->mounted);
	file = open(d->file, O_RDWR | O_CLOEXEC);
	if (file < 0 || fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
		die(d->file);
	close(file);
	mount_ext4(d);
}
