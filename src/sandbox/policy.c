/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/policy.h"
#include "fmt/jsonr.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STRING_MAX    (128 * 1024) /* the kernel's own limit for one argument */
#define TIMEOUT_S_MAX 1e7
#define MEMORY_MB_MAX (1LL << 24)

enum kind { KIND_PROFILE, KIND_NETWORK, KIND_PATH, KIND_PATHS, KIND_ARGV, KIND_ENV, KIND_SECONDS, KIND_INT, KIND_BOOL };

struct row {
	const char *name;
	enum kind kind;
	size_t at;
	int64_t min, max;
};

#define AT(field) offsetof(struct sandbox_policy, field)
static const struct row rows[] = {
	{ "profile", KIND_PROFILE, AT(profile), 0, 0 },
	{ "cwd", KIND_PATH, AT(cwd), 0, 0 },
	{ "argv", KIND_ARGV, AT(argv), 0, 0 },
	{ "env", KIND_ENV, AT(env), 0, 0 },
	{ "network", KIND_NETWORK, AT(network), 0, 0 },
	{ "extra_ro_paths", KIND_PATHS, AT(extra_ro_paths), 0, 0 },
	{ "extra_rw_paths", KIND_PATHS, AT(extra_rw_paths), 0, 0 },
	{ "tool_paths", KIND_PATHS, AT(tool_paths), 0, 0 },
	{ "hide_paths", KIND_PATHS, AT(hide_paths), 0, 0 },
	{ "extra_protect_paths", KIND_PATHS, AT(extra_protect_paths), 0, 0 },
	{ "timeout_s", KIND_SECONDS, AT(timeout_ms), 0, 0 },
	{ "memory_limit_mb", KIND_INT, AT(memory_limit_mb), 0, MEMORY_MB_MAX },
	{ "root_as_uid", KIND_INT, AT(root_as_uid), 1, INT32_MAX },
	{ "git_cell", KIND_BOOL, AT(git_cell), 0, 0 },
	{ "read_only", KIND_BOOL, AT(read_only), 0, 0 },
	{ "bare", KIND_BOOL, AT(bare), 0, 0 },
};
#undef AT

static const char *const profile_words[] = { "strict", "hardened", "none" };
static const char *const network_words[] = { "none", "host" };

const char *policy_profile_name(enum policy_profile p)
{
	return profile_words[p];
}

void policy_list_add(struct policy_list *l, struct arena *mem, const char *s)
{
	/* Grows at powers of two; one more place holds the ending NULL. */
	if ((l->n & (l->n - 1)) == 0) {
		const char **p = arena_array(mem, l->n * 2 + 2, sizeof(*p));

		if (l->n > 0)
			memcpy(p, l->p, l->n * sizeof(*p));
		l->p = p;
	}
	l->p[l->n++] = str_dupz(mem, str_from(s));
	l->p[l->n] = NULL;
}

/* Absolute, not "/", no empty, "." or ".." component: one spelling for one place. */
static int check_path(struct jsonr *r, const char *field, struct str path)
{
	struct str rest = path;

	if (path.n == 0 || path.p[0] != '/')
		return jsonr_fail(r, ERR_INVALID, "%s: \"" STR_FMT "\" is not an absolute path", field, STR_ARG(path));
	if (path.n == 1)
		return jsonr_fail(r, ERR_INVALID, "%s: \"/\" is the whole machine", field);
	if (path.n >= PATH_MAX)
		return jsonr_fail(r, ERR_LIMIT, "%s: a path longer than %d bytes", field, PATH_MAX - 1);
	rest = str_skip(rest, 1);
	for (bool last = false; !last;) {
		last = str_find(rest, STR("/")) == rest.n;
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_eqz(part, ".") || str_eqz(part, ".."))
			return jsonr_fail(r, ERR_INVALID,
				"%s: \"" STR_FMT "\" has an empty, \".\" or \"..\" component", field, STR_ARG(path));
	}
	return 0;
}

static int read_word(struct jsonr *r, const char *field, const char *const *words, size_t n, int *out)
{
	struct str s = { 0 };

	TRY(jsonr_string(r, &s));
	for (size_t i = 0; i < n; i++)
		if (str_eqz(s, words[i])) {
			*out = (int)i;
			return 0;
		}
	return jsonr_fail(r, ERR_INVALID, "%s: \"" STR_FMT "\" is not one of %s, %s%s%s", field, STR_ARG(s), words[0],
		words[1], n > 2 ? ", " : "", n > 2 ? words[2] : "");
}

static int read_paths(struct jsonr *r, const char *field, struct policy_list *out)
{
	struct policy_list list = { 0 };
	struct str s = { 0 };
	int m;

	TRY(jsonr_array(r));
	while ((m = jsonr_item(r)) > 0) {
		TRY(jsonr_string(r, &s));
		TRY(check_path(r, field, s));
		if (list.n == POLICY_PATHS_MAX)
			return jsonr_fail(r, ERR_LIMIT, "%s: more than %d paths", field, POLICY_PATHS_MAX);
		policy_list_add(&list, r->mem, s.p);
	}
	*out = list;
	return m;
}

static int read_argv(struct jsonr *r, struct policy_list *out)
{
	struct policy_list list = { 0 };
	struct str s = { 0 };
	int m;

	TRY(jsonr_array(r));
	while ((m = jsonr_item(r)) > 0) {
		TRY(jsonr_string(r, &s));
		if (list.n == 0 && s.n == 0)
			return jsonr_fail(r, ERR_INVALID, "argv: the command's name is empty");
		if (list.n == POLICY_WORDS_MAX)
			return jsonr_fail(r, ERR_LIMIT, "argv: more than %d words", POLICY_WORDS_MAX);
		policy_list_add(&list, r->mem, s.p);
	}
	*out = list;
	return m;
}

static int read_pair(struct jsonr *r, struct str pair[2])
{
	size_t n = 0;
	int m;

	TRY(jsonr_array(r));
	while ((m = jsonr_item(r)) > 0) {
		if (n == 2)
			return jsonr_fail(r, ERR_INVALID, "env: a pair has a name and a value, no more");
		TRY(jsonr_string(r, &pair[n++]));
	}
	TRY(m);
	if (n != 2)
		return jsonr_fail(r, ERR_INVALID, "env: a pair has a name and a value");
	if (pair[0].n == 0 || str_find(pair[0], STR("=")) < pair[0].n)
		return jsonr_fail(r, ERR_INVALID, "env: \"" STR_FMT "\" cannot be a variable's name", STR_ARG(pair[0]));
	return 0;
}

static int read_env(struct jsonr *r, struct policy_list *out)
{
	struct policy_list list = { 0 };
	int m;

	TRY(jsonr_array(r));
	while ((m = jsonr_item(r)) > 0) {
		struct str pair[2] = { { 0 } };

		TRY(read_pair(r, pair));
		if (list.n == POLICY_WORDS_MAX)
			return jsonr_fail(r, ERR_LIMIT, "env: more than %d variables", POLICY_WORDS_MAX);
		policy_list_add(&list, r->mem,
			str_printf(r->mem, STR_FMT "=" STR_FMT, STR_ARG(pair[0]), STR_ARG(pair[1])).p);
	}
	*out = list;
	return m;
}

static int read_seconds(struct jsonr *r, int64_t *out_ms)
{
	double s = 0;

	TRY(jsonr_num(r, &s));
	if (s < 0 || s > TIMEOUT_S_MAX)
		return jsonr_fail(r, ERR_INVALID, "timeout_s: expected 0 (no limit) to %.0f seconds", TIMEOUT_S_MAX);
	*out_ms = (int64_t)(s * 1000 + 0.5); /* 1.019 is a little less in binary, and is 1019 */
	if (s > 0 && *out_ms == 0)
		*out_ms = 1; /* a tiny limit is not "no limit" */
	return 0;
}

static int read_int(struct jsonr *r, const struct row *row, int64_t *out)
{
	int64_t v = 0;

	TRY(jsonr_int(r, &v));
	if (v < row->min || v > row->max)
		return jsonr_fail(r, ERR_INVALID, "%s: expected %lld to %lld", row->name, (long long)row->min,
			(long long)row->max);
	*out = v;
	return 0;
}

static int read_path(struct jsonr *r, const char *field, const char **out)
{
	struct str s = { 0 };

	TRY(jsonr_string(r, &s));
	TRY(check_path(r, field, s));
	*out = s.p;
	return 0;
}

static int read_value(struct jsonr *r, const struct row *row, struct sandbox_policy *p)
{
	void *slot = (char *)p + row->at;
	int word = 0;

	switch (row->kind) {
	case KIND_PROFILE:
		TRY(read_word(r, row->name, profile_words, COUNT(profile_words), &word));
		p->profile = (enum policy_profile)word;
		return 0;
	case KIND_NETWORK:
		TRY(read_word(r, row->name, network_words, COUNT(network_words), &word));
		p->network = (enum policy_network)word;
		return 0;
	case KIND_PATH:
		return read_path(r, row->name, slot);
	case KIND_PATHS:
		return read_paths(r, row->name, slot);
	case KIND_ARGV:
		return read_argv(r, slot);
	case KIND_ENV:
		return read_env(r, slot);
	case KIND_SECONDS:
		return read_seconds(r, slot);
	case KIND_INT:
		return read_int(r, row, slot);
	case KIND_BOOL:
		return jsonr_bool(r, slot);
	}
	BUG_IF(true);
}

static const struct row *find_row(struct str key)
{
	if (str_eqz(key, "isolation")) /* the same field under its other name */
		key = STR("profile");
	for (size_t i = 0; i < COUNT(rows); i++)
		if (str_eqz(key, rows[i].name))
			return &rows[i];
	return NULL;
}

int policy_decode(struct str text, enum policy_use use, struct arena *mem, struct sandbox_policy *out, struct err *err)
{
	struct sandbox_policy p = { .timeout_ms = 600 * 1000, .root_as_uid = POLICY_ROOT_UID };
	struct jsonr *r = arena_alloc(mem, sizeof(*r));
	bool seen[COUNT(rows)] = { false };
	struct str key = { 0 };
	int m;

	if (text.n > POLICY_BYTES_MAX)
		return err_set(err, ERR_LIMIT, "policy: longer than %d bytes", POLICY_BYTES_MAX);
	jsonr_init(r, text, STRING_MAX, mem, err);
	m = jsonr_object(r);
	while (m >= 0 && (m = jsonr_key(r, &key)) > 0) {
		const struct row *row = find_row(key);

		if (!row)
			m = jsonr_fail(r, ERR_INVALID, "unknown field \"" STR_FMT "\"", STR_ARG(key));
		else if (seen[row - rows])
			m = jsonr_fail(r, ERR_INVALID, "\"profile\" and \"isolation\" are the same field");
		else
			m = read_value(r, row, &p);
		if (row)
			seen[row - rows] = true;
	}
	if (m < 0 || jsonr_end(r) < 0)
		return err_wrap(err, "policy");
	if (!p.cwd)
		return err_set(err, ERR_INVALID, "policy: \"cwd\" is missing");
	if (use == POLICY_ONCE && p.argv.n == 0)
		return err_set(err, ERR_INVALID, "policy: \"argv\" is missing or empty");
	if (use == POLICY_ONCE && (p.git_cell || p.read_only || p.bare))
		return err_set(err, ERR_INVALID, "policy: \"%s\" is for a cell, not for one command",
			p.git_cell ? "git_cell" : p.bare ? "bare" : "read_only");
	if (p.read_only && p.extra_rw_paths.n > 0)
		return err_set(err, ERR_INVALID, "policy: a cell that is read_only has no extra_rw_paths");
	*out = p;
	return 0;
}

static int add_list(struct buf *out, const struct policy_list *l, bool pairs, struct err *err)
{
	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; i < l->n; i++) {
		struct str value = str_from(l->p[i]), name = { 0 };

		if (i > 0)
			TRY(buf_addc(out, ',', err));
		if (pairs) {
			name = str_cut(&value, '=');
			TRY(buf_addc(out, '[', err));
			TRY(jsonw_quoted(out, name, err));
			TRY(buf_addc(out, ',', err));
		}
		TRY(jsonw_quoted(out, value, err));
		if (pairs)
			TRY(buf_addc(out, ']', err));
	}
	return buf_addc(out, ']', err);
}

static int add_value(struct buf *out, const struct row *row, const struct sandbox_policy *p, struct err *err)
{
	const void *slot = (const char *)p + row->at;
	const char *const *path = slot;
	const int64_t *number = slot;
	const bool *yes = slot;

	switch (row->kind) {
	case KIND_PROFILE:
		return jsonw_quoted(out, str_from(profile_words[p->profile]), err);
	case KIND_NETWORK:
		return jsonw_quoted(out, str_from(network_words[p->network]), err);
	case KIND_PATH:
		return jsonw_quoted(out, str_from(*path), err);
	case KIND_PATHS:
	case KIND_ARGV:
	case KIND_ENV:
		return add_list(out, slot, row->kind == KIND_ENV, err);
	case KIND_SECONDS:
		return buf_addf(out, err, "%lld.%03lld", (long long)(*number / 1000), (long long)(*number % 1000));
	case KIND_INT:
		return buf_addf(out, err, "%lld", (long long)*number);
	case KIND_BOOL:
		return buf_addz(out, *yes ? "true" : "false", err);
	}
	BUG_IF(true);
}

int policy_encode(const struct sandbox_policy *p, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		TRY(buf_addf(out, err, "%c\"%s\":", i == 0 ? '{' : ',', rows[i].name));
		TRY(add_value(out, &rows[i], p, err));
	}
	return buf_addz(out, "}\n", err);
}
