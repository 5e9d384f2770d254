/* SPDX-License-Identifier: GPL-2.0-only */
/* Bits of prev_state of sched:sched_switch, see include/trace/events/sched.h of Linux. */
#ifndef FRBPF_ANALYSE_PREV_STATE_H
#define FRBPF_ANALYSE_PREV_STATE_H

#define PREV_STATE_STOPPED   0x04
#define PREV_STATE_TRACED    0x08
#define PREV_STATE_ENDED     0x30 /* EXIT_DEAD, EXIT_ZOMBIE */
#define PREV_STATE_IDLE	     0x80
#define PREV_STATE_BITS	     0xff  /* all 0 if the task stays runnable */
#define PREV_STATE_PREEMPTED 0x100 /* TASK_REPORT_MAX */

/*
 * ns. An event this soon after the tracepoint may precede the switch itself: the task is not back.
 */
#define PREV_STATE_SWITCH_NS 10000

#endif
