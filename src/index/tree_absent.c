/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* In place of tree.c and tree_lang.c, in a build without grammars. */
#include "index/tree.h"

struct tree *tree_new(int64_t time_ms)
{
	(void)time_ms;
	return NULL;
}

void tree_free(struct tree *t)
{
	(void)t;
}

bool tree_knows(struct str path)
{
	(void)path;
	return false;
}

const char *tree_version(void)
{
	return "none (built without grammars)";
}

int tree_read(struct tree *t, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err)
{
	(void)t;
	(void)path;
	(void)text;
	(void)only;
	(void)fn;
	(void)self;
	(void)err;
	return 0;
}
