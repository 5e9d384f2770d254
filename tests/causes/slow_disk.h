/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk with adjustable speed: a loop device on a file with a slow FUSE server. Call serve, attach
 * and mount, then set the pace. There is only one disk; it ends with the program.
 */
#ifndef FRBPF_CAUSES_SLOW_DISK_H
#define FRBPF_CAUSES_SLOW_DISK_H

#include <sys/types.h>

struct slow_disk {
	char directory[64]; /* mount point of the FUSE file system */
	char file[80];	    /* its only file */
	char device[32];    /* loop device on the file; "": none */
	char mounted[80];   /* ext4 on the device; "": none */
	pid_t server;
	long *pace; /* ns for each request, shared with the server */
};

/* Start the server with a file of @bytes. Ends the program if that is refused. */
struct slow_disk *slow_disk__serve(size_t bytes);
/* Attach a loop device to its file, make ext4 on it and mount that. */
void slow_disk__attach(struct slow_disk *d);
void slow_disk__mount(struct slow_disk *d);
/* Mount it again, so that no data of its files are in memory. No file may be open there. */
void slow_disk__forget_cache(struct slow_disk *d);

/*
 * Run software on the disk: @prepare in a shell, while the disk is fast, and then @command, with
 * @pace_ns for each request. $DISK is the directory. Returns when @command has ended, or after
 * SIGTERM, which kills it. Returns 0 if @command ended with status 0, else 1.
 */
int on_slow_disk(long pace_ns, const char *prepare, const char *command);

#endif
