/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * For applications that want to be recorded by frbpf:
 *
 *	FRBPF_TRIGGER(slow_request, took_ns);
 *
 * is a static probe (USDT) of provider frbpf: one instruction that does nothing, until a rule that
 * names the program attaches to it:
 *
 *	when = usdt:/opt/app/bin/server:frbpf:slow_request
 *	if   = arg0 > 500000000
 *
 * NAME is a C identifier. NS is an integer, by convention how long it took until now, in
 * nanoseconds. It is evaluated whether or not a rule is loaded.
 *
 * The macro writes the same note as <sys/sdt.h> of SystemTap, without that header: for gcc and
 * clang on x86-64 and arm64. Elsewhere it does nothing.
 */
#ifndef FRBPF_TRIGGER

/* clang-format off */
#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#define FRBPF_TRIGGER(NAME, NS)                                                                    \
	__asm__ __volatile__("990:	nop\n"                                                     \
			     ".pushsection .note.stapsdt,\"?\",\"note\"\n"                         \
			     ".balign 4\n"                                                         \
			     ".4byte 992f-991f, 994f-993f, 3\n" /* lengths, type NT_STAPSDT */     \
			     "991:	.asciz \"stapsdt\"\n"                                      \
			     "992:	.balign 4\n"                                               \
			     "993:	.8byte 990b\n"                                             \
			     ".8byte _.stapsdt.base\n"                                             \
			     ".8byte 0\n" /* no semaphore */                                       \
			     ".asciz \"frbpf\"\n"                                                  \
			     ".asciz \"" #NAME "\"\n"                                              \
			     ".asciz \"8@%0\"\n" /* an unsigned argument of 8 bytes */             \
			     "994:	.balign 4\n"                                               \
			     ".popsection\n"                                                       \
			     ".ifndef _.stapsdt.base\n"                                            \
			     ".pushsection .stapsdt.base,\"aG\",\"progbits\","                     \
			     ".stapsdt.base,comdat\n"                                              \
			     ".weak _.stapsdt.base\n"                                              \
			     ".hidden _.stapsdt.base\n"                                            \
			     "_.stapsdt.base: .space 1\n"                                          \
			     ".size _.stapsdt.base, 1\n"                                           \
			     ".popsection\n"                                                       \
			     ".endif\n"                                                            \
			     :                                                                     \
			     : "nr"((unsigned long)(NS)))
#else
#define FRBPF_TRIGGER(NAME, NS) ((void)(NS))
#endif
/* clang-format on */

#endif
