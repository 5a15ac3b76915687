/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_tree: any bytes as a source file of any language that has a grammar. The first byte chooses the language. What
 * is told lies in the text; what the grammar does to its process is found here, and is why it has one of its own. */
#include "base/base.h"
#include "index/tree.h"

static const char *const names[] = { "a.c", "a.cpp", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.rs", "A.java", "a.cs", "a.rb", "a.php",
	"a.sh", "a.json" };

struct seen {
	struct str text;
	bool uses;
};

static void see(void *self, const struct symbol *s)
{
	const struct seen *seen = self;

	BUG_IF(s->name.n == 0 || s->name.p < seen->text.p || s->name.p + s->name.n > seen->text.p + seen->text.n);
	BUG_IF(s->in.n > 0 && (s->in.p < seen->text.p || s->in.p + s->in.n > seen->text.p + seen->text.n));
	BUG_IF(s->line < 1 || s->col < 1 || (!s->kind && !seen->uses) || (s->kind && s->end < s->line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen;

	if (size < 1)
		return 0;
	seen.text = str_of((const char *)data + 1, size - 1);
	for (int uses = 0; uses < 2; uses++) {
		struct tree *tree = tree_new(5000);

		seen.uses = uses;
		if (tree_read(tree, str_from(names[data[0] % COUNT(names)]), seen.text, uses ? STR("f") : STR(""), see, &seen, ERR_DISCARD) < 0)
			uses = 2; /* it took too long */
		tree_free(tree);
	}
	return 0;
}
