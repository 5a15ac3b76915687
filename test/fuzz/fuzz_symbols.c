/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_symbols: any bytes as a source file of any language. The first byte chooses the language. What is told lies in
 * the text, on the line and column that it says. */
#include "base/base.h"
#include "tool/symbols.h"

#include <string.h>

static const char *const names[] = { "a.c", "a.cpp", "a.py", "a.js", "a.ts", "a.go", "a.rs", "A.java", "a.cs", "a.rb", "a.php", "a.sh",
	"a.json" };

struct seen {
	struct str text;
	bool uses;
};

static void see(void *self, const struct symbol *s)
{
	const struct seen *seen = self;
	int64_t line = 1;
	const char *start = seen->text.p;

	BUG_IF(s->name.n == 0 || s->name.p < seen->text.p || s->name.p + s->name.n > seen->text.p + seen->text.n);
	BUG_IF(!s->kind && !seen->uses);
	for (const char *p = seen->text.p; p < s->name.p; p++)
		if (*p == '\n') {
			line++;
			start = p + 1;
		}
	BUG_IF(line != s->line);
	/* a key of JSON is told where its quote stands */
	BUG_IF(s->name.p - start + 1 != s->col && s->name.p - start != s->col);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen;

	if (size < 1)
		return 0;
	seen.text = str_of((const char *)data + 1, size - 1);
	for (seen.uses = false;; seen.uses = true) {
		symbols_scan(symbols_lang(str_from(names[data[0] % COUNT(names)])), seen.text, seen.uses ? STR("f") : STR(""), see, &seen);
		if (seen.uses)
			return 0;
	}
}
