/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "test/tool/kit.h"

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
