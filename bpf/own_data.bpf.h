/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose data does a kernel thread write to a disk? For pages of a file: ours, if the file is below
 * the base directory. Journals, metadata and flushes have no file; they may be ours while a dump is
 * written.
 *
 *	request --> bio --> page --> inode --> its name in a directory --> .. --> the base?
 */
#ifndef FRBPF_OWN_DATA_BPF_H
#define FRBPF_OWN_DATA_BPF_H

#include "match.bpf.h"

#define PAGE_MAPPING_FLAGS 3UL /* include/linux/page-flags.h */
#define BASE_DEPTH	   4   /* our files are at most this many directories below the base */

static __always_inline __u64 suppress_value(__u32 slot)
{
	__u64 *value = bpf_map_lookup_elem(&suppress_times, &slot);

	return value ? *value : 0;
}

/* May dumps go to the disk @dev? What kernel threads write to other disks is never ours. */
static __always_inline bool is_own_disk(__u64 dev)
{
	__u64 disk = suppress_value(FRBPF_SUPPRESS_DISK);

	return !disk || disk == dev;
}

/* Is the file below the base? An open file has a dentry, and so do the directories above it. */
static __always_inline bool is_below_base(struct inode *inode)
{
	__u64 base = suppress_value(FRBPF_SUPPRESS_BASE_INODE);
	struct hlist_node *name = BPF_CORE_READ(inode, i_dentry.first);
	struct dentry *dentry;
	__u32 i;

	if (!name)
		return false;
	dentry = (void *)name - bpf_core_field_offset(struct dentry, d_u.d_alias);
	for (i = 0; i <= BASE_DEPTH; i++) {
		if (BPF_CORE_READ(dentry, d_inode, i_ino) == base)
			return true;
		dentry = BPF_CORE_READ(dentry, d_parent);
	}
	return false;
}

/*
 * May data written to the file be ours? A file on another file system may contain ours, like the
 * file of a loop device. That is ruled out if the disk that dumps go to is known.
 */
__noinline int inode_may_be_ours(__u64 addr)
{
	struct inode *inode = (struct inode *)addr;
	__u64 dev = suppress_value(FRBPF_SUPPRESS_BASE_DEV);
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	if (!dev || !bpf_core_field_exists(inode->i_dentry) ||
	    !bpf_core_field_exists(struct dentry, d_u.d_alias))
		return true;
	if (type == S_IFBLK) /* metadata of the file system on that device */
		return !suppress_value(FRBPF_SUPPRESS_DISK) || BPF_CORE_READ(inode, i_rdev) == dev;
	if (type != S_IFREG && type != S_IFDIR)
		return true;
	if (BPF_CORE_READ(inode, i_sb, s_dev) != dev)
		return !suppress_value(FRBPF_SUPPRESS_DISK);
	return is_below_base(inode);
}

/* May the data of the bio be ours? The first page decides; anonymous pages are never ours. */
__noinline int bio_may_be_ours(__u64 addr)
{
	struct bio *bio = (struct bio *)addr;
	struct page *page;
	struct inode *inode;
	unsigned long at;

	if (!bio || !bpf_core_field_exists(struct bio_vec, bv_page) ||
	    !bpf_core_field_exists(struct page, mapping) || !BPF_CORE_READ(bio, bi_iter.bi_size))
		return true;
	at = (unsigned long)BPF_CORE_READ(bio, bi_io_vec) +
	     BPF_CORE_READ(bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	page = BPF_CORE_READ((struct bio_vec *)at, bv_page);
	/* of a compound page, only the first page has the mapping */
	at = bpf_core_field_exists(struct page, compound_head) ? BPF_CORE_READ(page, compound_head)
							       : 0;
	if (at & 1)
		page = (struct page *)(at - 1);
	at = (unsigned long)BPF_CORE_READ(page, mapping);
	if (at & PAGE_MAPPING_FLAGS)
		return false;
	inode = BPF_CORE_READ((struct address_space *)at, host);
	/* otherwise the page is of another kind, such as a copy for a journal */
	if (!inode || (unsigned long)BPF_CORE_READ(inode, i_mapping) != at)
		return true;
	return inode_may_be_ours((__u64)inode);
}

#endif
