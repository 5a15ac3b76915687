/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/lsp_table.h"

static const struct lsp_language c_family[] = { { ".c", "c" }, { ".h", "c" }, { ".cc", "cpp" }, { ".cpp", "cpp" }, { ".cxx", "cpp" },
	{ ".hh", "cpp" }, { ".hpp", "cpp" }, { ".hxx", "cpp" }, { 0 } };
static const struct lsp_language python[] = { { ".py", "python" }, { ".pyi", "python" }, { 0 } };
static const struct lsp_language go[] = { { ".go", "go" }, { 0 } };
static const struct lsp_language rust[] = { { ".rs", "rust" }, { 0 } };

/* What a server would write into the workspace it keeps in memory or does without; nothing of the repository is executed. */
const struct lsp_server lsp_servers[] = {
	{ "clangd", { "clangd", "--log=error", "--pch-storage=memory", "-j=2" }, c_family, NULL },
	{ "ty", { "ty", "server" }, python, NULL },
	{ "pyright", { "pyright-langserver", "--stdio" }, python, NULL },
	{ "gopls", { "gopls" }, go, NULL },
	{ "rust-analyzer", { "rust-analyzer" }, rust,
		"{\"cargo\":{\"buildScripts\":{\"enable\":false}},\"procMacro\":{\"enable\":false},\"checkOnSave\":false}" },
};
const size_t nlsp_servers = COUNT(lsp_servers);

_Static_assert(COUNT(lsp_servers) <= LSP_SERVERS_MAX, "a place for each");

const struct lsp_server *lsp_server_find(struct str name)
{
	for (size_t i = 0; i < COUNT(lsp_servers); i++)
		if (str_eqz(name, lsp_servers[i].name))
			return &lsp_servers[i];
	return NULL;
}

const char *lsp_language_id(const struct lsp_server *s, struct str path)
{
	for (const struct lsp_language *l = s->languages; l->end; l++)
		if (str_ends(path, str_from(l->end)))
			return l->id;
	return NULL;
}
