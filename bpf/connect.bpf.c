// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect: how long a TCP connection took to be established, from the moment when its socket is
 * about to send the first SYN. It does not matter whether connect(), poll() or nothing waits for
 * the connection. The subject is the task that called connect(). It is saved at that time, since it
 * may end before the answer. `current` is the task that the answer, or the timer that gave up,
 * interrupted.
 *
 *	CLOSE -> SYN_SENT			   begins, in the context of the caller
 *	SYN_SENT, SYN_RECV -> ESTABLISHED	   ends: established
 *	SYN_SENT, SYN_RECV -> CLOSE, with sk_err   ends: failed; the kernel sets sk_err before the
 *						   state
 *	SYN_SENT, SYN_RECV -> CLOSE, without	   ends: closed, by the program itself, or connect()
 *						   has failed before it sent anything
 *
 * SYN_RECV comes after SYN_SENT if both sides connect at the same time.
 *
 * The table is preallocated, since the answer comes in an interrupt. A socket that connects again
 * replaces its entry; an entry whose end was missed is deleted at the next CLOSE.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "match_lock.bpf.h"
#include "subject.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_CONNECTS 16384 /* at the same time */

#define AF_INET	 2
#define AF_INET6 10

struct connect {
	__u64 begin;
	__u64 cookie;  /* of the socket: its address may be reused */
	__u64 peer[2]; /* highest bits first; IPv4 as ::ffff:a.b.c.d */
	__u32 port;
	__u32 family;
	struct subject subject;
	struct cgroup_ids cgroups; /* if a rule needs them */
};

/* Keyed by the address of the socket. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CONNECTS);
	__type(key, __u64);
	__type(value, struct connect);
} connects SEC(".maps");

const __u8 no_connect[sizeof(struct connect)] = {};

/* Connects not measured because the table was full, or this CPU was evaluating another connect. */
__u64 dropped;

static __always_inline void save_peer(struct connect *c, const struct sock *sk)
{
	__be32 v4;

	c->port = __builtin_bswap16(sk->__sk_common.skc_dport);
	c->family = sk->__sk_common.skc_family;
	if (c->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&c->peer, sk, __sk_common.skc_v6_daddr);
		c->peer[0] = __builtin_bswap64(c->peer[0]);
		c->peer[1] = __builtin_bswap64(c->peer[1]);
		return;
	}
	v4 = sk->__sk_common.skc_daddr;
	c->peer[0] = 0;
	c->peer[1] = 0xffffULL << 32 | __builtin_bswap32(v4);
}

/* With TCP_FASTOPEN_CONNECT the first SYN may be sent with the first data, any time later. */
static __always_inline bool may_be_deferred(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD_PROBED((const struct tcp_sock *)sk, fastopen_connect);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(cn_begin, const struct sock *sk, int oldstate, int newstate)
{
	struct task_struct *task;
	__u64 key = (__u64)sk;
	struct connect *c;

	if (oldstate != TCP_CLOSE || newstate != TCP_SYN_SENT || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (may_be_deferred(sk)) {
		bpf_map_delete_elem(&connects, &key);
		return 0;
	}
	task = bpf_get_current_task_btf();
	if (!in_scope(task))
		return 0;
	if (bpf_map_update_elem(&connects, &key, no_connect, BPF_ANY)) {
		__sync_fetch_and_add(&dropped, 1);
		return 0;
	}
	c = bpf_map_lookup_elem(&connects, &key);
	if (!c)
		return 0;
	save_peer(c, sk);
	subject_save(&c->subject, task, rules_bank(), &c->cgroups);
	c->cookie = bpf_get_socket_cookie((void *)sk);
	c->begin = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void match_connect(struct match *m, const struct connect *c,
					  enum frbpf_connect_result result)
{
	__u64(*val)[FRBPF_FIELD_WORDS] = m->val[MATCH_SUBJECT];

	m->source = FRBPF_SOURCE_CONNECT;
	val[FRBPF_CONNECT_PEER][0] = c->peer[0];
	val[FRBPF_CONNECT_PEER][1] = c->peer[1];
	val[FRBPF_CONNECT_PORT][0] = c->port;
	val[FRBPF_CONNECT_FAMILY][0] = c->family;
	val[FRBPF_CONNECT_RESULT][0] = result;
	val[FRBPF_CONNECT_ERROR][0] = m->error;
}

static __always_inline void check_connect(const struct connect *c, struct measured *s,
					  enum frbpf_connect_result result)
{
	__u64 *busy = match_lock_take(&dropped);
	struct match *m;

	if (!busy)
		return;
	s->self |= c->subject.tgid == control.self_tgid;
	m = match_new(s);
	if (m) {
		match_connect(m, c, result);
		rules_run_saved(m, &c->subject, &c->cgroups);
	}
	match_lock_give(busy);
}

static __always_inline void end_connect(const struct connect *c, const struct sock *sk,
					int newstate)
{
	struct measured s = { .now = bpf_ktime_get_ns(), .bank = rules_bank() };
	enum frbpf_connect_result result = FRBPF_CONNECT_ESTABLISHED;

	if (!c->begin || c->cookie != bpf_get_socket_cookie((void *)sk)) {
		__sync_fetch_and_add(&not_seen, 1);
		return;
	}
	if (newstate == TCP_CLOSE) {
		s.error = sk->sk_err;
		result = s.error ? FRBPF_CONNECT_FAILED : FRBPF_CONNECT_CLOSED;
	}
	if ((__s64)(s.now - c->begin) > 0)
		s.value = s.now - c->begin;
	if (rules_below(s.bank, s.value) &&
	    !(s.error && key_in(control.bank[s.bank & 1].fail_keys, 0)))
		return;
	check_connect(c, &s, result);
}

/* A program of its own: it may interrupt cn_begin, and must not be skipped then. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(cn_end, const struct sock *sk, int oldstate, int newstate)
{
	bool under_way = oldstate == TCP_SYN_SENT || oldstate == TCP_SYN_RECV;
	__u64 key = (__u64)sk;
	struct connect *c;

	if (newstate != TCP_CLOSE && !(under_way && newstate == TCP_ESTABLISHED))
		return 0;
	c = bpf_map_lookup_elem(&connects, &key);
	if (!c)
		return 0;
	if (under_way)
		end_connect(c, sk, newstate);
	bpf_map_delete_elem(&connects, &key);
	return 0;
}
