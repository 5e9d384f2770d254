// SPDX-License-Identifier: GPL-2.0-only
/*
 * frbpf-admin makes the calls that need CAP_SYS_ADMIN, and no others.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "admin/admin.h"
#include "admin/admin_request.h"
#include "admin/server.h"
#include "common/call_filter.h"
#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "common/rights.h"

static const struct admin_pmus pmus = { .kprobe = 8, .uprobe = 9 };

static void allowed_requests_pass(void **state)
{
	struct admin_request r = { .kind = ADMIN_EVENT };

	r.event.attr.size = sizeof(r.event.attr);
	r.event.pid = -1;
	assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), 0);
	r.event.of_cgroup = 1;
	assert_int_equal(admin_request__check(&r, sizeof(r), 2, &pmus), 0);
	for (r.kind = ADMIN_UPROBE; r.kind < ADMIN_KINDS; r.kind++)
		assert_int_equal(
			admin_request__check(&r, sizeof(r), r.kind == ADMIN_UPROBE ? 2 : 1, &pmus),
			0);
}

static void other_requests_are_refused(void **state)
{
	struct admin_request r = { .kind = ADMIN_KINDS };

	assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), -EBADMSG);
	r = (struct admin_request){ .kind = ADMIN_BPF_PROG, .id = 1 };
	assert_int_equal(admin_request__check(&r, sizeof(r) - 1, 1, &pmus), -EBADMSG);
	assert_int_equal(admin_request__check(&r, 0, 0, &pmus), -EBADMSG);
	assert_int_equal(admin_request__check(&r, sizeof(r), 2, &pmus), -EBADMSG);
	r = (struct admin_request){ .kind = ADMIN_UPROBE };
	assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), -EBADMSG);

	/*
	 * Refused: probes that are not ADMIN_UPROBE, because their attributes hold pointers; and
	 * events of the server's own thread.
	 */
	r = (struct admin_request){ .kind = ADMIN_EVENT, .event.pid = -1 };
	for (r.event.attr.type = pmus.kprobe; r.event.attr.type <= 9; r.event.attr.type++)
		assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), -EACCES);
	r.event.attr.type = 0;
	r.event.pid = 0;
	assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), -EACCES);
	r.event.attr.size = sizeof(r.event.attr) + 8;
	assert_int_equal(admin_request__check(&r, sizeof(r), 1, &pmus), -EBADMSG);
}

/* Only a regular file that the client may read is probed. */
static void probes_readable_files_alone(void **state)
{
	struct admin_request r = { .kind = ADMIN_UPROBE };
	int found = open("/proc/self/exe", O_PATH | O_CLOEXEC), directory = open("/", O_RDONLY);
	uint32_t id;

	assert_int_equal(admin_request__open(&r, found, &pmus, &id), -EACCES);
	assert_int_equal(admin_request__open(&r, directory, &pmus, &id), -EACCES);
	assert_int_equal(admin_request__open(&r, -1, &pmus, &id), -EBADF);
	close(found);
	close(directory);
}

/* Malformed requests get no answer and change nothing. */
static void garbage_is_survived(void **state)
{
	struct admin_request r = { .kind = ADMIN_NEXT_PROG };
	struct admin_reply reply;
	int sock, pair[2], fd;
	size_t n_fds;

	assert_int_equal(helper__fork(ADMIN_TITLE, admin_server__run, &sock), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(channel__send(sock, "garbage", 7, NULL, 0, 0), 0);
	assert_int_equal(channel__send(sock, &r, sizeof(r), (int[]){ pair[1], 0, 1 }, 3, 0), 0);
	assert_int_equal(channel__send(sock, &r, sizeof(r), (int[]){ pair[1], 0 }, 2, 0), 0);
	assert_int_equal(channel__receive(pair[0], &reply, sizeof(reply), &fd, 1, &n_fds, 0),
			 sizeof(reply));
	assert_int_equal(reply.error, -EBADMSG);
	assert_int_equal(n_fds, 0);
	close(sock);
	close(pair[0]);
	close(pair[1]);
}

/* A server that dies after its last client has gone is not replaced. */
static void ends_with_its_client(void **state)
{
	struct call_filter f;
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(pair[0]);
		call_filter__begin(&f);
		call_filter__refuse(&f, SYS_seccomp, EPERM); /* so that each server dies */
		if (call_filter__install(&f, SECCOMP_RET_ALLOW))
			_exit(2);
		admin_server__run(pair[1]);
	}
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 1 << 8);
}

static void skip_without_right(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t has = CAP_CLEAR;

	cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &has);
	cap_free(caps);
	if (has != CAP_SET)
		skip();
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[128];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	fclose(f);
	return parent;
}

/* Must be the last test: it gives up its rights. */
static void serves_an_unprivileged_client_and_is_replaced(void **state)
{
	uint32_t id = 0;
	pid_t first;
	int err;

	skip_without_right();
	assert_int_equal(admin__start(), 0);
	assert_int_equal(rights__keep_recorder(), 0);
	assert_int_equal(admin__pid(), 0);

	assert_true(admin__next_prog(&id) == -ENOENT || id);
	first = admin__pid();
	assert_true(first > 0);

	assert_int_equal(kill(first, SIGKILL), 0);
	id = 0;
	assert_true(admin__next_prog(&id) == -ENOENT || id);
	assert_int_not_equal(admin__pid(), first);
	assert_int_equal(admin__open_prog(UINT32_MAX), -ENOENT);
	assert_int_equal(admin__open_btf(UINT32_MAX), -ENOENT);

	/* without its parent it is not replaced: a new server would lack the rights */
	assert_int_equal(kill(parent_of(admin__pid()), SIGKILL), 0);
	do /* both processes take a moment to end */
		err = admin__next_prog(&(uint32_t){ 0 });
	while (!err || err == -ENOENT);
	assert_int_equal(err, -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_requests_pass),
		cmocka_unit_test(other_requests_are_refused),
		cmocka_unit_test(probes_readable_files_alone),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(ends_with_its_client),
		cmocka_unit_test(serves_an_unprivileged_client_and_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
