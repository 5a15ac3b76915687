/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The names of a repository, as the index worker sees them. Without it the prompt lacks them, and nothing else. */
#include "agent/priors.h"

#include "tool/index_ask.h"
#include "tool/path.h"
#include "tool/symbols.h"

#define SHOWN_NAME 120

struct told {
	struct buf *hot, *names; /* each as large as it may be shown */
	bool hot_full, names_full;
};

/* A whole line or none; after the first that does not fit there is no other, so that the order means something. */
static void put_line(struct buf *out, bool *full, const struct buf *line)
{
	*full = *full || buf_add(out, buf_str(line), ERR_DISCARD) < 0;
}

static int take_row(void *self, const json_t *j, struct err *err)
{
	struct told *t = self;
	struct str path = json_get_str(j, "path"), rest = json_get_str(j, "text"), what = str_cut(&rest, ' ');
	int64_t n = json_get_int(j, "line", 0);
	auto_buf struct buf line = BUF_MAX(8192);

	if (path.n == 0 || rest.n == 0)
		return err_set(err, ERR_PROTOCOL, "the index worker answered with a row that is none");
	TRY(buf_addz(&line, "  ", err));
	if (str_eqz(what, "hot")) {
		TRY(buf_add_utf8(&line, str_head(rest, SHOWN_NAME), err));
		TRY(buf_addf(&line, err, " (%lld) ", (long long)n));
		TRY(buf_add_utf8(&line, str_head(path, SHOWN_NAME), err));
		TRY(buf_addc(&line, '\n', err));
		put_line(t->hot, &t->hot_full, &line);
		return 0;
	}
	TRY(buf_add_utf8(&line, str_head(path, SHOWN_NAME), err));
	TRY(buf_addz(&line, ": ", err));
	TRY(buf_add_utf8(&line, rest, err));
	TRY(buf_addc(&line, '\n', err));
	put_line(t->names, &t->names_full, &line);
	return 0;
}

/* Source files from all over the list, as many as one request takes: the same ones for the same list. */
static struct str_list choose(const struct str_list *files, struct arena *mem)
{
	struct str *source = arena_array(mem, files->n + 1, sizeof(*source));
	struct str_list out = { arena_array(mem, SEARCH_PRIOR_FILES, sizeof(struct str)), 0 };
	size_t n = 0;

	for (size_t i = 0; i < files->n; i++)
		if (symbols_lang(files->p[i]) && !str_ends(files->p[i], STR(".json")))
			source[n++] = files->p[i];
	for (size_t i = 0; i < SEARCH_PRIOR_FILES && i < n; i++)
		out.p[out.n++] = source[n <= SEARCH_PRIOR_FILES ? i : i * n / SEARCH_PRIOR_FILES];
	return out;
}

static int add_part(const char *title, const struct buf *lines, struct buf *out, struct err *err)
{
	if (lines->n == 0)
		return 0;
	TRY(buf_addz(out, title, err));
	return buf_add(out, buf_str(lines), err);
}

int priors_symbols(const struct tool_ctx *whom, const struct str_list *files, struct arena *mem, struct buf *out, struct err *err)
{
	auto_buf struct buf hot = BUF_MAX(PRIORS_HOT), names = BUF_MAX(PRIORS_NAMES);
	struct tool_ctx own = *whom, *ctx = &own; /* before the first turn it has no memory of its own */
	struct told t = { .hot = &hot, .names = &names };
	struct index_answer answer;
	struct tool_path root;
	struct search_request rq = { .what = SEARCH_PRIORS, .pattern = STR("."), .path = STR("."), .files = choose(files, mem) };

	own.mem = mem;
	if (rq.files.n == 0 || path_resolve(ctx, STR("."), PATH_READ, &root, ERR_DISCARD) < 0)
		return 0;
	rq.hidden = path_hidden_beneath(ctx, &root);
	int r = index_ask(ctx, "the outline of the repository", &rq, take_row, &t, &answer, err);
	if (r == -ERR_STOPPED || r == -ERR_CLOSED)
		return r;
	if (r < 0) {
		*err = (struct err){ 0 };
		return 0;
	}
	TRY(add_part("Names that many files use (how many), and where they are defined:\n", &hot, out, err));
	return add_part("What source files define:\n", &names, out, err);
}
