/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/shellword.h"

#include <string.h>

static bool is_plain(struct str word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\0' || !strchr(plain, word.p[i]))
			return false;
	return word.n > 0;
}

int shellword_add(struct buf *b, struct str word, struct err *err)
{
	if (is_plain(word))
		return buf_add(b, word, err);
	TRY(buf_addc(b, '\'', err));
	for (size_t i = 0; i < word.n; i++)
		TRY(word.p[i] == '\'' ? buf_addz(b, "'\\''", err) : buf_addc(b, word.p[i], err));
	return buf_addc(b, '\'', err);
}
