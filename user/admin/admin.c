// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/admin.h"
#include "admin/admin_request.h"
#include "admin/server.h"
#include "common/channel.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper.h"
#include "common/rights.h"

#define NSEC	 1000000000ULL
#define WAIT_MAX (2 * ADMIN_SECONDS) /* s; a request is ended by the server before that */

/* Our end of the socket. Set once, before there are threads. */
static int server = -1;
static _Atomic pid_t server_pid; /* from its last reply */

static bool has_capability(void)
{
	cap_flag_value_t has = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (!caps || cap_get_flag(caps, CAP_SYS_ADMIN, CAP_PERMITTED, &has))
		has = CAP_CLEAR;
	cap_free(caps);
	return has == CAP_SET;
}

int admin__start(void)
{
	return server >= 0 || !has_capability()
		       ? 0
		       : helper__fork(ADMIN_TITLE, admin_server__run, &server);
}

/* -EPIPE: the server died before it answered. */
static int receive_reply(int sock, uint32_t *ret_id)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	struct admin_reply reply = { 0 };
	size_t n_fds = 0;
	int fd = -1, n;

	do
		n = poll(&pfd, 1, WAIT_MAX * 1000);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = channel__receive(sock, &reply, sizeof(reply), &fd, 1, &n_fds, MSG_DONTWAIT);
	if (n == sizeof(reply))
		server_pid = reply.pid;
	if (n == sizeof(reply) && !reply.error) {
		*ret_id = reply.id;
		return n_fds ? fd : 0;
	}
	if (n_fds)
		close(fd);
	if (n == sizeof(reply) && reply.error < 0)
		return reply.error;
	return n < 0 && n != -ECONNRESET ? n : -EPIPE;
}

/* Each request has a socket of its own for the reply, so no thread waits for another. */
static int admin_ask_once(const struct admin_request *r, int file, uint32_t *ret_id)
{
	int socks[2], fds[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	fds[0] = socks[1];
	fds[1] = file;
	err = channel__send(server, r, sizeof(*r), fds, file < 0 ? 1 : 2, 0);
	close(socks[1]); /* so that receive_reply() sees the end when the server dies */
	err = err ? -EPIPE : receive_reply(socks[0], ret_id);
	close(socks[0]);
	return err;
}

/*
 * One retry: the server may have been killed by chance. A request that kills it would do so again.
 */
static int admin__ask(const struct admin_request *r, int file, uint32_t *ret_id)
{
	uint64_t start = now_ns();
	int err = admin_ask_once(r, file, ret_id);

	if (err == -EPIPE && now_ns() - start < NSEC)
		err = admin_ask_once(r, file, ret_id);
	return err;
}

static int admin__do(struct admin_request *r, int file, uint32_t *ret_id)
{
	const struct admin_pmus pmus =
		r->kind == ADMIN_UPROBE ? admin_pmus__find() : (struct admin_pmus){ -1, -1 };
	int err = admin_request__open(r, file, &pmus, ret_id);

	return (err == -EPERM || err == -EACCES) && server >= 0 ? admin__ask(r, file, ret_id) : err;
}

pid_t admin__pid(void)
{
	return server_pid;
}

int admin__open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	bool of_cgroup = flags & PERF_FLAG_PID_CGROUP;
	struct admin_request r = {
		.kind = ADMIN_EVENT,
		.event = { .attr = *attr,
			   .pid = of_cgroup ? 0 : pid,
			   .cpu = cpu,
			   .of_cgroup = of_cgroup },
	};
	uint32_t id;

	return admin__do(&r, of_cgroup ? pid : -1, &id);
}

int admin__open_uprobe(int file, uint64_t offset, uint64_t ref_ctr)
{
	struct admin_request r = {
		.kind = ADMIN_UPROBE,
		.uprobe = { .offset = offset, .ref_ctr = ref_ctr },
	};
	uint32_t id;

	return admin__do(&r, file, &id);
}

int admin__open_prog(uint32_t id)
{
	/* the kernel shows addresses only if whoever opened the program has the rights */
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	struct admin_request r = { .kind = ADMIN_BPF_PROG, .id = id };

	return admin__do(&r, -1, &id);
}

int admin__open_btf(uint32_t id)
{
	struct admin_request r = { .kind = ADMIN_BPF_BTF, .id = id };

	return admin__do(&r, -1, &id);
}

int admin__next_prog(uint32_t *id)
{
	struct admin_request r = { .kind = ADMIN_NEXT_PROG, .id = *id };

	return admin__do(&r, -1, id);
}
