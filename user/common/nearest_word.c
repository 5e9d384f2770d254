// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/nearest_word.h"

#define WORD_MAX     64
#define DISTANCE_MAX 2

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t smaller_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Number of letters to insert, drop, change or swap with a neighbour to turn @a into @b, ignoring
 * case.
 */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t k = 0; k <= b_len; k++)
		row[k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *spare = before, least = i;

		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			row[k] = smaller_size(above[k], row[k - 1]) + 1;
			row[k] = smaller_size(row[k],
					      above[k - 1] + !same_letter(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
			    same_letter(a[i - 2], b[k - 1]))
				row[k] = smaller_size(row[k], before[k - 2] + 1);
			least = smaller_size(least, row[k]);
		}
		if (least > DISTANCE_MAX)
			return least;
	}
	return row[b_len];
}

/* Do both words begin with the same letter, and have more than half of the letters in common? */
static bool letters_agree(const char *a, size_t a_len, const char *b, size_t b_len)
{
	bool used[WORD_MAX] = { false };
	size_t n = 0;

	for (size_t i = 0; i < a_len; i++) {
		for (size_t k = 0; k < b_len; k++) {
			if (used[k] || !same_letter(a[i], b[k]))
				continue;
			used[k] = true;
			n++;
			break;
		}
	}
	return a_len && b_len && same_letter(*a, *b) && 2 * n > a_len;
}

const char *nearest_word(const char *word, size_t len, const char *const *words)
{
	size_t best = DISTANCE_MAX + 1;
	const char *nearest = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (; *words; words++) {
		size_t words_len = strlen(*words), d;

		if (words_len > WORD_MAX || words_len > len + DISTANCE_MAX ||
		    len > words_len + DISTANCE_MAX)
			continue;
		d = edit_distance(word, len, *words, words_len);
		if (d >= best)
			continue;
		if (2 * d < len || (2 * d == len && letters_agree(word, len, *words, words_len))) {
			best = d;
			nearest = *words;
		}
	}
	return nearest;
}
