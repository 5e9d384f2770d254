// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "dump/file_features.h"

/*
 * Make the command line of `perf record` with the session's options, one string per argument. 0 or
 * -ENOMEM.
 */
static int list_arguments(struct file_features *ff, const struct dump_env *env,
			  const struct session *s)
{
	struct source_text *src = NULL;
	struct diags diags = { 0 };
	size_t n = 0;
	int err;

	err = source_text__from_string("run", s->run, &src);
	err = err ?: words__split(src, (struct span){ 0, src->len }, &diags, &ff->words);
	ff->cmdline = err ? NULL : calloc(ff->words.n + 3, sizeof(*ff->cmdline));
	diags__free(&diags);
	source_text__free(src);
	if (!ff->cmdline)
		return -ENOMEM;
	ff->cmdline[n++] = env->program;
	ff->cmdline[n++] = "record";
	for (size_t i = 0; i < ff->words.n; i++)
		ff->cmdline[n++] = ff->words.v[i].text;
	return 0;
}

int file_features__make(struct file_features *ff, const struct dump_env *env,
			const struct session *s, const struct sideband_slice *slice)
{
	*ff = (struct file_features){ 0 };
	ff->ids = calloc(slice->n_build_ids + 1, sizeof(*ff->ids));
	ff->progs = calloc(slice->n_bpf_progs + 1, sizeof(*ff->progs));
	ff->btfs = calloc(slice->n_btfs + 1, sizeof(*ff->btfs));
	if (!ff->ids || !ff->progs || !ff->btfs || list_arguments(ff, env, s))
		return -ENOMEM;
	for (size_t i = 0; i < slice->n_build_ids; i++)
		ff->ids[i] = (struct perfdata_build_id){ slice->build_ids[i].id,
							 slice->build_ids[i].kernel,
							 slice->build_ids[i].name };
	for (size_t i = 0; i < slice->n_bpf_progs; i++)
		ff->progs[i] = (struct perfdata_blob){ 0, slice->bpf_progs[i].data,
						       slice->bpf_progs[i].len };
	for (size_t i = 0; i < slice->n_btfs; i++)
		ff->btfs[i] = (struct perfdata_blob){ slice->btfs[i].id, slice->btfs[i].data.data,
						      slice->btfs[i].data.len };
	ff->f = (struct perfdata_features){
		.host = env->host,
		.tracing = env->tracing,
		.cmdline = ff->cmdline,
		.build_ids = ff->ids,
		.n_build_ids = slice->n_build_ids,
		.bpf_progs = ff->progs,
		.n_bpf_progs = slice->n_bpf_progs,
		.btfs = ff->btfs,
		.n_btfs = slice->n_btfs,
		.clock_resolution = 1,
	};
	return 0;
}

void file_features__free(struct file_features *ff)
{
	free(ff->ids);
	free(ff->progs);
	free(ff->btfs);
	free(ff->cmdline);
	words__free(&ff->words);
	*ff = (struct file_features){ 0 };
}
