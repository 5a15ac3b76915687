/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/search.h"

#include "fmt/cquote.h"

static const char *const whats[] = { "lines", "outline", "definitions", "references", "priors", NULL };

static const struct field fields[] = {
	{ "what", &field_enum, offsetof(struct search_request, what), .dflt = "lines", .choices = whats },
	{ "symbol", &field_str, offsetof(struct search_request, symbol), .dflt = "" },
	{ "pattern", &field_str, offsetof(struct search_request, pattern), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.max = SEARCH_PATTERN_MAX },
	{ "glob", &field_str, offsetof(struct search_request, glob), .dflt = "", .max = SEARCH_PATTERN_MAX },
	{ "case_insensitive", &field_bool, offsetof(struct search_request, case_insensitive), .dflt = "false" },
	{ "root", &field_str, offsetof(struct search_request, root), .dflt = "" },
	{ "path", &field_str, offsetof(struct search_request, path), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
	{ "hidden", &field_strs, offsetof(struct search_request, hidden) },
	{ "files", &field_strs, offsetof(struct search_request, files) },
};

/* Names travel C-quoted: JSON has no bytes. */
static int add_name(struct buf *out, struct str name, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(SEARCH_REQUEST_MAX);

	TRY(cquote_add(&text, name, err));
	return json_add_quoted(out, buf_str(&text), err);
}

static int add_names(struct buf *out, const char *before, const struct str_list *names, struct err *err)
{
	TRY(buf_addz(out, before, err));
	for (size_t i = 0; i < names->n; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(add_name(out, names->p[i], err));
	}
	return 0;
}

int search_encode(const struct search_request *r, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "{\"pattern\":", err));
	TRY(json_add_quoted(out, r->pattern, err));
	TRY(json_add_member(out, "what", str_from(whats[r->what]), err));
	TRY(json_add_member(out, "symbol", r->symbol, err));
	TRY(json_add_member(out, "glob", r->glob, err));
	TRY(buf_addf(out, err, ",\"case_insensitive\":%s,\"root\":", r->case_insensitive ? "true" : "false"));
	TRY(add_name(out, r->root, err));
	TRY(buf_addz(out, ",\"path\":", err));
	TRY(add_name(out, r->path, err));
	TRY(add_names(out, ",\"hidden\":[", &r->hidden, err));
	TRY(add_names(out, "],\"files\":[", &r->files, err));
	return buf_addz(out, "]}", err);
}

int search_decode(struct str text, struct arena *mem, struct search_request *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct search_request r;

	TRY(json_decode(text, JSON_EXACT, &j, err));
	TRY(fields_from_json(fields, COUNT(fields), j, mem, &r, sizeof(r), err));
	TRY(cquote_read(r.root, mem, &r.root, err));
	TRY(cquote_read(r.path, mem, &r.path, err));
	for (size_t i = 0; i < r.hidden.n; i++)
		TRY(cquote_read(r.hidden.p[i], mem, &r.hidden.p[i], err));
	for (size_t i = 0; i < r.files.n; i++)
		TRY(cquote_read(r.files.p[i], mem, &r.files.p[i], err));
	*out = r;
	return 0;
}
