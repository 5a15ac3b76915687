/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/symbols_priv.h"

#define C_QUOTES (QUOTE_DOUBLE | QUOTE_CHAR)

static const char *const c_containers[] = { "struct", "class", "union", NULL };
static const char *const java_containers[] = { "class", "interface", "enum", "record", NULL };
static const char *const cs_containers[] = { "class", "interface", "struct", "record", NULL };
static const char *const js_containers[] = { "class", NULL };
static const char *const rust_containers[] = { "impl", "trait", NULL };
static const char *const php_containers[] = { "class", "interface", "trait", "enum", NULL };
static const char *const py_containers[] = { "class", NULL };

const char *const symbol_kinds[] = { "function", "class", "method", "struct", "enum", "trait", "type", "module", "const", "macro",
	"interface", "field", "variable", NULL };

const struct symbol_lang symbol_langs[] = {
	{ "c", { ".c" }, { "//" }, true, false, true, C_QUOTES, STYLE_C,
		{ { "struct", "struct" }, { "union", "struct" }, { "enum", "enum" } }, c_containers },
	{ "c++", { ".h", ".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx" }, { "//" }, true, false, true, C_QUOTES | QUOTE_RAW, STYLE_C,
		{ { "struct", "struct" }, { "union", "struct" }, { "enum", "enum" }, { "class", "class" }, { "namespace", "module" },
			{ "concept", "type" } }, c_containers },
	{ "python", { ".py", ".pyi" }, { "#" }, false, false, false, QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_TRIPLE, STYLE_INDENT,
		{ { "def", "function" }, { "class", "class" } }, py_containers },
	{ "javascript", { ".js", ".jsx", ".mjs", ".cjs" }, { "//" }, true, false, false,
		QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_BACK | QUOTE_REGEX, STYLE_METHODS,
		{ { "function", "function" }, { "class", "class" }, { "const", "const" } }, js_containers },
	{ "typescript", { ".ts", ".tsx", ".mts", ".cts" }, { "//" }, true, false, false,
		QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_BACK | QUOTE_REGEX, STYLE_METHODS,
		{ { "function", "function" }, { "class", "class" }, { "const", "const" }, { "interface", "interface" }, { "enum", "enum" },
			{ "type", "type" }, { "namespace", "module" } }, js_containers },
	{ "go", { ".go" }, { "//" }, true, false, false, QUOTE_DOUBLE | QUOTE_CHAR | QUOTE_BACK, STYLE_KEYWORDS,
		{ { "func", "function" }, { "type", "type" }, { "const", "const" } }, NULL },
	{ "rust", { ".rs" }, { "//" }, true, true, false, QUOTE_DOUBLE | QUOTE_CHAR | QUOTE_RAW | QUOTE_LINES, STYLE_KEYWORDS,
		{ { "fn", "function" }, { "struct", "struct" }, { "union", "struct" }, { "enum", "enum" }, { "trait", "trait" },
			{ "type", "type" }, { "mod", "module" }, { "const", "const" }, { "static", "const" }, { "macro_rules", "macro" } },
		rust_containers },
	{ "java", { ".java" }, { "//" }, true, false, false, QUOTE_DOUBLE | QUOTE_CHAR | QUOTE_TRIPLE, STYLE_METHODS,
		{ { "class", "class" }, { "interface", "interface" }, { "enum", "enum" }, { "record", "class" } }, java_containers },
	{ "c#", { ".cs" }, { "//" }, true, false, true, QUOTE_DOUBLE | QUOTE_CHAR | QUOTE_RAW | QUOTE_TRIPLE, STYLE_METHODS,
		{ { "class", "class" }, { "interface", "interface" }, { "enum", "enum" }, { "record", "class" }, { "struct", "struct" },
			{ "namespace", "module" } }, cs_containers },
	{ "ruby", { ".rb" }, { "#" }, false, false, false, QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_LINES | QUOTE_REGEX, STYLE_KEYWORDS,
		{ { "def", "method" }, { "class", "class" }, { "module", "module" } }, NULL },
	{ "php", { ".php" }, { "//", "#" }, true, false, false, QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_LINES, STYLE_KEYWORDS,
		{ { "function", "function" }, { "class", "class" }, { "interface", "interface" }, { "trait", "trait" }, { "enum", "enum" },
			{ "const", "const" } }, php_containers },
	{ "shell", { ".sh", ".bash" }, { "#" }, false, false, false, QUOTE_DOUBLE | QUOTE_SINGLE | QUOTE_LINES, STYLE_SHELL,
		{ { "function", "function" } }, NULL },
	{ "json", { ".json" }, { NULL }, false, false, false, QUOTE_DOUBLE, STYLE_JSON, { { NULL, NULL } }, NULL },
};
const size_t nsymbol_langs = COUNT(symbol_langs);

const struct symbol_lang *symbols_lang(struct str path)
{
	for (size_t i = 0; i < nsymbol_langs; i++)
		for (size_t k = 0; k < COUNT(symbol_langs[0].ends) && symbol_langs[i].ends[k]; k++)
			if (str_ends(path, str_from(symbol_langs[i].ends[k])))
				return &symbol_langs[i];
	return NULL;
}
