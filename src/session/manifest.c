/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/manifest.h"

#include "sys/file.h"

#include <string.h>

#define FILE_NAME "manifest.json"

enum kind { KIND_STR, KIND_INT, KIND_STRS };

static const struct row {
	const char *name; /* dotted */
	enum kind kind;
	unsigned who;
	size_t offset;
} rows[] = {
#define X(kind, who, member, name) { name, KIND_##kind, MANIFEST_##who, offsetof(struct manifest, member) },
	MANIFEST_MEMBERS(X)
#undef X
};

static bool fits(enum kind kind, const json_t *v)
{
	if (json_is_null(v))
		return true;
	if (kind == KIND_STR)
		return json_is_string(v);
	if (kind == KIND_INT)
		return json_is_integer(v);
	for (size_t i = 0; i < json_array_size(v); i++)
		if (!json_is_string(json_array_get(v, i)))
			return false;
	return json_is_array(v);
}

static const json_t *get(const json_t *obj, const char *dotted)
{
	const char *dot = strchr(dotted, '.');
	char part[64];

	while (dot && obj) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - dotted), dotted);
		obj = json_object_get(obj, part);
		dotted = dot + 1;
		dot = strchr(dotted, '.');
	}
	return json_object_get(obj, dotted);
}

/* ---- reading ---- */

static void fill(const struct row *row, const json_t *v, struct arena *mem, struct manifest *m)
{
	void *slot = (char *)m + row->offset;

	if (row->kind == KIND_INT) {
		*(int64_t *)slot = json_is_integer(v) ? json_integer_value(v) : -1;
	} else if (row->kind == KIND_STR) {
		*(struct str *)slot = str_dup(mem, json_view(v));
	} else if (json_is_array(v) && fits(row->kind, v)) {
		struct str_list *list = slot;

		list->n = json_array_size(v);
		list->p = arena_array(mem, list->n > 0 ? list->n : 1, sizeof(*list->p));
		for (size_t i = 0; i < list->n; i++)
			list->p[i] = str_dup(mem, json_view(json_array_get(v, i)));
	}
}

static int read_file(int record_fd, json_t **out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(MANIFEST_MAX);
	auto_json json_t *j = NULL;

	TRY(file_read(record_fd, FILE_NAME, &text, err));
	if (json_decode(buf_str(&text), JSON_EXACT, &j, err) < 0)
		return err_wrap(err, FILE_NAME);
	if (!json_is_object(j))
		return err_set(err, ERR_INVALID, FILE_NAME " is not a JSON object");
	if (json_get_int(j, "version", MANIFEST_VERSION) > MANIFEST_VERSION)
		return err_set(err, ERR_INVALID, FILE_NAME " has version %lld, this agent6 knows %d",
			(long long)json_get_int(j, "version", 0), MANIFEST_VERSION);
	*out = take(&j);
	return 0;
}

int manifest_load(int record_fd, struct arena *mem, struct manifest *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct manifest m = { 0 };

	TRY(read_file(record_fd, &j, err));
	m.version = json_get_int(j, "version", MANIFEST_VERSION);
	for (size_t i = 0; i < COUNT(rows); i++)
		fill(&rows[i], get(j, rows[i].name), mem, &m);
	*out = m;
	return 0;
}

/* ---- writing ---- */

static int check_leaf(unsigned who, const char *name, const json_t *v, struct err *err)
{
	static const char *const words[] = { [KIND_STR] = "a string", [KIND_INT] = "an integer",
		[KIND_STRS] = "a list of strings" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (!fits(rows[i].kind, v))
			return err_set(err, ERR_INVALID, "manifest: \"%s\" is not %s or null", name, words[rows[i].kind]);
		if (!(rows[i].who & who) && who != MANIFEST_HO)
			return err_set(err, ERR_INVALID, "manifest: \"%s\" is not this sender's to set", name);
		return 0;
	}
	return err_set(err, ERR_INVALID, "manifest: \"%.100s\" is not a member of it", name);
}

/* prefix: "" or "policy." */
static int check_members(unsigned who, const char *prefix, const json_t *members, struct err *err)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)members, key, v) {
		char dotted[128];

		if (snprintf(dotted, sizeof(dotted), "%s%s", prefix, key) >= (int)sizeof(dotted) - 1)
			return err_set(err, ERR_INVALID, "manifest: \"%.100s\" is not a member of it", dotted);
		if (!json_is_object(v) || json_object_size(v) == 0) {
			TRY(check_leaf(who, dotted, v, err));
			continue;
		}
		snprintf(dotted + strlen(dotted), 2, ".");
		TRY(check_members(who, dotted, v, err));
	}
	return 0;
}

static int merge(json_t *into, const json_t *members)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)members, key, v) {
		json_t *old = json_object_get(into, key);

		if (json_is_object(v) && json_is_object(old)) {
			if (merge(old, v) < 0)
				return -1;
		} else if (json_object_set(into, key, v) < 0) {
			return -1;
		}
	}
	return 0;
}

int manifest_check(unsigned who, struct str members, json_t **out, struct err *err)
{
	auto_json json_t *add = NULL;

	if (json_decode(members, JSON_EXACT, &add, err) < 0)
		return err_wrap(err, "manifest");
	if (!json_is_object(add))
		return err_set(err, ERR_INVALID, "manifest: the members are not an object");
	TRY(check_members(who, "", add, err));
	*out = take(&add);
	return 0;
}

int manifest_merge(int record_fd, unsigned who, struct str members, struct err *err)
{
	auto_json json_t *add = NULL, *now = NULL;
	auto_buf struct buf text = BUF_MAX(MANIFEST_MAX);
	struct err why = { 0 };

	TRY(manifest_check(who, members, &add, err));
	int r = read_file(record_fd, &now, &why);
	if (r == -ERR_NOENT) {
		now = json_object();
	} else if (r < 0) {
		return err_set(err, ERR_CONFLICT, "%s", why.msg); /* what is on disk, not what was sent */
	}
	BUG_IF(json_object_set_new(now, "version", json_integer(MANIFEST_VERSION)) < 0 || merge(now, add) < 0);
	TRY(json_add(&text, now, err));
	TRY(buf_addc(&text, '\n', err));
	return file_replace(record_fd, FILE_NAME, buf_str(&text), 0600, err);
}

/* ---- comparing ---- */

void manifest_fold(json_t *set, const json_t *members)
{
	BUG_IF(merge(set, members) < 0);
}

static void put(json_t *obj, const char *dotted, json_t *v)
{
	const char *dot = strchr(dotted, '.');
	char part[64];

	while (dot) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - dotted), dotted);
		json_t *inner = json_object_get(obj, part);

		if (!inner) {
			inner = json_object();
			BUG_IF(json_object_set_new(obj, part, inner) < 0);
		}
		obj = inner;
		dotted = dot + 1;
		dot = strchr(dotted, '.');
	}
	BUG_IF(json_object_set(obj, dotted, v) < 0);
}

int manifest_members(int record_fd, json_t **out, struct err *err)
{
	auto_json json_t *now = NULL, *members = json_object();

	TRY(read_file(record_fd, &now, err));
	for (size_t i = 0; i < COUNT(rows); i++) {
		const json_t *v = get(now, rows[i].name);

		if (v && rows[i].who != MANIFEST_HO && fits(rows[i].kind, v))
			put(members, rows[i].name, (json_t *)v);
	}
	*out = take(&members);
	return 0;
}

/* What is null is not there. */
static const json_t *value_of(const json_t *obj, const char *dotted)
{
	const json_t *v = get(obj, dotted);

	return json_is_null(v) ? NULL : v;
}

int manifest_read(int record_fd, json_t **out, struct err *err)
{
	int r = read_file(record_fd, out, err);

	return r == -ERR_NOENT || r == -ERR_SYNTAX || r == -ERR_INVALID || r == -ERR_LIMIT ? 0 : r;
}

void manifest_compare(const json_t *now, const json_t *set, manifest_differs_fn *differs, void *self)
{
	const bool all = value_of(set, "run_id");

	for (size_t i = 0; i < COUNT(rows); i++) {
		const json_t *recorded = value_of(set, rows[i].name), *found = value_of(now, rows[i].name);

		if (rows[i].who == MANIFEST_HO || !(all || get(set, rows[i].name)))
			continue;
		if (recorded != found && !(recorded && found && json_equal(recorded, found)))
			differs(self, rows[i].name, recorded, found);
	}
}
