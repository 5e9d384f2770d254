// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/cleanup.h"
#include "symbols/unwind.h"

/*
 * perf's numbers of DWARF's registers: arch/x86/include/uapi/asm/perf_regs.h, and table 3.36 of the
 * psABI. On arm64 both numbers are the same.
 */
static const int8_t x86_registers[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23 };

struct machine {
	const char *arch;
	unsigned int elf;	/* EM_* */
	const int8_t *perf_reg; /* by DWARF's number; NULL: the same */
	uint8_t n_regs;
	uint8_t pc;	/* perf's number */
	uint8_t sp, fp; /* DWARF's */
};

static const struct machine machines[] = {
	{ "x86_64", EM_X86_64, x86_registers, ARRAY_SIZE(x86_registers), 8, 7, 6 },
	{ "aarch64", EM_AARCH64, NULL, 32, 32, 31, 29 },
};

static const struct machine *find_machine(const char *arch)
{
	struct utsname here;

	if (!arch && !uname(&here))
		arch = here.machine;
	for (size_t i = 0; arch && i < ARRAY_SIZE(machines); i++) {
		if (!strcmp(machines[i].arch, arch))
			return &machines[i];
	}
	return NULL;
}

/* Get register @reg, by perf's number. */
static bool read_register(const struct unwind_state *s, unsigned int reg, uint64_t *ret)
{
	uint64_t bit = 1ULL << reg;

	if (!(s->regs_mask & bit))
		return false;
	memcpy(ret, (const char *)s->regs + 8 * __builtin_popcountll(s->regs_mask & (bit - 1)),
	       sizeof(*ret));
	return true;
}

/* Set up the innermost frame. False: the program counter or stack pointer is unknown. */
static bool begin_frame(const struct machine *m, const struct unwind_state *s, struct cfi_frame *f)
{
	*f = (struct cfi_frame){ .exact = true };
	for (unsigned int r = 0; r < m->n_regs; r++) {
		if (read_register(s, m->perf_reg ? (unsigned int)m->perf_reg[r] : r, &f->regs[r]))
			f->known |= 1ULL << r;
	}
	return read_register(s, m->pc, &f->pc) && f->known & 1ULL << m->sp;
}

/* Two words are at the frame pointer: the caller's frame pointer, and the return address. */
static bool step_by_pointer(const struct machine *m, const struct cfi_stack *stack,
			    struct cfi_frame *f)
{
	struct cfi_frame up = { .known = 1ULL << m->fp | 1ULL << m->sp };
	uint64_t fp = f->regs[m->fp], words[2];

	if (!(f->known & 1ULL << m->fp) || fp < f->regs[m->sp] || fp < stack->start ||
	    stack->size < sizeof(words) || fp - stack->start > stack->size - sizeof(words))
		return false;
	memcpy(words, (const char *)stack->data + (fp - stack->start), sizeof(words));
	up.regs[m->fp] = words[0];
	up.regs[m->sp] = fp + sizeof(words);
	up.pc = words[1];
	*f = up;
	return true;
}

size_t unwind__frames(struct symbols *s, const struct task_model *tasks,
		      const struct kernel_space *kernel_maps, uint32_t pid,
		      const struct unwind_state *state, uint64_t *ips, size_t max)
{
	const struct machine *m = find_machine(state->arch);
	struct cfi_stack stack = { .data = state->stack, .size = state->stack_size };
	struct cfi_frame f;
	size_t n = 0;
	int err;

	if (!m || !state->regs || !begin_frame(m, state, &f))
		return 0;
	stack.start = f.regs[m->sp];
	while (n < max && f.pc) {
		uint64_t at = f.exact ? f.pc : f.pc - 1, offset;
		const struct cfi *cfi = symbols__cfi(s, tasks, kernel_maps, pid, at, &offset);

		if (n &&
		    !task_model__find_map(tasks, pid, at)) /* no code there: no return address */
			break;
		ips[n++] = at;
		if (cfi && cfi__machine(cfi) != m->elf)
			break;
		err = cfi ? cfi__step(cfi, offset, &stack, &f) : -ENOENT;
		if (err && (err != -ENOENT || !step_by_pointer(m, &stack, &f)))
			break;
	}
	return n;
}
