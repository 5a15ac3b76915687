/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a newcomer should know of the names in a tree. It is part of a prompt, so the same tree gives the same answer on
 * every machine and under any load: names are read by patterns alone, and what bounds it is counted in files and bytes. */
#include "tool/search_priv.h"
#include "tool/symbols_priv.h"

#include "base/vec.h"
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "sys/file.h"

#include <string.h>

#define NAMES_OF_FILE 12
#define FILES_TOLD    60
#define HOT_TOLD      15
#define HOT_FILES_MIN 2
#define HOT_DEFINED   2 /* a name that is defined in more files says nothing */
#define NAME_SHORTEST 4

/* What an outline of a whole tree has room for, most telling first. */
static const char *const kinds[] = { "class", "struct", "enum", "trait", "interface", "function", "method" };

static size_t rank_of(struct str kind)
{
	size_t i = 0;

	while (i < COUNT(kinds) && !str_eqz(kind, kinds[i]))
		i++;
	return i;
}

static uint64_t hash_of(struct str s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void take_definition(void *self, const struct symbol *s)
{
	struct search_hits *h = self;
	size_t n;

	if (!s->kind || rank_of(str_from(s->kind)) == COUNT(kinds) || s->name.n > SEARCH_TEXT_MAX / 2 || h->n == SEARCH_ROWS_MAX)
		return;
	if (h->n == h->cap) {
		h->cap = h->cap > 0 ? h->cap * 2 : 8;
		h->rows = mem_grow(h->rows, h->cap, sizeof(*h->rows));
	}
	n = s->name.n;
	char *text = mem_alloc(n + 1);
	memcpy(text, s->name.p, n);
	h->rows[h->n++] = (struct search_row){ .line = s->line, .col = (int64_t)rank_of(str_from(s->kind)) + 1, .text = text, .n = n };
}

/* Its definitions, and which words are in it: hashes, sorted, each once. */
int search_priors_read(struct str path, int fd, struct search_hits *out, struct err *err)
{
	const struct symbol_lang *lang = symbols_lang(path);
	auto_buf struct buf text = BUF_MAX(SEARCH_PRIOR_FILE);
	auto_tokens struct tokens tokens = { 0 };
	size_t n = 0;

	if (!lang || file_read_fd(fd, &text, ERR_DISCARD) < 0 || memchr(text.p ? text.p : "", '\0', text.n))
		return 0; /* what is too large for this is left out */
	(void)err;
	symbols_scan(lang, buf_str(&text), STR(""), take_definition, out);
	tokens_read(lang, buf_str(&text), &tokens);
	out->words = mem_alloc((tokens.n + 1) * sizeof(*out->words));
	for (size_t i = 0; i < tokens.n; i++)
		if (tokens.p[i].type == TOKEN_NAME && tokens.p[i].text.n >= NAME_SHORTEST)
			out->words[n++] = hash_of(tokens.p[i].text);
	qsort(out->words, n, sizeof(*out->words), by_value);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || out->words[i] != out->words[i - 1])
			out->words[out->nwords++] = out->words[i];
	return 0;
}

/* ---- all files together ---- */

/* "text", "kind": somebody's function perhaps, and everybody's variable. */
static bool is_plain_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 'a' || s.p[i] > 'z')
			return false;
	return true;
}

struct name {
	struct str text;
	uint64_t hash;
	size_t file, defined, used; /* the first file that defines it; how many do, and how many have the word */
};
struct names {
	VEC(struct name);
};
struct told_file {
	size_t at, score;
};

static int by_hash(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static int most_used(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->used != y->used)
		return x->used > y->used ? -1 : 1;
	return str_cmp(x->text, y->text);
}

static int highest(const void *a, const void *b)
{
	const struct told_file *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_rank(const void *a, const void *b)
{
	const struct search_row *x = a, *y = b;

	if (x->col != y->col)
		return x->col < y->col ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void collect(const struct prior_file *f, size_t n, struct names *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < f[i].hits->n; k++) {
			struct str text = str_of(f[i].hits->rows[k].text, f[i].hits->rows[k].n);

			if (text.n >= NAME_SHORTEST && !is_plain_word(text))
				*vec_new(out) = (struct name){ text, hash_of(text), i, 1, 0 };
		}
	if (out->n > 0)
		qsort(out->p, out->n, sizeof(*out->p), by_hash);
	for (size_t i = 0; i < out->n; i++) {
		struct name *last = kept > 0 ? &out->p[kept - 1] : NULL;

		if (last && last->hash == out->p[i].hash)
			last->defined++;
		else
			out->p[kept++] = out->p[i];
	}
	out->n = kept;
}

static void count_uses(const struct prior_file *f, size_t n, struct names *names)
{
	for (size_t i = 0; i < n; i++)
		for (size_t a = 0, b = 0; a < names->n && b < f[i].hits->nwords;) {
			if (names->p[a].hash == f[i].hits->words[b])
				names->p[a++].used++;
			else if (names->p[a].hash < f[i].hits->words[b])
				a++;
			else
				b++;
		}
}

static int add_line(struct str path, int64_t line, const char *what, struct str text, struct arena *mem, struct buf *out, struct err *err)
{
	auto_buf struct buf row = BUF_MAX(8192);

	TRY(buf_addz(&row, what, err));
	TRY(buf_add(&row, text, err));
	TRY(buf_addz(out, "{", err));
	TRY(json_add_member(out, "path", cquote_dup(mem, path), err));
	TRY(buf_addf(out, err, ",\"line\":%lld", (long long)line));
	TRY(json_add_member(out, "text", buf_str(&row), err));
	return buf_addz(out, "}\n", err);
}

static int put_hot(const struct prior_file *f, struct names *names, struct arena *mem, struct buf *out, struct err *err)
{
	size_t told = 0;

	if (names->n > 0)
		qsort(names->p, names->n, sizeof(*names->p), most_used);
	for (size_t i = 0; i < names->n && told < HOT_TOLD; i++) {
		const struct name *x = &names->p[i];

		if (x->used < HOT_FILES_MIN || x->defined > HOT_DEFINED)
			continue;
		TRY(add_line(str_from(f[x->file].path), (int64_t)x->used, "hot ", x->text, mem, out, err));
		told++;
	}
	return 0;
}

static int put_file(const struct prior_file *f, struct arena *mem, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(8000);
	size_t n = f->hits->n;

	qsort(f->hits->rows, n, sizeof(*f->hits->rows), by_rank);
	for (size_t i = 0; i < n && i < NAMES_OF_FILE; i++) {
		TRY(buf_addz(&text, i > 0 ? " " : "", err));
		TRY(buf_add(&text, str_of(f->hits->rows[i].text, f->hits->rows[i].n), err));
	}
	if (n > NAMES_OF_FILE)
		TRY(buf_addf(&text, err, " +%zu", n - NAMES_OF_FILE));
	return add_line(str_from(f->path), 1, "names ", buf_str(&text), mem, out, err);
}

/* The files whose names the others use most. */
static int put_files(const struct prior_file *f, size_t n, const struct names *names, struct arena *mem, struct buf *out, struct err *err)
{
	struct told_file *order = arena_array(mem, n + 1, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = (struct told_file){ i, 0 };
	for (size_t i = 0; i < names->n; i++)
		if (names->p[i].defined <= HOT_DEFINED && names->p[i].used > 1)
			order[names->p[i].file].score += names->p[i].used - 1;
	qsort(order, n, sizeof(*order), highest);
	for (size_t i = 0; i < n && i < FILES_TOLD; i++)
		if (f[order[i].at].hits->n > 0)
			TRY(put_file(&f[order[i].at], mem, out, err));
	return 0;
}

int search_priors_put(const struct prior_file *f, size_t n, struct arena *mem, struct buf *out, struct err *err)
{
	struct names names = { 0 };
	int r;

	collect(f, n, &names);
	count_uses(f, n, &names);
	r = put_hot(f, &names, mem, out, err);
	r = r < 0 ? r : put_files(f, n, &names, mem, out, err);
	vec_fini(&names);
	return r < 0 ? r : buf_addz(out, "{\"done\":true,\"count\":0,\"truncated\":false}\n", err);
}
