/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "test/tool/kit.h"

#include "tool/language.h"

TEST(symbols_of_a_tree_are_found_by_the_index_worker)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "src/a.c", "int twice(int x)\n{\n\treturn 2 * x; /* twice */\n}\n");
	kit_put(&k, "src/b.c", "int twice(int);\nint main(void) { return twice(2); }\n");
	kit_put(&k, "notes.txt", "twice twice\n");
	kit_put(&k, "node_modules/x.js", "function twice() {}\n");
	kit_call(&k, "find_definition", "{`symbol`:`twice`}");
	CHECK_HOLDS(&k, "{\"definitions\":[{\"name\":\"twice\",\"kind\":\"function\",\"path\":\"src/a.c\",\"line\":1,\"col\":5}],\"truncated\":false,\"source\":\"patterns\"}");
	kit_call(&k, "find_references", "{`symbol`:`twice`}");
	CHECK_HOLDS(&k, "{\"references\":[{\"name\":\"twice\",\"path\":\"src/a.c\",\"line\":1,\"col\":5},{\"name\":\"twice\",\"path\":\"src/b.c\","
			"\"line\":1,\"col\":5},{\"name\":\"twice\",\"path\":\"src/b.c\",\"line\":2,\"col\":25}],\"truncated\":false,\"source\":\"patterns\"}");
	kit_call(&k, "outline", "{`path`:`src/b.c`}");
	CHECK_HOLDS(&k, "{\"symbols\":[{\"name\":\"main\",\"kind\":\"function\",\"line\":2,\"col\":5}],\"truncated\":false,\"source\":\"patterns\"}");
	kit_call(&k, "outline", "{`path`:`notes.txt`}");
	CHECK_HOLDS(&k, "{\"symbols\":[],\"truncated\":false}");
	kit_call(&k, "outline", "{`path`:`src`}");
	CHECK_HOLDS(&k, "is no regular file");
	kit_call(&k, "outline", "{`path`:`../outside.c`}");
	CHECK_HOLDS(&k, "error");
	kit_call(&k, "find_definition", "{`symbol`:`a.b`}");
	CHECK_HOLDS(&k, "one name, without dots");
}

static bool knows(void *self, struct str path)
{
	(void)self;
	return str_ends(path, STR(".c"));
}

/* Everything that a server may say of "twice": true, elsewhere, hidden, outside, beside the word, twice. */
static int places(void *self, struct tool_ctx *ctx, const struct language_ask *ask, struct language_answer *out, struct err *err)
{
	static const struct {
		const char *file;
		int64_t line, col;
		bool bytes;
	} said[] = { { "src/b.c", 1, 24, true }, { "src/b.c", 1, 24, false }, { "src/b.c", 0, 4, false }, { "src/b.c", 0, 5, false },
		{ "src/b.c", 9, 0, false }, { "src/b.c", 1, -3, true }, { "src/b.c", 1, 4000, true }, { "secret/s.c", 0, 4, false }, { "none.c", 0, 0, false },
		{ "src/../src/b.c", 0, 4, false }, { "../more/m.c", 0, 4, false } };

	(void)self;
	(void)err;
	CHECK(ask->nseeds == 1 && str_eqz(ask->seeds[0].path, "src/a.c") && ask->seeds[0].line == 1 && ask->seeds[0].col == 5);
	*out = (struct language_answer){ .p = arena_array(ctx->mem, COUNT(said) + 1, sizeof(*out->p)), .server = "clangd" };
	for (size_t i = 0; i < COUNT(said); i++)
		out->p[out->n++] = (struct language_place){ .path = str_printf(ctx->mem, STR_FMT "/%s", STR_ARG(ctx->roots[0].path), said[i].file),
			.line = said[i].line, .col = said[i].col, .bytes = said[i].bytes };
	out->p[out->n++] = (struct language_place){ .path = str_printf(ctx->mem, STR_FMT "x/m.c", STR_ARG(ctx->roots[0].path)) };
	return 0;
}

TEST(symbols_of_a_language_server_count_where_the_name_stands_and_may_be_read)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "src/a.c", "int twice(int x)\n{\n\treturn 2 * x;\n}\n");
	kit_put(&k, "src/b.c", "int twice(int);\nint main(void) { return twice(2); }\n");
	kit_put(&k, "secret/s.c", "int twice(int);\n");
	k.hide = (struct str_list){ arena_array(k.mem, 1, sizeof(struct str)), 1 };
	k.hide.p[0] = str_printf(k.mem, STR_FMT "/secret", STR_ARG(k.roots[0].path));
	k.host.language_knows = knows;
	k.host.language = places;
	kit_call(&k, "find_references", "{`symbol`:`twice`}");
	CHECK_HOLDS(&k, "{\"references\":[{\"name\":\"twice\",\"path\":\"src/b.c\",\"line\":1,\"col\":5},{\"name\":\"twice\",\"path\":\"src/b.c\",\"line\":2,"
			"\"col\":25},{\"name\":\"twice\",\"path\":\"src/a.c\",\"line\":1,\"col\":5}],\"truncated\":false,\"source\":\"clangd,patterns\","
			"\"note\":\"clangd knows 2 of them, and those come first; of the others no more is known than the name; 3 more outside of the "
			"workspace; 6 places of the language server's were dropped: the name does not stand there\"}");
}
