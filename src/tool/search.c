/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/search_priv.h"

#include "base/time.h"
#include "base/vec.h"
#include "fmt/cquote.h"
#include "sys/file.h"
#include "tool/gitignore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/sysinfo.h>

#define THREADS_MAX   4
#define FILES_MAX     4000000
#define DEPTH_MAX     128       /* one descriptor for each level */
#define ENTRIES_MAX   2000000   /* of one directory */
#define GLOBS_MAX     64
#define OUT_MAX       (1024 * 1024)
#define CUT           "[...]"

/* One file: found by the walk, searched by whichever thread takes it. */
struct item {
	char *path; /* owned */
	struct search_hits hits;
	bool done;
};

struct search {
	const struct search_request *request;
	const struct search_pattern *pattern;
	const struct symbol_reader *reader; /* or NULL */
	int rootfd;
	int64_t deadline_ms;
	struct arena *mem;        /* of the walk */
	struct str *globs;
	size_t nglobs;
	bool all;                 /* the path itself is ignored: then nothing beneath it is */

	pthread_mutex_t lock;     /* everything below */
	pthread_cond_t more;
	struct {
		VEC(struct item *);
	} items;
	size_t next;              /* the first item nobody took */
	size_t prefix, rows;      /* items done without a gap from the start, and their rows */
	bool walked;              /* no item comes after this */
	bool enough;              /* the prefix fills the answer: stop */
	bool late, too_complex, too_deep;
	size_t lanes;             /* taken */
	size_t parsed;            /* files that had the name; atomic */
};

/* ------------------------------------------------------------------ globs */

/* {a,b} becomes two patterns; what is no complete group stays as it is. */
static void expand(struct search *s, struct str glob)
{
	size_t open = str_find_any(glob, STR("{")), depth = 0, from = open + 1;
	size_t close = open;

	for (; close < glob.n; close++) {
		depth += glob.p[close] == '{';
		depth -= glob.p[close] == '}';
		if (depth == 0)
			break;
	}
	if (close == glob.n) {
		if (s->nglobs < GLOBS_MAX)
			s->globs[s->nglobs++] = str_dup(s->mem, str_trim_prefix(glob, STR("/")));
		return;
	}
	depth = 0;
	for (size_t i = open + 1; i <= close && s->nglobs < GLOBS_MAX; i++) {
		if (depth == 0 && (glob.p[i] == ',' || i == close)) {
			expand(s, str_printf(s->mem, STR_FMT STR_FMT STR_FMT, STR_ARG(str_head(glob, open)),
				STR_ARG(str_of(glob.p + from, i - from)), STR_ARG(str_skip(glob, close + 1))));
			from = i + 1;
		}
		depth += glob.p[i] == '{';
		depth -= glob.p[i] == '}' && i < close;
	}
}

/* A glob without a slash fits the name, one with a slash the path: from the workspace or from `path`. */
static bool glob_fits(const struct search *s, struct str path)
{
	size_t slash = str_rfind(path, '/'), skip = s->request->path.n + 1;
	struct str name = slash < path.n ? str_skip(path, slash + 1) : path;
	bool below = !str_eqz(s->request->path, ".") && path.n > skip;

	for (size_t i = 0; i < s->nglobs; i++) {
		struct str g = s->globs[i];

		if (memchr(g.p, '/', g.n) ? glob_match(g, path, true) || (below && glob_match(g, str_skip(path, skip), true))
			: glob_match(g, name, false))
			return true;
	}
	return s->nglobs == 0;
}

/* ------------------------------------------------------------------ searching */

static void advance_prefix(struct search *s)
{
	for (; s->prefix < s->items.n && s->items.p[s->prefix]->done && !s->enough; s->prefix++) {
		const struct search_hits *h = &s->items.p[s->prefix]->hits;

		s->rows += h->n;
		s->enough = s->request->what != SEARCH_PRIORS && (s->rows > SEARCH_ROWS_MAX || h->more);
	}
}

static int read_item(struct search *s, struct search_reader *r, const struct symbol_lane *lane, struct item *it, int fd)
{
	struct str path = str_from(it->path);

	if (s->request->what == SEARCH_LINES)
		return search_file(r, fd, &it->hits, ERR_DISCARD);
	return s->request->what == SEARCH_PRIORS ? search_priors_read(path, fd, &it->hits, ERR_DISCARD) :
		search_symbols(r, s->request, lane, path, fd, &it->hits, ERR_DISCARD);
}

static void search_item(struct search *s, struct search_reader *r, const struct symbol_lane *lane, struct item *it)
{
	autoclose int fd = -1;

	/* What cannot be opened or read is left out, as in every grep of a tree. */
	if (file_open(s->rootfd, it->path, true, &fd, ERR_DISCARD) == 0 && read_item(s, r, lane, it, fd) < 0)
		search_hits_fini(&it->hits);
}

/* Takes items until there are none; with `wait` until the walk is over. */
static void work(struct search *s, bool wait)
{
	struct search_reader *r = search_reader_new(s->pattern);

	pthread_mutex_lock(&s->lock);
	struct symbol_lane lane = { s->reader, s->lanes++, &s->parsed };
	while (!s->enough && !s->late) {
		if (s->next == s->items.n) {
			if (s->walked || !wait)
				break;
			pthread_cond_wait(&s->more, &s->lock);
			continue;
		}
		struct item *it = s->items.p[s->next++];
		pthread_mutex_unlock(&s->lock);
		search_item(s, r, &lane, it);
		pthread_mutex_lock(&s->lock);
		it->done = true;
		s->too_complex = s->too_complex || it->hits.too_complex;
		s->late = s->late || time_mono_ms() > s->deadline_ms;
		advance_prefix(s);
	}
	pthread_mutex_unlock(&s->lock);
	search_reader_free(r);
}

static void *thread_main(void *arg)
{
	work(arg, true);
	return NULL;
}

/* False when the walk may stop. */
static bool add_item(struct search *s, struct str path)
{
	struct item *it;
	bool go;

	if (!glob_fits(s, path))
		return true;
	it = mem_alloc(sizeof(*it));
	it->path = mem_alloc(path.n + 1);
	memcpy(it->path, path.p, path.n);
	pthread_mutex_lock(&s->lock);
	*vec_new(&s->items) = it;
	s->late = s->late || s->items.n >= FILES_MAX || time_mono_ms() > s->deadline_ms;
	go = !s->enough && !s->late;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	return go;
}

/* ------------------------------------------------------------------ walking */

static const struct ignore_level *read_rules(struct search *s, int dirfd, const char *name, struct str base,
	const struct ignore_level *up)
{
	auto_buf struct buf text = BUF_MAX(IGNORE_FILE_MAX);
	autoclose int fd = -1;

	/* git follows no link here either. */
	if (file_open(dirfd, name, true, &fd, ERR_DISCARD) < 0 || file_read_fd(fd, &text, ERR_DISCARD) < 0)
		return up;
	return ignore_parse(s->mem, buf_str(&text), base, up);
}

static bool is_operators(const struct search *s, struct str path)
{
	for (size_t i = 0; i < s->request->hidden.n; i++) {
		struct str h = s->request->hidden.p[i];

		if (h.n == 0 || (path.n >= h.n && strncasecmp(path.p, h.p, h.n) == 0 && (path.n == h.n || path.p[h.n] == '/')))
			return true;
	}
	return false;
}

static bool is_git(struct str name)
{
	return name.n == 4 && strncasecmp(name.p, ".git", 4) == 0;
}

static bool walk_dir(struct search *s, int dirfd, struct str base, const struct ignore_level *up, int depth)
{
	auto_arena struct arena *mem = arena_new();
	const struct ignore_level *rules = up;
	struct dir_entry *list;
	size_t n;

	if (dir_list(dirfd, mem, ENTRIES_MAX, &list, &n, ERR_DISCARD) < 0)
		return true;
	for (size_t i = 0; i < n && !s->all; i++)
		if (str_eqz(list[i].name, ".gitignore"))
			rules = read_rules(s, dirfd, ".gitignore", base, up);
	for (size_t i = 0; i < n; i++) {
		bool dir = list[i].type == DT_DIR;
		struct str path = base.n > 0 ? str_printf(mem, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(list[i].name)) :
			list[i].name;

		if ((!dir && list[i].type != DT_REG) || is_git(list[i].name) || is_operators(s, path) ||
			(s->request->what != SEARCH_LINES && dir && search_symbols_skips(list[i].name)) ||
			(!s->all && ignore_hides(rules, path, dir)))
			continue;
		if (!dir) {
			if (!add_item(s, path))
				return false;
			continue;
		}
		s->too_deep = s->too_deep || depth == DEPTH_MAX;
		autoclose int fd = depth == DEPTH_MAX ? -1 :
			openat(dirfd, list[i].name.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && !walk_dir(s, fd, path, rules, depth + 1))
			return false;
	}
	return true;
}

/* The rules of the directories above the path, and whether one of them ignores it: then it was named on
 * purpose, and everything in it is searched. */
static const struct ignore_level *rules_above(struct search *s, struct str path, bool is_dir)
{
	const struct ignore_level *rules = read_rules(s, s->rootfd, ".git/info/exclude", STR(""), NULL);

	if (str_eqz(path, "."))
		return rules;
	rules = read_rules(s, s->rootfd, ".gitignore", STR(""), rules);
	for (size_t i = 1; i <= path.n && !s->all; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		struct str part = str_head(path, i);
		s->all = ignore_hides(rules, part, i < path.n || is_dir);
		if (i < path.n)
			rules = read_rules(s, s->rootfd, str_printf(s->mem, STR_FMT "/.gitignore", STR_ARG(part)).p, part, rules);
	}
	return s->all ? NULL : rules;
}

/* Named one by one: by somebody else, so that each is beneath the root and none is the operator's. */
static void add_named(struct search *s)
{
	for (size_t i = 0; i < s->request->files.n && i < SEARCH_PRIOR_FILES; i++) {
		struct str path = s->request->files.p[i];
		struct stat st;
		autoclose int fd = path.n > 0 && !is_operators(s, path) ? file_openat2(s->rootfd, path.p, O_PATH | O_CLOEXEC, 0,
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS) : -1;

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
			add_item(s, path);
	}
}

static int walk(struct search *s, struct err *err)
{
	if (s->request->what == SEARCH_PRIORS) {
		add_named(s);
		return 0;
	}
	struct str path = s->request->path;
	autoclose int fd = file_openat2(s->rootfd, path.p, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open " STR_FMT, STR_ARG(cquote_dup(s->mem, path)));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, STR_FMT " is not a regular file", STR_ARG(cquote_dup(s->mem, path)));

	const struct ignore_level *rules = rules_above(s, path, S_ISDIR(st.st_mode));
	if (S_ISREG(st.st_mode)) {
		s->nglobs = 0; /* it was named: a glob has nothing left to choose */
		add_item(s, path);
	} else {
		walk_dir(s, fd, str_eqz(path, ".") ? STR("") : path, rules, 0);
	}
	return 0;
}

/* ------------------------------------------------------------------ the answer */

static int put_row(const struct search_row *row, struct str path, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(4 * SEARCH_TEXT_MAX);

	TRY(buf_addz(&text, row->cut_front ? CUT : "", err));
	TRY(buf_add(&text, str_of(row->text, row->n), err));
	TRY(buf_addz(&text, row->cut_back ? CUT : "", err));
	TRY(buf_addc(out, '{', err));
	TRY(json_add_member(out, "path", path, err));
	TRY(buf_addf(out, err, ",\"line\":%lld", (long long)row->line));
	if (row->col > 0)
		TRY(buf_addf(out, err, ",\"col\":%lld", (long long)row->col));
	if (row->end > 0)
		TRY(buf_addf(out, err, ",\"end\":%lld", (long long)row->end));
	if (row->in)
		TRY(json_add_member(out, "in", str_from(row->in), err));
	TRY(json_add_member(out, "text", buf_str(&text), err));
	return buf_addz(out, "}\n", err);
}

static struct str note(const struct search *s, size_t failed, const char *first, size_t skimmed)
{
	if (s->too_complex)
		return STR("the pattern is too complex for some lines; make it simpler");
	if (s->late)
		return STR("stopped early: the tree is too large for one search; narrow path or glob");
	if (s->too_deep)
		return STR("some directories are too deep and were left out");
	if (skimmed > 0)
		return str_printf(s->mem, "a common name: %zu of the files with it were looked through for functions, types and constants only",
			skimmed);
	return failed > 0 ? str_printf(s->mem, "%zu %s too much for the parser and read by patterns: " STR_FMT "%s", failed,
		failed == 1 ? "file was" : "files were", STR_ARG(cquote_dup(s->mem, str_from(first))), failed > 1 ? ", ..." : "") : STR("");
}

/* Who told, best first. */
static struct str source_names(const struct search *s, unsigned sources)
{
	struct str names[SOURCE_COUNT];
	size_t n = 0;

	for (int i = SOURCE_COUNT - 1; i >= 0; i--)
		if (sources & 1u << i)
			names[n++] = str_from(symbol_sources[i]);
	return str_join(s->mem, names, n, ',');
}

static int put_priors(const struct search *s, struct buf *out, struct err *err)
{
	struct prior_file *f = arena_array(s->mem, s->items.n + 1, sizeof(*f));

	for (size_t i = 0; i < s->items.n; i++)
		f[i] = (struct prior_file){ s->items.p[i]->path, &s->items.p[i]->hits };
	return search_priors_put(f, s->items.n, s->mem, out, err);
}

static int put_all(const struct search *s, struct buf *out, struct err *err)
{
	if (s->request->what == SEARCH_PRIORS)
		return put_priors(s, out, err);
	size_t rows = 0;
	bool truncated = s->enough || s->late || s->too_complex || s->too_deep;
	unsigned sources = 0;
	size_t failed = 0, skimmed = 0;
	const char *first = "";

	for (size_t i = 0; i < s->items.n && rows < SEARCH_ROWS_MAX; i++) {
		const struct item *it = s->items.p[i];
		struct str path = cquote_dup(s->mem, str_from(it->path));

		truncated = truncated || it->hits.more;
		sources |= it->hits.sources;
		skimmed += it->hits.skimmed;
		if (it->hits.failed && failed++ == 0)
			first = it->path;
		for (size_t k = 0; k < it->hits.n && rows < SEARCH_ROWS_MAX; k++, rows++)
			TRY(put_row(&it->hits.rows[k], path, out, err));
	}
	TRY(buf_addf(out, err, "{\"done\":true,\"count\":%zu,\"truncated\":%s", rows, truncated ? "true" : "false"));
	struct str says = note(s, failed, first, skimmed);
	if (says.n > 0)
		TRY(json_add_member(out, "note", says, err));
	if (sources != 0)
		TRY(json_add_member(out, "source", source_names(s, sources), err));
	return buf_addz(out, "}\n", err);
}

size_t search_lanes(void)
{
	int n = get_nprocs();

	return n > THREADS_MAX ? THREADS_MAX : (size_t)n;
}

static void run_threads(struct search *s, int *walk_result, struct err *err)
{
	pthread_t threads[THREADS_MAX];
	size_t lanes = s->reader && s->reader->lanes < search_lanes() ? s->reader->lanes : search_lanes();
	int want = (int)lanes, n = 0;

	/* One thread less than processors: this one helps when the walk is over. Where a jail allows no
	 * thread, it does all of it. */
	while (n < want - 1 && pthread_create(&threads[n], NULL, thread_main, s) == 0)
		n++;
	*walk_result = walk(s, err);
	pthread_mutex_lock(&s->lock);
	s->walked = true;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	work(s, false);
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static void search_fini(struct search *s)
{
	for (size_t i = 0; i < s->items.n; i++) {
		search_hits_fini(&s->items.p[i]->hits);
		free(s->items.p[i]->path);
		free(s->items.p[i]);
	}
	vec_fini(&s->items);
	search_pattern_free((struct search_pattern *)s->pattern);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->more);
	arena_free(s->mem);
}

static int answer(struct search *s, struct buf *out, struct err *err)
{
	struct search_pattern *p = NULL;
	int r;

	TRY(search_pattern_new(s->request->pattern, s->request->case_insensitive, &p, err));
	s->pattern = p;
	s->globs = arena_array(s->mem, GLOBS_MAX, sizeof(*s->globs));
	if (s->request->glob.n > 0)
		expand(s, s->request->glob);
	run_threads(s, &r, err);
	if (r < 0)
		return r;
	return put_all(s, out, err);
}

int search_run(const struct search_request *r, int rootfd, const struct symbol_reader *reader, int outfd, struct err *err)
{
	CLEANUP(search_fini) struct search s = { .request = r, .rootfd = rootfd, .reader = reader, .mem = arena_new(),
		.deadline_ms = time_mono_ms() + SEARCH_TIME_MS };
	auto_buf struct buf out = BUF_MAX(OUT_MAX);
	struct err wrong = { 0 };

	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.more, NULL);
	if (answer(&s, &out, &wrong) < 0) {
		auto_buf struct buf text = BUF_MAX(sizeof(wrong.msg) + sizeof(wrong.hint) + 8);

		buf_clear(&out);
		TRY(buf_addf(&text, err, wrong.hint[0] ? "%s (%s)" : "%s", wrong.msg, wrong.hint));
		TRY(buf_addz(&out, "{", err));
		TRY(json_add_member(&out, "error", buf_str(&text), err));
		TRY(buf_addz(&out, "}\n", err));
	}
	return file_write_fd(outfd, buf_str(&out), err);
}
