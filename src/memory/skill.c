/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "memory/skill.h"

#include "fmt/pack.h"

#include <ctype.h>
#include <string.h>

#define SKILL_MD "SKILL.md"

bool skill_name_ok(struct str name)
{
	if (name.n == 0 || name.n > SKILL_NAME_MAX || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '-' && name.p[i] != '_')
			return false;
	return true;
}

/* ------------------------------------------------------------------ front matter */

/* The next line of the block without its end; false at the end. */
static bool next_line(struct str *rest, struct str *line)
{
	if (rest->n == 0)
		return false;
	*line = str_trim_suffix(str_cut(rest, '\n'), STR("\r"));
	return true;
}

static size_t indent_of(struct str line)
{
	size_t n = 0;

	while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
		n++;
	return n;
}

/* Lines that belong to the value above: indented ones, and blank ones between them. */
static bool continues(struct str rest, struct str *line)
{
	struct str ahead = rest, l;

	while (next_line(&ahead, &l))
		if (str_trim(l).n > 0) {
			*line = l;
			return indent_of(l) > 0;
		}
	return false;
}

/* "|", ">" and their "-", "+" and digit. */
static bool is_block(struct str value)
{
	return value.n > 0 && value.n <= 3 && (value.p[0] == '|' || value.p[0] == '>');
}

static int add_block(struct str *rest, bool fold, struct buf *out, struct err *err)
{
	size_t indent = 0;
	struct str line, ahead;
	bool blank = true; /* the line before was */

	while (continues(*rest, &ahead)) {
		TRY(next_line(rest, &line) ? 0 : err_set(err, ERR_INVALID, "the front matter ends within a value"));
		if (str_trim(line).n == 0) {
			TRY(buf_addc(out, '\n', err));
			blank = true;
			continue;
		}
		if (indent == 0)
			indent = indent_of(line);
		if (!blank)
			TRY(buf_addc(out, fold ? ' ' : '\n', err));
		TRY(buf_add(out, str_skip(line, indent < indent_of(line) ? indent : indent_of(line)), err));
		blank = false;
	}
	return 0;
}

static int add_escaped(struct str s, struct buf *out, struct err *err)
{
	static const char from[] = "nt\"\\/", to[] = "\n\t\"\\/";

	for (size_t i = 0; i < s.n && s.p[i] != '"'; i++) {
		const char *at = s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] ? strchr(from, s.p[i + 1]) : NULL;

		TRY(buf_addc(out, at ? to[at - from] : s.p[i], err));
		i += at != NULL;
	}
	return 0;
}

static int add_single(struct str s, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'' && (i + 1 == s.n || s.p[i + 1] != '\''))
			return 0;
		i += s.p[i] == '\'';
		TRY(buf_addc(out, s.p[i], err));
	}
	return 0;
}

/* The rest of the line, even with ": " in it, and the indented lines below it. */
static int add_plain(struct str value, struct str *rest, struct buf *out, struct err *err)
{
	struct str line, ahead;
	size_t comment = str_find(value, STR(" #"));

	TRY(buf_add(out, str_trim(str_head(value, comment)), err));
	while (value.n > 0 && continues(*rest, &ahead) && next_line(rest, &line)) {
		if (str_trim(line).n == 0)
			continue;
		TRY(buf_addc(out, ' ', err));
		TRY(buf_add(out, str_trim(line), err));
	}
	return 0;
}

static int add_value(struct str value, struct str *rest, struct buf *out, struct err *err)
{
	if (is_block(value))
		return add_block(rest, value.p[0] == '>', out, err);
	if (value.n > 0 && value.p[0] == '"')
		return add_escaped(str_skip(value, 1), out, err);
	if (value.n > 0 && value.p[0] == '\'')
		return add_single(str_skip(value, 1), out, err);
	return add_plain(value, rest, out, err);
}

static int take_key(struct str key, struct str value, struct arena *mem, struct skill_text *t, struct err *err)
{
	struct str *into = str_eqz(key, "name") ? &t->name : str_eqz(key, "description") ? &t->description : NULL;
	auto_buf struct buf clean = BUF_MAX(4 * SKILL_FILE_MAX);

	if (str_eqz(key, "disable-model-invocation"))
		t->hidden = str_eqz(str_trim(value), "true");
	if (!into)
		return 0;
	TRY(buf_add_utf8(&clean, str_trim(value), err));
	*into = str_dup(mem, buf_str(&clean));
	return 0;
}

static int parse_head(struct str head, struct arena *mem, struct skill_text *t, struct err *err)
{
	struct str line;

	while (next_line(&head, &line)) {
		auto_buf struct buf value = BUF_MAX(SKILL_FILE_MAX);
		struct str after = line, key = str_trim(str_cut(&after, ':'));

		if (indent_of(line) > 0 || key.n == 0 || key.p[0] == '#' || key.n == str_trim(line).n)
			continue; /* part of something that we do not know */
		TRY(add_value(str_trim(after), &head, &value, err));
		TRY(take_key(key, buf_str(&value), mem, t, err));
	}
	return 0;
}

static bool is_end(struct str line)
{
	struct str t = str_trim_suffix(line, STR("\r"));

	return str_eqz(t, "---") || str_eqz(t, "...");
}

int skill_parse(struct str text, struct arena *mem, struct skill_text *out, struct err *err)
{
	struct str rest = str_trim_prefix(text, STR("\xef\xbb\xbf")), line, head;
	auto_buf struct buf body = BUF_MAX(4 * SKILL_FILE_MAX);
	bool closed = false;

	*out = (struct skill_text){ 0 };
	if (!next_line(&rest, &line) || !str_eqz(line, "---"))
		return err_set(err, ERR_INVALID, "the first line is not \"---\": there is no front matter");
	head.p = rest.p;
	while (!closed && rest.n > 0) {
		head.n = (size_t)(rest.p - head.p);
		closed = is_end(str_cut(&rest, '\n'));
	}
	if (!closed)
		return err_set(err, ERR_INVALID, "the front matter has no end: a line \"---\" is missing");
	TRY(parse_head(head, mem, out, err));
	if (out->description.n == 0)
		return err_set(err, ERR_INVALID, "there is no description in the front matter");
	TRY(buf_add_utf8(&body, str_trim(rest), err));
	out->body = str_dup(mem, buf_str(&body));
	return 0;
}

/* ------------------------------------------------------------------ the bundle */

int skills_pack(const struct skills *s, struct buf *out, struct err *err)
{
	pack_u32(out, (uint32_t)s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct skill *k = &s->p[i];

		pack_str(out, k->name);
		pack_u8(out, k->always);
		pack_u32(out, (uint32_t)k->nfiles);
		for (size_t f = 0; f < k->nfiles; f++) {
			pack_str(out, k->files[f].path);
			pack_u8(out, k->files[f].left_out);
			pack_str(out, k->files[f].bytes);
		}
	}
	return pack_ok(out, err);
}

static void parse(struct skill *k, struct arena *mem)
{
	const struct skill_file *md = skill_file(k, STR(SKILL_MD));
	struct skill_text t;
	struct err why = { 0 };

	if (!md || md->left_out)
		k->fault = md ? SKILL_MD " is too large" : "there is no " SKILL_MD;
	else if (skill_parse(md->bytes, mem, &t, &why) < 0)
		k->fault = str_dupz(mem, str_from(why.msg));
	if (k->fault)
		return;
	k->description = t.description;
	k->body = t.body;
	k->hidden = t.hidden;
}

static bool unpack_files(struct unpack *u, struct skill *k, struct arena *mem)
{
	k->nfiles = unpack_u32(u);
	if (u->bad || k->nfiles > SKILL_FILES_MAX)
		return false;
	k->files = arena_array(mem, k->nfiles, sizeof(*k->files));
	for (size_t f = 0; f < k->nfiles; f++) {
		k->files[f].path = unpack_str(u);
		k->files[f].left_out = unpack_u8(u) != 0;
		k->files[f].bytes = unpack_str(u);
	}
	return !u->bad;
}

int skills_unpack(struct str bytes, struct arena *mem, struct skills *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct skills s = { 0 };
	size_t n = bytes.n > 0 ? unpack_u32(&u) : 0;
	bool ok = !u.bad && n <= SKILLS_MAX;

	s.p = arena_array(mem, ok ? n : 0, sizeof(*s.p));
	for (; ok && s.n < n; s.n++) {
		s.p[s.n].name = unpack_str(&u);
		s.p[s.n].always = unpack_u8(&u) != 0;
		ok = skill_name_ok(s.p[s.n].name) && unpack_files(&u, &s.p[s.n], mem);
	}
	if (!ok || !unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the bundle of skills does not decode");
	for (size_t i = 0; i < s.n; i++)
		parse(&s.p[i], mem);
	*out = s;
	return 0;
}

const struct skill *skills_find(const struct skills *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->p[i].name, name) && !s->p[i].fault)
			return &s->p[i];
	return NULL;
}

const struct skill_file *skill_file(const struct skill *s, struct str path)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (str_eq(s->files[i].path, path))
			return &s->files[i];
	return NULL;
}

bool skills_any(const struct skills *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->p[i].fault && !s->p[i].hidden)
			return true;
	return false;
}
