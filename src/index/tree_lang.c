/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/tree_priv.h"

/* The grammars declare no header of their own. */
const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_c_sharp(void);
const TSLanguage *tree_sitter_cpp(void);
const TSLanguage *tree_sitter_go(void);
const TSLanguage *tree_sitter_java(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_json(void);
const TSLanguage *tree_sitter_php(void);
const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_ruby(void);
const TSLanguage *tree_sitter_rust(void);
const TSLanguage *tree_sitter_tsx(void);
const TSLanguage *tree_sitter_typescript(void);

static const struct tree_rule c_rules[] = {
	{ "function_definition", "function", NULL, TREE_DECLARATOR | TREE_FUNCTION },
	{ "struct_specifier", "struct", NULL, TREE_BODY | TREE_CLASS },
	{ "union_specifier", "struct", NULL, TREE_BODY | TREE_CLASS },
	{ "class_specifier", "class", NULL, TREE_BODY | TREE_CLASS },
	{ "enum_specifier", "enum", NULL, TREE_BODY | TREE_SPACE },
	{ "enumerator", "const", NULL, TREE_MINOR },
	{ "type_definition", "type", NULL, TREE_DECLARATOR },
	{ "alias_declaration", "type", NULL, 0 },
	{ "concept_definition", "type", NULL, 0 },
	{ "namespace_definition", "module", NULL, TREE_SPACE },
	{ "preproc_def", "macro", NULL, 0 },
	{ "preproc_function_def", "macro", NULL, 0 },
	{ "field_declaration", "field", NULL, TREE_DECLARATOR | TREE_MINOR },
	{ "init_declarator", "variable", NULL, TREE_DECLARATOR | TREE_TOP | TREE_MINOR },
};
static const struct tree_rule python_rules[] = {
	{ "function_definition", "function", NULL, TREE_FUNCTION },
	{ "class_definition", "class", NULL, TREE_CLASS },
	{ "assignment", "const", "left", TREE_TOP | TREE_UPPER },
};
static const struct tree_rule js_rules[] = {
	{ "function_declaration", "function", NULL, TREE_FUNCTION },
	{ "generator_function_declaration", "function", NULL, TREE_FUNCTION },
	{ "function_signature", "function", NULL, 0 },
	{ "function_expression", "function", NULL, TREE_FUNCTION | TREE_SILENT },
	{ "arrow_function", "function", NULL, TREE_FUNCTION | TREE_SILENT },
	{ "class_declaration", "class", NULL, TREE_CLASS },
	{ "abstract_class_declaration", "class", NULL, TREE_CLASS },
	{ "interface_declaration", "interface", NULL, TREE_SPACE },
	{ "type_alias_declaration", "type", NULL, 0 },
	{ "enum_declaration", "enum", NULL, TREE_SPACE },
	{ "internal_module", "module", NULL, TREE_SPACE },
	{ "module", "module", NULL, TREE_SPACE },
	{ "method_definition", "method", NULL, TREE_FUNCTION },
	{ "method_signature", "method", NULL, 0 },
	{ "abstract_method_signature", "method", NULL, 0 },
	{ "public_field_definition", "field", NULL, TREE_MINOR | TREE_VALUE },
	{ "field_definition", "field", "property", TREE_MINOR | TREE_VALUE },
	{ "property_signature", "field", NULL, TREE_MINOR },
	{ "variable_declarator", "const", NULL, TREE_TOP | TREE_VALUE },
};
static const struct tree_rule go_rules[] = {
	{ "function_declaration", "function", NULL, TREE_FUNCTION },
	{ "method_declaration", "method", NULL, TREE_FUNCTION | TREE_RECEIVER },
	{ "type_spec", "type", NULL, TREE_SPACE },
	{ "type_alias", "type", NULL, 0 },
	{ "const_spec", "const", NULL, TREE_TOP },
	{ "var_spec", "variable", NULL, TREE_TOP | TREE_MINOR },
	{ "field_declaration", "field", NULL, TREE_MINOR },
	{ "method_elem", "method", NULL, TREE_MINOR },
};
static const struct tree_rule rust_rules[] = {
	{ "function_item", "function", NULL, TREE_FUNCTION },
	{ "function_signature_item", "function", NULL, 0 },
	{ "struct_item", "struct", NULL, TREE_SPACE },
	{ "union_item", "struct", NULL, TREE_SPACE },
	{ "enum_item", "enum", NULL, TREE_SPACE },
	{ "enum_variant", "const", NULL, TREE_MINOR },
	{ "trait_item", "trait", NULL, TREE_CLASS },
	{ "impl_item", "type", "type", TREE_CLASS | TREE_SILENT },
	{ "type_item", "type", NULL, 0 },
	{ "mod_item", "module", NULL, TREE_SPACE },
	{ "const_item", "const", NULL, TREE_TOP },
	{ "static_item", "const", NULL, TREE_TOP },
	{ "macro_definition", "macro", NULL, 0 },
	{ "field_declaration", "field", NULL, TREE_MINOR },
};
static const struct tree_rule java_rules[] = {
	{ "class_declaration", "class", NULL, TREE_CLASS },
	{ "record_declaration", "class", NULL, TREE_CLASS },
	{ "interface_declaration", "interface", NULL, TREE_CLASS },
	{ "annotation_type_declaration", "interface", NULL, TREE_CLASS },
	{ "enum_declaration", "enum", NULL, TREE_CLASS },
	{ "enum_constant", "const", NULL, TREE_MINOR },
	{ "method_declaration", "method", NULL, TREE_FUNCTION },
	{ "constructor_declaration", "method", NULL, TREE_FUNCTION },
	{ "field_declaration", "field", NULL, TREE_DECLARATOR | TREE_MINOR },
};
static const struct tree_rule cs_rules[] = {
	{ "class_declaration", "class", NULL, TREE_CLASS },
	{ "record_declaration", "class", NULL, TREE_CLASS },
	{ "struct_declaration", "struct", NULL, TREE_CLASS },
	{ "interface_declaration", "interface", NULL, TREE_CLASS },
	{ "enum_declaration", "enum", NULL, TREE_SPACE },
	{ "enum_member_declaration", "const", NULL, TREE_MINOR },
	{ "namespace_declaration", "module", NULL, TREE_SPACE },
	{ "file_scoped_namespace_declaration", "module", NULL, 0 },
	{ "delegate_declaration", "type", NULL, 0 },
	{ "method_declaration", "method", NULL, TREE_FUNCTION },
	{ "constructor_declaration", "method", NULL, TREE_FUNCTION },
	{ "local_function_statement", "function", NULL, TREE_FUNCTION },
	{ "property_declaration", "field", NULL, TREE_MINOR },
	{ "variable_declarator", "field", NULL, TREE_TOP | TREE_MINOR },
};
static const struct tree_rule ruby_rules[] = {
	{ "class", "class", NULL, TREE_CLASS },
	{ "module", "module", NULL, TREE_SPACE },
	{ "method", "method", NULL, TREE_FUNCTION },
	{ "singleton_method", "method", NULL, TREE_FUNCTION },
	{ "alias", "method", NULL, TREE_MINOR },
	{ "assignment", "const", "left", TREE_TOP | TREE_UPPER },
};
static const struct tree_rule php_rules[] = {
	{ "class_declaration", "class", NULL, TREE_CLASS },
	{ "interface_declaration", "interface", NULL, TREE_CLASS },
	{ "trait_declaration", "trait", NULL, TREE_CLASS },
	{ "enum_declaration", "enum", NULL, TREE_CLASS },
	{ "enum_case", "const", NULL, TREE_MINOR },
	{ "function_definition", "function", NULL, TREE_FUNCTION },
	{ "method_declaration", "method", NULL, TREE_FUNCTION },
	{ "const_element", "const", NULL, TREE_FIRST },
	{ "namespace_definition", "module", NULL, 0 },
	{ "property_element", "field", NULL, TREE_FIRST | TREE_MINOR },
};
static const struct tree_rule bash_rules[] = {
	{ "function_definition", "function", NULL, TREE_FUNCTION },
	{ "variable_assignment", "variable", NULL, TREE_TOP | TREE_MINOR },
};
static const struct tree_rule json_rules[] = {
	{ "pair", "const", "key", TREE_KEY },
};

#define RULES(table) table, COUNT(table)

const struct tree_lang tree_langs[] = {
	{ "c", tree_sitter_c, { ".c" }, RULES(c_rules) },
	{ "c++", tree_sitter_cpp, { ".h", ".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx" }, RULES(c_rules) },
	{ "python", tree_sitter_python, { ".py", ".pyi" }, RULES(python_rules) },
	{ "javascript", tree_sitter_javascript, { ".js", ".jsx", ".mjs", ".cjs" }, RULES(js_rules) },
	{ "typescript", tree_sitter_typescript, { ".ts", ".mts", ".cts" }, RULES(js_rules) },
	{ "tsx", tree_sitter_tsx, { ".tsx" }, RULES(js_rules) },
	{ "go", tree_sitter_go, { ".go" }, RULES(go_rules) },
	{ "rust", tree_sitter_rust, { ".rs" }, RULES(rust_rules) },
	{ "java", tree_sitter_java, { ".java" }, RULES(java_rules) },
	{ "c#", tree_sitter_c_sharp, { ".cs" }, RULES(cs_rules) },
	{ "ruby", tree_sitter_ruby, { ".rb" }, RULES(ruby_rules) },
	{ "php", tree_sitter_php, { ".php" }, RULES(php_rules) },
	{ "bash", tree_sitter_bash, { ".sh", ".bash" }, RULES(bash_rules) },
	{ "json", tree_sitter_json, { ".json" }, RULES(json_rules) },
};
const size_t ntree_langs = COUNT(tree_langs);

const char *const tree_names[] = { "identifier", "type_identifier", "field_identifier", "property_identifier",
	"shorthand_property_identifier", "shorthand_property_identifier_pattern", "shorthand_field_identifier",
	"private_property_identifier", "namespace_identifier", "package_identifier", "statement_identifier", "constant", "name",
	"variable_name", "instance_variable", "class_variable", "global_variable", "word" };
const size_t ntree_names = COUNT(tree_names);
