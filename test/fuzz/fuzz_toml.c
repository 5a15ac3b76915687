/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as a TOML file: parsing ends, an edit changes what it names, and what it wrote parses. */
#include "fmt/toml.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void edit(struct str text, const struct toml *key)
{
	auto_buf struct buf b = BUF_MAX(TOML_MAX);
	struct str path[2] = { key->name, STR("added") };
	size_t n = key->kind == TOML_TABLE ? 2 : 1;

	BUG_IF(buf_add(&b, text, ERR_DISCARD) < 0);
	if (toml_set(&b, path, n, STR("[1]"), ERR_DISCARD) < 0) {
		BUG_IF(!str_eq(buf_str(&b), text));
		return;
	}
	BUG_IF(toml_append(&b, path, n, STR("\"x\""), ERR_DISCARD) != 1);
	BUG_IF(toml_drop(&b, path, n, STR("1"), ERR_DISCARD) != 1);
	BUG_IF(toml_unset(&b, path, n, ERR_DISCARD) != 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	auto_json json_t *j = NULL;
	struct str text = str_of(data, size);
	struct toml *root = NULL;
	struct err err = { 0 };
	int r = toml_parse(text, "f", mem, &root, &err);

	if (r < 0) {
		BUG_IF(err.at.line < 1 || err.at.col < 1 || err.msg[0] == '\0' || strchr(err.msg, '\n'));
		return 0;
	}
	if (toml_to_json(root, &j, &err) < 0)
		BUG_IF(err.code != ERR_INVALID);
	if (root->first && size < TOML_MAX - 64)
		edit(text, root->first);
	return 0;
}
