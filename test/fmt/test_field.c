/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/field.h"
#include "test/lib/test.h"

#include <string.h>

struct edit {
	int kind;
	struct str old;
};

struct args {
	struct str path;
	int64_t limit;
	double heat;
	bool deep;
	int mode;
	struct str_list argv;
	struct obj_list edits;
	struct str extra;
	struct str secret;
};

static const char *const kinds[] = { "replace", "create", NULL };
static const char *const modes[] = { "ask", "yes", "no", NULL };

static const struct field edit_fields[] = {
	{ "kind", &field_enum, offsetof(struct edit, kind), .flags = FIELD_REQUIRED, .choices = kinds, .help = "What." },
	{ "old", &field_str, offsetof(struct edit, old), .dflt = "none", .help = "Text." },
};

static const struct field args_fields[] = {
	{ "path", &field_str, offsetof(struct args, path), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 8,
		.help = "File to \"read\"." },
	{ "limit", &field_int, offsetof(struct args, limit), .dflt = "7", .min = 1, .max = 100 },
	{ "heat", &field_num, offsetof(struct args, heat), .max = 2 },
	{ "deep", &field_bool, offsetof(struct args, deep), .dflt = "true" },
	{ "mode", &field_enum, offsetof(struct args, mode), .dflt = "yes", .choices = modes },
	{ "argv", &field_strs, offsetof(struct args, argv), .max = 3 },
	{ "edits", &field_objs, offsetof(struct args, edits), .max = 2, .sub = edit_fields, .nsub = COUNT(edit_fields),
		.sub_size = sizeof(struct edit) },
	{ "extra", &field_json, offsetof(struct args, extra), .max = 32 },
	{ "secret", &field_str, offsetof(struct args, secret), .flags = FIELD_HIDDEN },
};

static int decode(struct str text, struct arena *mem, struct args *out, struct err *err)
{
	auto_json json_t *j = NULL;

	TRY(json_decode(text, JSON_EXACT, &j, err));
	return fields_from_json(args_fields, COUNT(args_fields), j, mem, out, sizeof(*out), err);
}

/* Every field in its TOML spelling. */
static void spell(const struct args *a, struct buf *out)
{
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(args_fields); i++) {
		CHECK_OK(buf_addf(out, &err, "%s%s=", i > 0 ? " " : "", args_fields[i].name));
		CHECK_OK(field_print(&args_fields[i], a, out, &err));
	}
}

#define REST " argv=[] edits=[] extra={} secret=\"\""

TEST(fields_decode_what_a_model_sends)
{
	static const struct {
		const char *why, *in, *want;
	} rows[] = {
		{ "absent ones take their defaults", "{\"path\":\"a\"}",
			"path=\"a\" limit=7 heat=0.0 deep=true mode=\"yes\"" REST },
		{ "null is absent", "{\"path\":\"a\",\"limit\":null,\"edits\":null,\"mode\":null}",
			"path=\"a\" limit=7 heat=0.0 deep=true mode=\"yes\"" REST },
		{ "every kind", "{\"path\":\"\\u007f\\n\",\"limit\":100,\"heat\":2,\"deep\":false,\"mode\":\"ask\",\"argv\":"
				"[\"l s\",\"\"],\"edits\":[{\"kind\":\"create\"},{\"old\":\"x\",\"kind\":\"replace\"}],"
				"\"extra\":{\"a b\":[1,{}],\"c\":{\"d\":true}}}",
			"path=\"\\u007f\\n\" limit=100 heat=2.0 deep=false mode=\"ask\" argv=[\"l s\", \"\"] edits=[{ kind = "
			"\"create\", old = \"none\" }, { kind = \"replace\", old = \"x\" }] extra={ \"a b\" = [1, {}], c = { d "
			"= true } } secret=\"\"" },
		{ "a whole real is an integer", "{\"path\":\"a\",\"limit\":5.0}",
			"path=\"a\" limit=5 heat=0.0 deep=true mode=\"yes\"" REST },
		{ "lists and objects as text", "{\"path\":\"a\",\"argv\":\"[\\\"x\\\"]\",\"edits\":\" [{\\\"kind\\\":"
				"\\\"create\\\"}]\",\"extra\":\"{\\\"k\\\":\\\"}\\\"}\"}",
			"path=\"a\" limit=7 heat=0.0 deep=true mode=\"yes\" argv=[\"x\"] edits=[{ kind = \"create\", old = "
			"\"none\" }] extra={ k = \"}\" } secret=\"\"" },
		{ "text with junk after the list", "{\"path\":\"a\",\"argv\":\"[\\\"]\\\\\\\"\\\"]\\n``` ]\"}",
			"path=\"a\" limit=7 heat=0.0 deep=true mode=\"yes\" argv=[\"]\\\"\"] edits=[] extra={} secret=\"\"" },
		{ "all of it as text", "\"{\\\"path\\\":\\\"a\\\"}\"",
			"path=\"a\" limit=7 heat=0.0 deep=true mode=\"yes\"" REST },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(1024);
		struct args a;
		struct err err = { 0 };

		CHECK_OK(decode(str_from(rows[i].in), mem, &a, &err));
		spell(&a, &got);
		CHECK_STR(buf_str(&got), str_from(rows[i].want));
	}
}

TEST(fields_say_where_and_what_was_expected)
{
	static const struct {
		const char *in, *want, *hint;
	} rows[] = {
		{ "{}", "path: required, but missing", "" },
		{ "{\"path\":null}", "path: required, but missing", "" },
		{ "{\"path\":\"\"}", "path: must not be empty", "" },
		{ "{\"path\":\"123456789\"}", "path: 9 bytes, more than 8", "" },
		{ "{\"path\":12}", "path: expected a string, got 12", "" },
		{ "{\"path\":[1]}", "path: expected a string, got a list", "" },
		{ "{\"path\":\"a\",\"limit\":\"all\"}", "limit: expected an integer, got \"all\"", "" },
		{ "{\"path\":\"a\",\"limit\":1.5}", "limit: expected an integer, got 1.5", "" },
		{ "{\"path\":\"a\",\"limit\":0}", "limit: 0 is not between 1 and 100", "" },
		{ "{\"path\":\"a\",\"limit\":101}", "limit: 101 is not between 1 and 100", "" },
		{ "{\"path\":\"a\",\"limit\":true}", "limit: expected an integer, got true", "" },
		{ "{\"path\":\"a\",\"heat\":2.5}", "heat: 2.5 is not between 0 and 2", "" },
		{ "{\"path\":\"a\",\"heat\":\"1\"}", "heat: expected a number, got \"1\"", "" },
		{ "{\"path\":\"a\",\"deep\":1}", "deep: expected true or false, got 1", "" },
		{ "{\"path\":\"a\",\"mode\":\"aks\"}", "mode: \"aks\" is not one of ask, yes, no", "did you mean \"ask\"?" },
		{ "{\"path\":\"a\",\"mode\":{}}", "mode: an object is not one of ask, yes, no", "" },
		{ "{\"path\":\"a\",\"argv\":\"ls -l\"}", "argv: expected a list of strings, got \"ls -l\"", "" },
		{ "{\"path\":\"a\",\"argv\":[\"a\",2]}", "argv[1]: expected a string, got 2", "" },
		{ "{\"path\":\"a\",\"argv\":[\"1\",\"2\",\"3\",\"4\"]}", "argv: 4 items, more than 3", "" },
		{ "{\"path\":\"a\",\"argv\":\"[1]\"}", "argv: expected a list of strings, got \"[1]\"", "" },
		{ "{\"path\":\"a\",\"argv\":\"\\\"[]\\\"\"}", "argv: expected a list of strings, got \"\\\"[]\\\"\"", "" },
		{ "{\"path\":\"a\",\"edits\":{}}", "edits: expected a list of objects, got an object", "" },
		{ "{\"path\":\"a\",\"edits\":[1]}", "edits[0]: expected an object, got 1", "" },
		{ "{\"path\":\"a\",\"edits\":[{\"kind\":\"create\"},{\"kind\":\"move\"}]}",
			"edits[1].kind: \"move\" is not one of replace, create", "" },
		{ "{\"path\":\"a\",\"edits\":[{\"old\":\"x\"}]}", "edits[0].kind: required, but missing", "" },
		{ "{\"path\":\"a\",\"edits\":[{\"knd\":\"x\"}]}", "edits[0].knd: unknown; did you mean \"kind\"?", "" },
		{ "{\"path\":\"a\",\"extra\":[]}", "extra: expected an object, got a list", "" },
		{ "{\"path\":\"a\",\"limits\":1}", "limits: unknown; did you mean \"limit\"?", "" },
		{ "{\"file_path\":\"a\"}", "file_path: unknown; did you mean \"path\"?", "" },
		{ "{\"\\n\\u001b[2J\":1}", "??[2J: unknown; known here: path, limit, heat, deep, mode, argv, edits, extra", "" },
		{ "[]", "expected an object, got a list", "" },
		{ "\"[]\"", "expected an object, got \"[]\"", "" },
		{ "{\"path\":{\"a\":\"b\"},\"limit\":\"0123456789012345678901234567890123456789012345678901\"}",
			"path: expected a string, got an object", "" },
		{ "{\"path\":\"a\",\"limit\":\"0123456789012345678901234567890123456789012345678901\"}",
			"limit: expected an integer, got \"012345678901234567890123456789012345678901234567\"...", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct args a = { .limit = 42 };
		struct err err = { 0 };

		CHECK_INT(decode(str_from(rows[i].in), mem, &a, &err), -ERR_INVALID);
		CHECK_STR(str_from(err.msg), str_from(rows[i].want));
		CHECK_STR(str_from(err.hint), str_from(rows[i].hint));
		CHECK(a.limit == 42); /* nothing is half decoded */
	}
}

TEST(field_without_an_end_worth_naming_says_on_which_side_a_number_is)
{
	static const struct field line = { "line", &field_int, 0, .min = 1, .max = INT32_MAX };
	static const struct { const char *text, *want; } rows[] = {
		{ "0", "line: 0 is less than 1" },
		{ "2147483648", "line: 2147483648 is more than 2147483647" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		int64_t v = 0;
		struct err err = { 0 };

		CHECK_INT(field_parse(&line, str_from(rows[i].text), mem, &v, &err), -ERR_INVALID);
		CHECK_STR(str_from(err.msg), str_from(rows[i].want));
	}
}

TEST(field_parse_reads_text_as_a_person_types_it)
{
	static const struct {
		const char *name, *text, *want; /* want: TOML spelling, or "!" and the message */
	} rows[] = {
		{ "path", "a b", "\"a b\"" },
		{ "path", "", "!path: must not be empty" },
		{ "limit", "12", "12" },
		{ "limit", "12x", "!limit: \"12x\" is not a whole number" },
		{ "limit", "0", "!limit: 0 is not between 1 and 100" },
		{ "heat", "0.1", "0.1" },
		{ "heat", "nan", "!heat: \"nan\" is not a number" },
		{ "deep", "false", "false" },
		{ "deep", "1", "!deep: \"1\" is not one of true, false" },
		{ "mode", "no", "\"no\"" },
		{ "mode", "maybe", "!mode: \"maybe\" is not one of ask, yes, no" },
		{ "argv", "x y", "[\"x y\"]" },
		{ "argv", "[\"x\", \"y\"]", "[\"x\", \"y\"]" },
		{ "argv", "[x", "!argv: expected a list of strings: 1:2: invalid token near 'x'" },
		{ "edits", "[{\"kind\":\"create\"}]", "[{ kind = \"create\", old = \"none\" }]" },
		{ "edits", "create", "!edits: expected a list of objects: 1:6: invalid token near 'create'" },
		{ "extra", "{\"a\":0.5}", "{ a = 0.5 }" },
		{ "extra", "[]", "!extra: expected an object, got a list" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(1024);
		const struct field *f = field_find(args_fields, COUNT(args_fields), str_from(rows[i].name));
		struct args a = { 0 };
		struct err err = { 0 };

		if (field_parse(f, str_from(rows[i].text), mem, &a, &err) < 0)
			CHECK_OK(buf_addf(&got, &err, "!%s", err.msg));
		else
			CHECK_OK(field_print(f, &a, &got, &err));
		CHECK_STR(buf_str(&got), str_from(rows[i].want));
	}
}

TEST(field_parse_adds_to_a_list_up_to_its_limit)
{
	auto_arena struct arena *mem = arena_new();
	const struct field *f = field_find(args_fields, COUNT(args_fields), STR("argv"));
	auto_buf struct buf got = BUF_MAX(64);
	struct args a = { 0 };
	struct err err = { 0 };

	CHECK_OK(field_parse(f, STR("a"), mem, &a, &err));
	CHECK_OK(field_parse(f, STR("b"), mem, &a, &err));
	CHECK_OK(field_parse(f, STR("c"), mem, &a, &err));
	CHECK_INT(field_parse(f, STR("d"), mem, &a, &err), -ERR_INVALID);
	CHECK_OK(field_print(f, &a, &got, &err));
	CHECK_STR(buf_str(&got), STR("[\"a\", \"b\", \"c\"]"));
}

TEST(fields_default_fills_what_the_table_says)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf got = BUF_MAX(1024);
	struct args a;
	struct err err = { 0 };

	memset(&a, 0x55, sizeof(a));
	CHECK_OK(fields_default(args_fields, COUNT(args_fields), mem, &a, sizeof(a), &err));
	spell(&a, &got);
	CHECK_STR(buf_str(&got), STR("path=\"\" limit=7 heat=0.0 deep=true mode=\"yes\"" REST));
}

TEST(fields_schema_is_the_table_as_json_schema)
{
	auto_buf struct buf got = BUF_MAX(4096);
	auto_json json_t *j = NULL;
	struct err err = { 0 };

	CHECK_OK(fields_schema(args_fields, COUNT(args_fields), &got, &err));
	CHECK_OK(json_decode(buf_str(&got), JSON_EXACT, &j, &err));
	CHECK_STR(buf_str(&got),
		STR("{\"type\":\"object\",\"properties\":{"
		    "\"path\":{\"type\":\"string\",\"description\":\"File to \\\"read\\\".\"},"
		    "\"limit\":{\"type\":\"integer\"},\"heat\":{\"type\":\"number\"},\"deep\":{\"type\":\"boolean\"},"
		    "\"mode\":{\"type\":\"string\",\"enum\":[\"ask\",\"yes\",\"no\"]},"
		    "\"argv\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		    "\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
		    "\"kind\":{\"type\":\"string\",\"description\":\"What.\",\"enum\":[\"replace\",\"create\"]},"
		    "\"old\":{\"type\":\"string\",\"description\":\"Text.\"}},"
		    "\"required\":[\"kind\"],\"additionalProperties\":false}},"
		    "\"extra\":{\"type\":\"object\"}},\"required\":[\"path\"],\"additionalProperties\":false}"));
}

TEST(field_nearest_guesses_only_what_is_near)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "pathh", "path" }, { "lmit", "limit" }, { "edit", "edits" }, { "extras", "extra" }, { "xy", "" },
		{ "something", "" }, { "secre", "" }, { "file_path", "path" }, { "", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct field *f = field_nearest(args_fields, COUNT(args_fields), str_from(rows[i].name));

		CHECK_STR(str_from(f ? f->name : ""), str_from(rows[i].want));
	}
}
