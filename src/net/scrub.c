/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/scrub.h"

#include <string.h>

static struct str key_of(const struct scrub *s)
{
	struct str key = s->key ? secret_reveal(s->key) : STR("");

	return key.n < SCRUB_MIN ? STR("") : key;
}

/* The longest proper beginning of the key with which key[0..n) followed by c ends. Keys are short, so
 * trying every length is cheap enough: it happens only after a partial match. */
static size_t fall_back(struct str key, size_t n, char c)
{
	for (size_t len = n; len > 0; len--)
		if (key.p[len - 1] == c && memcmp(key.p, key.p + (n - len + 1), len - 1) == 0)
			return len;
	return 0;
}

int scrub_feed(struct scrub *s, struct str in, struct buf *out, struct err *err)
{
	struct str key = key_of(s);

	if (key.n == 0)
		return buf_add(out, in, err);
	while (in.n > 0) {
		if (s->held == 0) { /* everything before the next possible beginning passes at once */
			size_t at = str_find_any(in, str_head(key, 1));

			TRY(buf_add(out, str_head(in, at), err));
			in = str_skip(in, at);
			if (in.n == 0)
				return 0;
		}
		if (in.p[0] == key.p[s->held]) {
			s->held++;
			if (s->held == key.n) {
				s->held = 0;
				TRY(buf_addz(out, SCRUB_TEXT, err));
			}
		} else {
			size_t keep = fall_back(key, s->held, in.p[0]);

			TRY(buf_add(out, str_head(key, s->held + (keep > 0) - keep), err));
			if (keep == 0)
				TRY(buf_add(out, str_head(in, 1), err));
			s->held = keep;
		}
		in = str_skip(in, 1);
	}
	return 0;
}

int scrub_end(struct scrub *s, struct buf *out, struct err *err)
{
	TRY(buf_add(out, str_head(key_of(s), s->held), err));
	s->held = 0;
	return 0;
}
