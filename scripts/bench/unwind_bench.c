// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures one of the two ways of unwind_bench.bpf.c on a running process:
 *
 *	unwind OBJECT PID here|copy SECONDS
 *
 * Prints "KEY VALUE" lines: ns of CPU time for a stack (as the BPF program measures it), bytes
 * recorded for it, size of the tables, CPU time to make them, and how many stacks were whole.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elfutils/libdw.h>
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind_bench.h"

#define RSP 7
#define RBP 6

static struct unwind_row *rows;
static size_t n_rows, cap_rows;
static unsigned long n_stacks, n_whole, bytes;

static void die(const char *what)
{
	fprintf(stderr, "unwind: %s\n", what);
	exit(1);
}

static void add_row(struct unwind_row row)
{
	if (n_rows == cap_rows) {
		cap_rows = cap_rows ? 2 * cap_rows : 4096;
		rows = realloc(rows, cap_rows * sizeof(*rows));
		if (!rows)
			die("out of memory");
	}
	rows[n_rows++] = row;
}

/*
 * Turn the rule of @frame into a row. If the rule is not a register with an offset, as in a PLT, the
 * row is unknown.
 */
static struct unwind_row row_of(Dwarf_Frame *frame, Dwarf_Addr pc)
{
	struct unwind_row row = { .pc = pc };
	Dwarf_Op *ops, mem[3];
	size_t n;

	if (!dwarf_frame_register(frame, 16, mem, &ops, &n) && !n && ops == mem) {
		row.cfa = UNWIND_OUTERMOST; /* the return address is undefined: _start, clone() */
		return row;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return row;
	if (ops[0].atom == DW_OP_bregx && (ops[0].number == RSP || ops[0].number == RBP)) {
		row.cfa = ops[0].number == RSP ? UNWIND_FROM_SP : UNWIND_FROM_BP;
		row.cfa_offset = ops[0].number2;
	} else if (ops[0].atom == DW_OP_breg0 + RSP || ops[0].atom == DW_OP_breg0 + RBP) {
		row.cfa = ops[0].atom == DW_OP_breg0 + RSP ? UNWIND_FROM_SP : UNWIND_FROM_BP;
		row.cfa_offset = ops[0].number;
	}
	if (!dwarf_frame_register(frame, RBP, mem, &ops, &n) && n == 2 &&
	    ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst) {
		row.has_bp = 1;
		row.bp_offset = (short)ops[1].number;
	}
	return row;
}

/* Add the rows of a file that lie in its mapping. */
static void add_file(const char *path, unsigned long start, unsigned long end, unsigned long offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	unsigned long bias = 0;
	Dwarf_Addr pc, from, to;
	Dwarf_Frame *frame;
	size_t phdrs = 0;
	bool gap = true;
	GElf_Phdr ph;

	if (!cfi)
		goto out;
	elf_getphdrnum(elf, &phdrs);
	for (size_t i = 0; i < phdrs; i++)
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
		    (ph.p_offset & ~0xfffUL) == offset)
			bias = start - (ph.p_vaddr & ~0xfffUL);
	for (pc = start - bias; pc < end - bias; pc = to) {
		to = pc + 1;
		if (dwarf_cfi_addrframe(cfi, pc, &frame)) {
			if (!gap)
				add_row((struct unwind_row){ .pc = pc + bias });
			gap = true;
			continue;
		}
		dwarf_frame_info(frame, &from, &to, NULL);
		add_row(row_of(frame, pc + bias));
		gap = false;
		free(frame);
	}
	add_row((struct unwind_row){ .pc = end });
out:
	dwarf_cfi_end(cfi);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static void add_process(int pid)
{
	char path[4096], line[4400];
	unsigned long start, end, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		die("no such process");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %4095[^\n]", &start, &end, &offset,
			   path) == 4 &&
		    path[0] == '/')
			add_file(path, start, end, offset);
	}
	fclose(f);
}

static int take(void *ctx, void *data, size_t size)
{
	const struct unwind_stack *s = data;

	n_stacks++;
	bytes += size;
	if (*(int *)ctx) /* a copy */
		return 0;
	n_whole += s->end == UNWIND_WHOLE;
	return 0;
}

/* Load only the BPF program of this way, with the rows. Returns the descriptor of its ring. */
static int load_way(const char *object, int copy, int pid, struct bpf_map **ret_conf)
{
	struct bpf_object *obj = bpf_object__open(object);
	struct bpf_program *prog, *other;
	struct unwind_conf *conf;
	struct bpf_map *map;
	size_t size;

	if (!obj)
		die("cannot open the object");
	prog = bpf_object__find_program_by_name(obj, copy ? "copy_for_later" : "unwind_here");
	other = bpf_object__find_program_by_name(obj, copy ? "unwind_here" : "copy_for_later");
	bpf_program__set_autoload(other, false);
	map = bpf_object__find_map_by_name(obj, "rows");
	bpf_map__set_max_entries(map, n_rows ? n_rows : 1);
	*ret_conf = bpf_object__find_map_by_name(obj, ".bss");
	conf = (struct unwind_conf *)bpf_map__initial_value(*ret_conf, &size);
	*conf = (struct unwind_conf){ pid, n_rows };
	if (bpf_object__load(obj))
		die("cannot load");
	for (__u32 i = 0; i < n_rows; i++)
		bpf_map_update_elem(bpf_map__fd(map), &i, &rows[i], BPF_ANY);
	if (!bpf_program__attach(prog))
		die("cannot attach");
	return bpf_object__find_map_fd_by_name(obj, "stacks");
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	struct unwind_conf conf;
	struct bpf_map *map;
	struct ring_buffer *rb;
	__u32 zero = 0;
	int copy;

	if (argc != 5)
		die("OBJECT PID here|copy SECONDS");
	copy = !strcmp(argv[3], "copy");
	elf_version(EV_CURRENT);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	if (!copy)
		add_process(atoi(argv[2]));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	rb = ring_buffer__new(load_way(argv[1], copy, atoi(argv[2]), &map), take, &copy, NULL);
	if (!rb)
		die("cannot read the ring");
	for (int i = 0; i < atoi(argv[4]) * 100; i++) {
		usleep(10000);
		ring_buffer__consume(rb);
	}
	if (!n_stacks || bpf_map_lookup_elem(bpf_map__fd(map), &zero, &conf))
		die("the process was not switched out");
	printf("ns %.0f\nbytes %.0f\n", (double)conf.total_ns / n_stacks,
	       (double)bytes / n_stacks);
	if (!copy)
		printf("table_kb %zu\nbuild_ms %.0f\nwhole %.1f\n", n_rows * sizeof(*rows) / 1024,
		       (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6,
		       100.0 * n_whole / n_stacks);
	return 0;
}
