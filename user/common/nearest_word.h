/* SPDX-License-Identifier: GPL-2.0-only */
/* "did you mean ...?" */
#ifndef FRBPF_COMMON_NEAREST_WORD_H
#define FRBPF_COMMON_NEAREST_WORD_H

#include <stddef.h>

/*
 * Find the word of @words (NULL-terminated) nearest to @word by edit distance. NULL: none is near
 * enough. A distance is near enough if it is at most 2, and less than half of the word's length. If
 * both words begin with the same letter and share most letters, it may also be half of the length.
 */
const char *nearest_word(const char *word, size_t len, const char *const *words);

#endif
