// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads an object of BPF programs and attaches them all. Then it prints "attached", and stays until
 * it is killed. `bpftool prog loadall ... autoattach` does the same, but not every bpftool has it.
 *
 *	attach OBJECT
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc == 2 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *prog;

	if (!obj || bpf_object__load(obj))
		return 1;
	bpf_object__for_each_program(prog, obj)
	{
		if (!bpf_program__attach(prog))
			return 1;
	}
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}
