/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "fmt/toml.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ the conformance suite */

/* T, t and a space mean the same, as do Z and z; trailing zeros of a second's fraction mean nothing. */
static void add_moment(struct buf *out, struct str s)
{
	size_t zeros = 0;
	bool fraction = false;

	for (size_t i = 0; i <= s.n; i++) {
		char c = i < s.n ? s.p[i] : '\0';

		if (fraction && c == '0') {
			zeros++;
			continue;
		}
		if (fraction && (c < '0' || c > '9')) {
			fraction = false;
			zeros = 0;
			if (out->p[out->n - 1] == '.')
				buf_shrink(out, out->n - 1);
		}
		for (; zeros > 0; zeros--)
			CHECK(buf_addc(out, '0', ERR_DISCARD) == 0);
		fraction = fraction || c == '.';
		if (c != '\0')
			CHECK(buf_addc(out, c == 't' || c == ' ' ? 'T' : c == 'z' ? 'Z' : c, ERR_DISCARD) == 0);
	}
}

static bool same_moment(struct str a, struct str b)
{
	auto_buf struct buf x = BUF_MAX(64), y = BUF_MAX(64);

	add_moment(&x, a);
	add_moment(&y, b);
	return str_eq(buf_str(&x), buf_str(&y));
}

static bool same_scalar(const struct toml *v, struct str type, struct str value)
{
	static const struct {
		enum toml_kind kind;
		const char *type;
	} moments[] = {
		{ TOML_DATETIME, "datetime" }, { TOML_LOCAL_DATETIME, "datetime-local" },
		{ TOML_LOCAL_DATE, "date-local" }, { TOML_LOCAL_TIME, "time-local" },
	};
	int64_t i;

	if (v->kind == TOML_STRING)
		return str_eqz(type, "string") && str_eq(v->text, value);
	if (v->kind == TOML_BOOL)
		return str_eqz(type, "bool") && str_eqz(value, v->boolean ? "true" : "false");
	if (v->kind == TOML_INTEGER)
		return str_eqz(type, "integer") && str_to_i64(value, &i, ERR_DISCARD) == 0 && i == v->integer;
	if (v->kind == TOML_FLOAT) {
		double d = strtod(value.p, NULL); /* a JSON string's bytes are NUL ended */

		return str_eqz(type, "float") && (isnan(d) ? isnan(v->real) : d == v->real);
	}
	for (size_t k = 0; k < COUNT(moments); k++)
		if (v->kind == moments[k].kind)
			return str_eqz(type, moments[k].type) && same_moment(v->text, value);
	return false;
}

/* One document has a key that is a NUL, which jansson cannot hold. */
#define NUL_KEY "(NUL)"

static bool same(const struct toml *v, const json_t *want)
{
	const json_t *type = json_object_get(want, "type");

	if (v->kind != TOML_ARRAY && v->kind != TOML_TABLE)
		return json_is_string(type) && same_scalar(v, json_view(type), json_get_str(want, "value"));
	if (v->kind == TOML_ARRAY ? !json_is_array(want) || json_array_size(want) != v->n
				  : !json_is_object(want) || json_object_size(want) != v->n)
		return false;
	size_t i = 0;
	for (const struct toml *t = v->first; t; t = t->next, i++) {
		const char *key = str_eq(t->name, STR("\0")) ? NUL_KEY : t->name.p;
		const json_t *w = v->kind == TOML_ARRAY ? json_array_get(want, i) : json_object_get(want, key);

		if (!w || !same(t, w))
			return false;
	}
	return true;
}

/* Everything of `a` is in `b` and the other way round, but for what stands at the path. */
static bool same_but(const struct toml *a, const struct toml *b, const struct str *path, size_t n)
{
	if (a->kind != TOML_TABLE || b->kind != TOML_TABLE || n == 0)
		return n == 0 || toml_equal(a, b);
	for (const struct toml *x = a->first; x; x = x->next)
		if (!str_eq(x->name, path[0]) && (!toml_get(b, x->name) || !toml_equal(x, toml_get(b, x->name))))
			return false;
	for (const struct toml *y = b->first; y; y = y->next)
		if (!str_eq(y->name, path[0]) && !toml_get(a, y->name))
			return false;
	const struct toml *x = toml_get(a, path[0]), *y = toml_get(b, path[0]);
	return !x || !y || same_but(x, y, path + 1, n - 1);
}

/* Sets and removes the value at the path; nothing else may change. 1: done, 0: refused. */
static int edit_one(struct str text, const struct toml *before, const struct str *path, size_t n)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(TOML_MAX);
	struct toml *after = NULL;
	struct err err = { 0 };

	CHECK_OK(buf_add(&b, text, &err));
	int r = toml_set(&b, path, n, STR("\"new # \\u0000\""), &err);
	if (r < 0) {
		CHECK_STR(buf_str(&b), text);
		CHECK_INT(r, -ERR_INVALID);
		CHECK(!strstr(err.msg, "cannot follow"));
		return 0;
	}
	CHECK_OK(toml_parse(buf_str(&b), "", mem, &after, &err));
	CHECK_STR(toml_find(after, path, n)->text, STR("new # \0"));
	CHECK(same_but(before, after, path, n));
	CHECK_INT(toml_unset(&b, path, n, &err), 1);
	CHECK_OK(toml_parse(buf_str(&b), "", mem, &after, &err));
	CHECK(toml_find(after, path, n) == NULL);
	CHECK(same_but(before, after, path, n));
	return 1;
}

/* Every key of a document, and a new one beside it. */
static int edit_all(struct str text, const struct toml *root, const struct toml *table, struct str *path, size_t n)
{
	int done = 0;

	for (const struct toml *t = table->first; t; t = t->next) {
		path[n] = t->name;
		done += edit_one(text, root, path, n + 1);
		if (t->kind == TOML_TABLE)
			done += edit_all(text, root, t, path, n + 1);
	}
	path[n] = STR("quite new");
	done += edit_one(text, root, path, n + 1);
	path[n + 1] = STR("deeper");
	return done + edit_one(text, root, path, n + 2);
}

static const char *suite_case(int dir, const char *name, struct arena *mem, int *edits)
{
	struct str path[TOML_DEPTH_MAX];
	auto_buf struct buf text = BUF_MAX(TOML_MAX), json = BUF_MAX(TOML_MAX);
	auto_json json_t *want = NULL;
	struct toml *root;
	struct err err = { 0 };
	bool valid = str_starts(str_from(name), STR("valid/"));

	CHECK_OK(file_read(dir, name, &text, &err));
	/* A copy that ends where the text ends: a sanitizer sees a read past it. */
	autofree char *exact = mem_alloc(text.n);
	if (text.n > 0)
		memcpy(exact, text.p, text.n);
	int r = toml_parse(str_of(exact, text.n), name, mem, &root, &err);
	if (!valid)
		return r == -ERR_SYNTAX && err.at.line > 0 && err.at.col > 0 && err.msg[0] ? NULL : "accepted";
	if (r < 0)
		return str_dupz(mem, str_from(err.msg));
	*edits += edit_all(buf_str(&text), root, root, path, 0);
	struct str json_name = str_printf(mem, "%.*s.json", (int)(strlen(name) - 5), name);
	CHECK_OK(file_read(dir, json_name.p, &json, &err));
	size_t nul = str_find(buf_str(&json), STR("\"\\u0000\":"));
	if (nul < json.n)
		CHECK_OK(buf_splice(&json, nul, 8, STR("\"" NUL_KEY "\""), &err));
	CHECK_OK(json_decode(buf_str(&json), JSON_EXACT, &want, &err));
	return same(root, want) ? NULL : "differs";
}

TEST(toml_passes_the_whole_conformance_suite_and_edits_every_key_of_it)
{
	auto_buf struct buf list = BUF_MAX(TOML_MAX);
	const char *shared = getenv("AGENT6_SHARED"), *source = getenv("AGENT6_SOURCE");
	char path[4096];
	autoclose int dir = -1;
	size_t ran = 0, bad = 0;
	int edits = 0;
	struct err err = { 0 };

	if (shared)
		snprintf(path, sizeof(path), "%s/toml-test", shared);
	else
		snprintf(path, sizeof(path), "%s/../shared/toml-test", source ? source : ".");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		TEST_SKIP("toml-test is not there; AGENT6_SHARED names the directory that holds it");
	CHECK_OK(file_read(dir, "files-toml-1.0.0", &list, &err));
	for (struct str rest = buf_str(&list); rest.n > 0;) {
		auto_arena struct arena *mem = arena_new();
		struct str name = str_trim(str_line(&rest));

		if (!str_ends(name, STR(".toml")))
			continue;
		const char *why = suite_case(dir, str_dupz(mem, name), mem, &edits);
		ran++;
		bad += why != NULL;
		if (why)
			print_error(STR_FMT ": %s\n", STR_ARG(name), why);
	}
	CHECK_INT(ran, 210 + 499);
	CHECK_INT(bad, 0);
	CHECK(edits > 1000);
}

/* ------------------------------------------------------------------ messages */

TEST(toml_errors_name_the_place_and_the_fault)
{
	static const struct {
		struct str in;
		int line, col;
		const char *msg;
	} rows[] = {
		{ STR("[mcp.x]\ncommand = \"a\"\n\n[mcp.x]\n"), 4, 6, "the table mcp.x is set twice, first on line 1" },
		{ STR("[budget]\nmax = 1\nmax = 2\n"), 3, 1, "the key max is set twice in budget, first on line 2" },
		{ STR("[a]\nb = 1\n[a.b]\nc = 2\n"), 3, 4, "the key a.b is set twice, first on line 2" },
		{ STR("a.b.c = 1\n[a.b]\nd = 2\n"), 2, 4, "the key a.b is set twice, first on line 1" },
		{ STR("[a.b]\n[a]\nb.c = 1\n"), 3, 1, "b is complete since line 1 and takes no more keys here" },
		{ STR("a = 1\na.b = 2\n"), 2, 1, "a is an integer, set on line 1, and holds no keys" },
		{ STR("p = \"C:\\WINDOWS\""), 1, 8, "\\W is not an escape" },
		{ STR("p = \"\\x41\""), 1, 6, "\\x is not an escape" },
		{ STR("p = \"\\u12\""), 1, 6, "\\u needs 4 hexadecimal digits" },
		{ STR("p = \"\\uD800\""), 1, 6, "\\uD800 is not a character" },
		{ STR("p = \"a\x01" "b\""), 1, 7, "control character 0x01 in a string; it is written \\u0001" },
		{ STR("p = \"a\0b\""), 1, 7, "control character 0x00 in a string; it is written \\u0000" },
		{ STR("\xc3\xa9 = 1"), 1, 1, "expected a key of letters, digits, '_' and '-', or one in quotes" },
		{ STR("p = \"\xc3\xa9\xe9\"\n"), 1, 7, "byte 0xe9 is not UTF-8" },
		{ STR("p = \"abc\n"), 1, 5, "the string that starts here is not closed on its line" },
		{ STR("\np = '''abc\n\n"), 2, 5, "the string that starts here is not closed with three quotes" },
		{ STR("a = [1, 2\n"), 1, 5, "the list that starts here is not closed" },
		{ STR("a = [1 2]\n"), 1, 8, "expected ',' or ']' in the list that starts on line 1" },
		{ STR("a = { b = 1\n"), 1, 5, "the table that starts here is not closed on its line" },
		{ STR("a = yes\n"), 1, 5, "'yes' is not a value" },
		{ STR("a = 2026-02-30\n"), 1, 5, "'2026-02-30' is not a date or time" },
		{ STR("a = 99999999999999999999\n"), 1, 5, "the number does not fit 64 bits" },
		{ STR("a = \n"), 1, 5, "expected a value" },
		{ STR("a==1\n"), 1, 3, "expected a value, not '='" },
		{ STR("a = \xe2\x82\xac"), 1, 5, "expected a value, not '\xe2\x82\xac'" },
		{ STR("a = 1 b = 2\n"), 1, 7, "expected the end of the line after the value" },
		{ STR("a\n"), 1, 2, "expected '=' after the key" },
		{ STR("[a\n"), 1, 3, "expected ']' at the end of the table's name" },
		{ STR("a = 1\rb = 2"), 1, 6, "expected the end of the line after the value" },
		{ STR("\xEF\xBB\xBF[a]\r\nb=\r\n"), 2, 3, "expected a value" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct toml *root = NULL;
		struct err err = { 0 };

		CHECK_INT(toml_parse(rows[i].in, "f.toml", mem, &root, &err), -ERR_SYNTAX);
		CHECK_STR(str_from(err.msg), str_from(rows[i].msg));
		CHECK_STR(str_from(err.at.file), STR("f.toml"));
		CHECK_INT(err.at.line, rows[i].line);
		CHECK_INT(err.at.col, rows[i].col);
	}
}

static int parse_repeated(const char *head, const char *unit, size_t n, const char *tail)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(8 * TOML_MAX);
	struct toml *root = NULL;

	CHECK(buf_addz(&b, head, ERR_DISCARD) == 0);
	for (size_t i = 0; i < n; i++)
		CHECK(buf_addz(&b, unit, ERR_DISCARD) == 0);
	CHECK(buf_addz(&b, tail, ERR_DISCARD) == 0);
	return toml_parse(buf_str(&b), "f", mem, &root, ERR_DISCARD);
}

TEST(toml_stops_at_its_limits)
{
	CHECK_INT(parse_repeated("a = ", "[", 100000, ""), -ERR_LIMIT);
	CHECK_INT(parse_repeated("a = ", "[", 200, ""), -ERR_SYNTAX); /* not closed, but not too deep */
	CHECK_INT(parse_repeated("a = ", "[", 201, ""), -ERR_LIMIT);
	CHECK_INT(parse_repeated("a = ", "{a=", 100000, ""), -ERR_LIMIT);
	CHECK_INT(parse_repeated("a = ", "{a.a.a=", 100000, ""), -ERR_LIMIT);
	CHECK_INT(parse_repeated("[a", ".a", 63, "]\n"), 0);
	CHECK_INT(parse_repeated("[a", ".a", 64, "]\n"), -ERR_LIMIT);
	CHECK_INT(parse_repeated("s = \"", "x", TOML_MAX - 5, "\""), -ERR_LIMIT);
	CHECK_INT(parse_repeated("s = \"", "x", TOML_MAX - 6, "\""), 0);
	CHECK_INT(parse_repeated("a = [", "1,", TOML_MAX / 2 - 8, "]"), 0);
}

TEST(toml_finds_a_key_among_many_at_once)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(TOML_MAX);
	struct toml *root = NULL;
	struct err err = { 0 };

	for (int i = 0; i < 60000; i++)
		CHECK_OK(buf_addf(&b, &err, "[t%d]\na = 1\n", i));
	int64_t start = time_mono_ms();
	CHECK_OK(toml_parse(buf_str(&b), "f", mem, &root, &err));
	CHECK_INT(root->n, 60000);
	CHECK(time_mono_ms() - start < 5000); /* comparing each name with all before it takes far longer */
}

TEST(toml_parses_any_prefix_without_reading_past_it)
{
	static const char text[] = "\xEF\xBB\xBF# c\r\na.\"b\\u00e9\" = [1, -2.5e+3, 0xf, inf, \"\"\"x\\\r\n  y\"\"\"\"]\n"
				   "[[t.'u']]\nd = 2026-11-29 20:00:01.5Z\ni = { q = '''z''', r = { } } # end\n";
	int good = 0;

	for (size_t n = 0; n <= sizeof(text) - 1; n++) {
		auto_arena struct arena *mem = arena_new();
		autofree char *exact = mem_alloc(n);
		struct toml *root = NULL;

		memcpy(exact, text, n);
		int r = toml_parse(str_of(exact, n), "f", mem, &root, ERR_DISCARD);
		CHECK(r == 0 || r == -ERR_SYNTAX);
		good += r == 0;
	}
	CHECK(good > 5);
}

TEST(toml_key_reads_one_dotted_key)
{
	auto_arena struct arena *mem = arena_new();
	struct str *path;
	size_t n = 0;
	struct err err = { 0 };

	CHECK_OK(toml_key(STR("a.\"b c\" . 'd.e'"), mem, &path, &n, &err));
	CHECK_INT(n, 3);
	CHECK_STR(path[1], STR("b c"));
	CHECK_STR(path[2], STR("d.e"));
	CHECK_INT(toml_key(STR("a..b"), mem, &path, &n, &err), -ERR_SYNTAX);
	CHECK_INT(toml_key(STR("a = 1"), mem, &path, &n, &err), -ERR_SYNTAX);
	CHECK_INT(toml_key(STR(""), mem, &path, &n, &err), -ERR_SYNTAX);
}

TEST(toml_becomes_json_but_for_what_json_cannot_say)
{
	static const struct {
		const char *in, *want; /* want: NULL when refused */
	} rows[] = {
		{ "{ b = [1, 2.0, true], a = 'x', d = 2026-11-29 }", "{\"b\":[1,2.0,true],\"a\":\"x\",\"d\":\"2026-11-29\"}" },
		{ "[inf]", NULL },
		{ "{ a = nan }", NULL },
		{ "{ \"a\\u0000\" = 1 }", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(256);
		auto_json json_t *j = NULL;
		struct toml *v = NULL;
		struct err err = { 0 };

		CHECK_OK(toml_value(str_from(rows[i].in), mem, &v, &err));
		int r = toml_to_json(v, &j, &err);
		CHECK_INT(r, rows[i].want ? 0 : -ERR_INVALID);
		if (!rows[i].want)
			continue;
		CHECK_OK(json_add(&got, j, &err));
		CHECK_STR(buf_str(&got), str_from(rows[i].want));
	}
}
