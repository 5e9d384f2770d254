// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "detect/engine/due_look.h"
#include "detect/engine/source.h"

#define KEY_MAX 64 /* bytes */

static void empty_map(const struct bpf_map *map)
{
	int fd = bpf_map__fd(map);
	char key[KEY_MAX];

	if (bpf_map__key_size(map) > sizeof(key))
		return;
	while (!bpf_map_get_next_key(fd, NULL, key) && !bpf_map_delete_elem(fd, key))
		;
}

int due_look__make(const struct due_look *l)
{
	int err;

	*l->n_due = 0;
	err = source__iterate_over(l->collect, l->table_fd);
	if (err || !*l->n_due)
		return err;
	err = source__iterate(l->tasks);
	if (!err && bpf_program__autoload(l->rest))
		err = source__iterate_over(l->rest, bpf_map__fd(l->due_tasks));
	empty_map(l->due_tasks);
	return err;
}
