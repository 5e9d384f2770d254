/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk that is as slow as it is told to be: a loop device on a file whose FUSE server takes its time.
 * Life: serve, attach, mount, set the pace. There is one, and it goes when the program ends.
 */
#ifndef FRBPF_CAUSES_SLOW_DISK_H
#define FRBPF_CAUSES_SLOW_DISK_H

#include <sys/types.h>

struct slow_disk {
	char folder[64];  /* where the FUSE file system is */
	char file[80];	  /* its only file */
	char device[32];  /* loop device on it; "" */
	char mounted[80]; /* ext4 on that; "" */
	pid_t server;
	long *pace; /* ns that each request takes, shared with the server */
};

/* The server and its file of @bytes. Ends the program where that is refused. */
struct slow_disk *slow_disk__serve(size_t bytes);
/* A loop device on its file, and ext4 on that, mounted. */
void slow_disk__attach(struct slow_disk *d);
void slow_disk__mount(struct slow_disk *d);

#endif
