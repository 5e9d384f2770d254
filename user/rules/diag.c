// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/diag.h"
#include "rules/text.h"

#define TEXT_MAX  (1 << 20)
#define WIDTH_MAX 160 /* characters of the user's line that are shown */
#define BOM	  "\xef\xbb\xbf"

__attribute__((format(printf, 5, 0))) static void diags__add(struct diags *d, enum diag_level level,
							     const struct source_text *src,
							     struct span span, const char *fmt,
							     va_list ap)
{
	struct diag *v;
	char *msg;

	if (level == DIAG_ERROR)
		d->n_errors++;
	if (d->n == DIAGS_MAX)
		return;
	v = realloc(d->v, (d->n + 1) * sizeof(*v));
	if (v)
		d->v = v;
	if (!v || vasprintf(&msg, fmt, ap) < 0) {
		d->out_of_memory = true;
		return;
	}
	make_printable(msg);
	d->v[d->n++] = (struct diag){ .level = level, .src = src, .span = span, .msg = msg };
}

int diags__error(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...)
{
	va_list ap;

	va_start(ap, fmt);
	diags__add(d, DIAG_ERROR, src, span, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

void diags__warn(struct diags *d, const struct source_text *src, struct span span, const char *fmt,
		 ...)
{
	va_list ap;

	va_start(ap, fmt);
	diags__add(d, DIAG_WARNING, src, span, fmt, ap);
	va_end(ap);
}

bool diags__failed(const struct diags *d)
{
	return d->n_errors || d->out_of_memory;
}

void diags__keep(struct diags *d, struct source_text *src)
{
	if (!src)
		return;
	src->next = d->kept;
	d->kept = src;
}

void diags__free(struct diags *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].msg);
	free(d->v);
	while (d->kept) {
		struct source_text *src = d->kept;

		d->kept = src->next;
		source_text__free(src);
	}
	*d = (struct diags){ 0 };
}

/*
 * Messages are sorted by the source text that they point into, and within it by place. Source texts
 * are in the order of their first message.
 */
static bool comes_before(const struct diags *d, size_t a, size_t b)
{
	size_t first_a = 0, first_b = 0;

	if (d->v[a].src == d->v[b].src)
		return d->v[a].span.off < d->v[b].span.off;
	while (d->v[first_a].src != d->v[a].src)
		first_a++;
	while (d->v[first_b].src != d->v[b].src)
		first_b++;
	return first_a < first_b;
}

static void sort_by_place(const struct diags *d, size_t *order)
{
	for (size_t i = 0; i < d->n; i++) {
		size_t k = i;

		for (; k && comes_before(d, i, order[k - 1]); k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* A line of the user's text, and the part of it that a message shows. */
struct line {
	const char *start, *end; /* without newline, carriage return and byte order mark */
	size_t number;
	size_t column;		     /* of the place, in characters, from 1 */
	const char *show, *show_end; /* the part that is shown */
};

static const char *next_char(const char *p, const char *end)
{
	bool printable;

	return p + printable__char(p, end - p, &printable);
}

static void line__find(struct line *l, const struct source_text *src, uint32_t off)
{
	const char *place = src->text + off, *p, *skip;
	size_t before = 0, n;

	l->start = memrchr(src->text, '\n', off);
	l->start = l->start ? l->start + 1 : src->text;
	l->end = memchr(place, '\n', src->len - off);
	if (!l->end)
		l->end = src->text + src->len;
	if (l->end > l->start && l->end[-1] == '\r')
		l->end--;
	if (l->start == src->text && src->len >= strlen(BOM) && !memcmp(l->start, BOM, strlen(BOM)))
		l->start += strlen(BOM);
	l->number = text__line(src, off);
	for (p = l->start; p < place && p < l->end; p = next_char(p, l->end))
		before++;
	l->column = before + 1;

	l->show = l->start;
	for (skip = l->start, n = before; n > WIDTH_MAX / 2; n--)
		skip = next_char(skip, l->end);
	for (p = l->start, n = 0; p < l->end && n <= WIDTH_MAX; n++)
		p = next_char(p, l->end);
	if (n > WIDTH_MAX)
		l->show = skip;
	for (p = l->show, n = 0; p < l->end && n < WIDTH_MAX; n++)
		p = next_char(p, l->end);
	l->show_end = p;
}

/* Append the two lines below a message: the user's line and the carets. */
static int format_line(const struct line *l, const struct diag *diag, struct buf *out)
{
	const char *place = diag->src->text + diag->span.off;
	const char *place_end = place + (diag->span.len ? diag->span.len : 1), *p;
	struct buf text = { 0 }, carets = { 0 };
	bool printable;
	size_t n;
	int err = 0;

	if (l->show > l->start) {
		err = buf__add_str(&text, "...");
		err = err ?: buf__add_str(&carets, "   ");
	}
	for (p = l->show; p < l->show_end && !err; p += n) {
		n = printable__char(p, l->show_end - p, &printable);
		if (*p == '\t')
			err = buf__add_str(&text, "\t");
		else
			err = printable ? buf__add(&text, p, n) : buf__add_str(&text, "?");
		if (!err && p < place_end)
			err = buf__add_str(&carets, *p == '\t' ? "\t" : p < place ? " " : "^");
	}
	if (!err && place >= l->end)
		err = buf__add_str(&carets, "^");
	if (!err && l->show_end < l->end)
		err = buf__add_str(&text, "...");
	if (!err && diag->src->made)
		err = buf__add_str(out, "     ");
	else if (!err)
		err = buf__printf(out, "%5zu", l->number);
	err = err
		      ?: buf__printf(out, " | %s\n      | %s\n", text.data ? text.data : "",
				     carets.data ? carets.data : "");
	buf__free(&text);
	buf__free(&carets);
	return err;
}

static int diag__format(const struct diag *diag, struct buf *out)
{
	const char *level = diag->level == DIAG_ERROR ? "error" : "warning";
	struct line line;
	int err;

	if (!diag->src)
		return buf__printf(out, "%s: %s\n", level, diag->msg);
	line__find(&line, diag->src, diag->span.off);
	err = buf__add_str(out, source_text__name_at(diag->src, diag->span.off));
	if (!err && !diag->src->made)
		err = buf__printf(out, ":%zu:%zu", line.number, line.column);
	err = err ?: buf__printf(out, ": %s: %s\n", level, diag->msg);
	return err ?: format_line(&line, diag, out);
}

void diag__place(const struct diag *diag, size_t *ret_line, size_t *ret_column)
{
	struct line line;

	line__find(&line, diag->src, diag->span.off);
	*ret_line = line.number;
	*ret_column = line.column;
}

int diags__format(const struct diags *d, struct buf *out)
{
	size_t order[DIAGS_MAX], shown = 0;
	int err = 0;

	sort_by_place(d, order);
	for (size_t i = 0; i < d->n && !err; i++) {
		err = diag__format(&d->v[order[i]], out);
		shown += d->v[order[i]].level == DIAG_ERROR;
	}
	if (!err && d->out_of_memory)
		err = buf__add_str(out, "error: out of memory: some messages are missing here\n");
	else if (!err && d->n_errors > shown)
		err = buf__printf(out, "error: %zu more errors are not shown\n",
				  d->n_errors - shown);
	return err;
}

int source_text__read(const char *path, struct source_text **ret)
{
	struct source_text *src = calloc(1, sizeof(*src));
	struct buf b = { 0 };
	int err = -ENOMEM;

	if (!src)
		return err;
	src->name = strdup(path);
	if (src->name)
		err = buf__read_file(&b, path, TEXT_MAX);
	if (!err)
		err = buf__add_zero(&b, 0); /* an empty file has no data yet */
	if (err) {
		buf__free(&b);
		source_text__free(src);
		return err;
	}
	src->text = b.data;
	src->len = b.len;
	*ret = src;
	return 0;
}

int source_text__from_string(const char *name, const char *text, struct source_text **ret)
{
	struct source_text *src = calloc(1, sizeof(*src));

	if (!src)
		return -ENOMEM;
	src->name = strdup(name);
	src->text = strdup(text);
	src->len = strlen(text);
	if (!src->name || !src->text) {
		source_text__free(src);
		return -ENOMEM;
	}
	*ret = src;
	return 0;
}

int source_text__make(const char *name, const char *text, struct source_text **ret)
{
	int err = source_text__from_string(name, text, ret);

	if (!err)
		(*ret)->made = true;
	return err;
}

static int add_text_piece(struct source_text *src, const char *name, uint32_t off)
{
	struct source_piece *v = reallocarray(src->pieces, src->n_pieces + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	src->pieces = v;
	v += src->n_pieces;
	*v = (struct source_piece){ .name = strdup(name), .off = off };
	if (!v->name)
		return -ENOMEM;
	src->n_pieces++;
	return 0;
}

int source_text__append(struct source_text *src, const char *name, const char *text, size_t len,
			uint32_t *ret_off)
{
	size_t off = src->len + 2; /* two newlines: a backslash at the end of the file takes one */
	char *all;
	int err = 0;

	if (off + len >= INT32_MAX)
		return -EFBIG;
	if (!src->n_pieces)
		err = add_text_piece(src, src->name, 0);
	err = err ?: add_text_piece(src, name, off);
	all = err ? NULL : realloc(src->text, off + len + 1);
	if (!all)
		return -ENOMEM;
	memset(all + src->len, '\n', 2);
	memcpy(all + off, text, len);
	all[off + len] = '\0';
	src->text = all;
	src->len = off + len;
	*ret_off = off;
	return 0;
}

int source_text__copy(const struct source_text *src, struct source_text **ret)
{
	struct source_text *copy = calloc(1, sizeof(*copy));
	int err = copy ? 0 : -ENOMEM;

	if (err)
		return err;
	copy->name = strdup(src->name);
	copy->text = malloc(src->len + 1);
	copy->len = src->len;
	copy->made = src->made;
	err = copy->name && copy->text ? 0 : -ENOMEM;
	for (size_t i = 0; i < src->n_pieces && !err; i++) {
		err = add_text_piece(copy, src->pieces[i].name, src->pieces[i].off);
		if (!err)
			copy->pieces[i].for_all = src->pieces[i].for_all;
	}
	if (err) {
		source_text__free(copy);
		return err;
	}
	memcpy(copy->text, src->text, src->len + 1);
	*ret = copy;
	return 0;
}

static int anchor_path(char **path, const char *dir)
{
	char *whole;

	if ((*path)[0] == '/')
		return 0;
	if (asprintf(&whole, "%s/%s", dir, *path) < 0)
		return -ENOMEM;
	free(*path);
	*path = whole;
	return 0;
}

int source_text__anchor(struct source_text *src, const char *dir)
{
	int err = src->made ? 0 : anchor_path(&src->name, dir);

	for (size_t i = 0; i < src->n_pieces && !err; i++)
		err = anchor_path(&src->pieces[i].name, dir);
	return err;
}

size_t source_text__piece(const struct source_text *src, uint32_t off)
{
	size_t i = 0;

	while (i + 1 < src->n_pieces && off >= src->pieces[i + 1].off)
		i++;
	return i;
}

const char *source_text__name_at(const struct source_text *src, uint32_t off)
{
	return src->n_pieces ? src->pieces[source_text__piece(src, off)].name : src->name;
}

void source_text__free(struct source_text *src)
{
	if (!src)
		return;
	for (size_t i = 0; i < src->n_pieces; i++)
		free(src->pieces[i].name);
	free(src->pieces);
	free(src->name);
	free(src->text);
	free(src);
}
