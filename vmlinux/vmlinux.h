/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that bpf/ uses, by hand and with those fields only: libbpf relocates each access
 * to the kernel at hand (CO-RE). Replaced as a whole by bpftool's dump with GEN_VMLINUX_H=1, so it
 * declares nothing that such a dump lacks: what is ours, and every macro, lives in bpf/.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short int __s16;
typedef short unsigned int __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef long long unsigned int __u64;

typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef int pid_t;
typedef _Bool bool;
typedef u64 sector_t;
typedef unsigned int gfp_t;

enum {
	false = 0,
	true = 1,
};

/* Of include/uapi/linux/bpf.h: numbers that never change. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

/* Their values are the running kernel's, by CO-RE. */
enum req_op {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_DRV_IN = 34,
	REQ_OP_DRV_OUT = 35,
};

enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_PRIO = 13,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_BACKGROUND = 20,
	__REQ_NOWAIT = 21,
	__REQ_SWAP = 24,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_CLOSE = 7,
};

enum {
	IPPROTO_TCP = 6,
};

enum {
	BPF_F_USER_STACK = 0x100,
};

enum {
	BPF_F_CURRENT_CPU = 0xffffffffULL,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct cgroup_root *root;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct super_block {
	u32 s_dev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct address_space {
	struct inode *host;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	u32 i_rdev;
	struct hlist_head i_dentry;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
};

struct mm_struct {
	struct file *exe_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	unsigned long flags;
	u32 status; /* x86 */
	u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int exit_state;
	int prio;
	pid_t pid;
	pid_t tgid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_boottime;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct files_struct *files;
	struct mm_struct *mm;
	char comm[16];
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct page {
	union {
		struct address_space *mapping;
		unsigned long compound_head;
	};
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	unsigned int bi_size;
	unsigned int bi_idx;
};

struct bio {
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
};

struct blk_mq_hw_ctx;

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	struct bio *bio;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	sector_t __sector;
	u64 start_time_ns;
	u64 io_start_time_ns;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	int sk_err;
};

struct socket {
	struct sock *sk;
};

struct tcp_sock {
	u8 fastopen_connect : 1;
};

typedef struct {
	s64 counter;
} atomic64_t;

typedef atomic64_t atomic_long_t;

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct file_lock_core {
	struct file_lock_core *flc_blocker;
	pid_t flc_pid;
};

struct file_lock {
	struct file_lock_core c;
};

struct irqaction {
	const char *name;
};

struct pt_regs {
	unsigned long r9;      /* x86 */
	unsigned long r8;      /* x86 */
	unsigned long ax;      /* x86 */
	unsigned long cx;      /* x86 */
	unsigned long dx;      /* x86 */
	unsigned long si;      /* x86 */
	unsigned long di;      /* x86 */
	unsigned long orig_ax; /* x86 */
	unsigned long ip;      /* x86 */
	unsigned long sp;      /* x86 */
	u64 orig_x0;	       /* arm64 */
	s32 syscallno;	       /* arm64 */
};

struct user_pt_regs { /* arm64 */
	u64 regs[31];
	u64 sp;
	u64 pc;
};

struct kernel_siginfo;

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_map;

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
