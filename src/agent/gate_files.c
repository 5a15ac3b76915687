/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/gate_files.h"

#include "base/vec.h"
#include "fmt/cquote.h"

#include <string.h>

#define SHELL_SIGNS " \t\n;&|()<>'\"`$={}"

struct names {
	VEC(struct str);
};

static bool is_in(const struct names *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], name))
			return true;
	return false;
}

static void add(struct names *l, struct str word)
{
	while (str_starts(word, STR("./")))
		word = str_skip(word, 2);
	if (word.n > 0 && word.p[0] != '/' && !is_in(l, word))
		*vec_new(l) = word;
}

static struct str_list take_all(struct names *l, struct arena *mem)
{
	struct str_list out = { arena_array(mem, l->n + 1, sizeof(*out.p)), l->n };

	if (l->n > 0)
		memcpy(out.p, l->p, l->n * sizeof(*out.p));
	vec_fini(l);
	return out;
}

struct str_list gate_names(struct str_list words, struct arena *mem)
{
	struct names l = { 0 };

	for (size_t i = 0; i < words.n; i++) {
		add(&l, words.p[i]);
		for (struct str rest = words.p[i]; rest.n > 0;) {
			size_t end = str_find_any(rest, STR(SHELL_SIGNS));

			add(&l, str_head(rest, end));
			rest = str_skip(rest, end < rest.n ? end + 1 : end);
		}
	}
	return take_all(&l, mem);
}

struct str_list gate_touched(struct str_list words, struct str_list changed, struct arena *mem)
{
	struct str_list names = gate_names(words, mem);
	struct names l = { 0 };

	for (size_t i = 0; i < names.n; i++)
		for (size_t k = 0; k < changed.n; k++)
			if (str_eq(names.p[i], changed.p[k])) {
				*vec_new(&l) = cquote_dup(mem, names.p[i]);
				break;
			}
	return take_all(&l, mem);
}
