// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/realtime.h"

/* On Linux a nice value belongs to the thread, so naming the thread is enough. */
static void set_nice(int nice_value)
{
	setpriority(PRIO_PROCESS, gettid(), nice_value);
}

bool thread__set_class(enum thread_class class, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (class == THREAD_REALTIME) {
		if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
			return true;
		set_nice(-20);
		return false;
	}
	param.sched_priority = 0;
	sched_setscheduler(0, class == THREAD_BACKGROUND ? SCHED_BATCH : SCHED_OTHER, &param);
	set_nice(class == THREAD_BACKGROUND ? 10 : 0);
	return false;
}

int thread__init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	err = -pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}
