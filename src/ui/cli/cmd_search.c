/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"
#include "view/search.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define HITS_MAX 10000

struct search_args {
	struct str pattern, session;
	bool regex, ignore_case, json;
};

static const struct field fields[] = {
	{ "pattern", &field_str, offsetof(struct search_args, pattern), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.max = 4096, .help = "The words to look for." },
	{ "regex", &field_bool, offsetof(struct search_args, regex),
		.help = "They are a regular expression, over the text as it stands in the record." },
	{ "ignore-case", &field_bool, offsetof(struct search_args, ignore_case), .help = "Upper and lower case are the same." },
	{ "session", &field_str, offsetof(struct search_args, session), .max = 96, .help = "Only in this session." },
	{ "json", &field_bool, offsetof(struct search_args, json), .help = "Print one JSON array." },
};

struct printing {
	const struct session_ref *ref;
	bool json, marks;
	int64_t hits, sessions;
	const char *last;
};

static int print_json(const struct printing *p, const struct search_hit *h, struct err *err)
{
	auto_json json_t *o = json_object();
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	if (json_object_set_new(o, "run_id", json_text(str_from(p->ref->id))) < 0 ||
		json_object_set_new(o, "file", json_text(str_from(h->file))) < 0 ||
		json_object_set_new(o, "line", json_integer(h->line)) < 0 ||
		json_object_set_new(o, "turn", h->turn > 0 ? json_integer(h->turn) : json_null()) < 0 ||
		json_object_set_new(o, "type", h->type.n > 0 ? json_text(h->type) : json_null()) < 0 ||
		json_object_set_new(o, "who", json_text(h->who)) < 0 || json_object_set_new(o, "text", json_text(h->snippet)) < 0 ||
		json_object_set_new(o, "match", json_text(str_head(str_skip(h->snippet, h->mark), h->mark_n))) < 0)
		return err_set(err, ERR_SYS, "no JSON");
	TRY(json_add(&b, o, err));
	cli_out("%s", p->hits > 1 ? ",\n " : "[");
	cli_json(buf_str(&b));
	return 0;
}

/* ID  turn N  who  the line, with the match marked where colours are shown. */
static void print_line(const struct printing *p, const struct search_hit *h)
{
	struct str before = str_head(h->snippet, h->mark), match = str_head(str_skip(h->snippet, h->mark), h->mark_n);
	struct str after = str_skip(h->snippet, h->mark + h->mark_n);
	char turn[32] = "";

	if (h->turn > 0)
		snprintf(turn, sizeof(turn), "turn %lld", (long long)h->turn);
	cli_out("%s  %-8s  " STR_FMT "%*s  " STR_FMT "%s" STR_FMT "%s" STR_FMT "\n", p->ref->id, turn, STR_ARG(h->who),
		h->who.n < 7 ? 7 - (int)h->who.n : 0, "", STR_ARG(before), p->marks ? "\x1b[1;31m" : "", STR_ARG(match),
		p->marks ? "\x1b[0m" : "", STR_ARG(after));
}

static int on_hit(void *self, const struct search_hit *h, struct err *err)
{
	struct printing *p = self;

	p->hits++;
	if (p->last != p->ref->id) {
		p->last = p->ref->id;
		p->sessions++;
	}
	if (p->json)
		TRY(print_json(p, h, err));
	else
		print_line(p, h);
	return p->hits == HITS_MAX;
}

static int search_all(const struct place *place, const struct session_entry *list, size_t n, struct search *s,
	struct printing *p, struct arena *mem, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		autoclose int record = -1;
		int r = dir_open(AT_FDCWD, session_path(place->repo_dir, &list[i].ref, "record", mem), &record, err);

		if (r == -ERR_NOENT)
			continue;
		TRY(r);
		p->ref = &list[i].ref;
		TRY(r = search_record(s, record, on_hit, p, err));
		if (r > 0)
			return r;
	}
	return 0;
}

static int run_search(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct search_args *args = decoded;
	const struct search_spec spec = { args->pattern, args->regex, args->ignore_case };
	struct printing p = { .json = args->json, .marks = term_is_tty(STDOUT_FILENO) && term_style_env().color };
	auto_search struct search *s = NULL;
	autoclose int dir = -1;
	struct session_entry *list, one = { 0 };
	struct place place;
	size_t n = 1;
	int r;

	TRY(search_new(&spec, &s, err));
	if (args->session.n > 0) {
		TRY(runs_find(ctx, args->session, SESSION_ANY, &place, &one.ref, err));
		list = &one;
	} else {
		TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
		TRY(session_list(place.repo_dir, SESSION_ANY, ctx->mem, &list, &n, err));
	}
	if (n > 0) {
		TRY(dir_open(AT_FDCWD, place.repo_dir, &dir, err));
		TRY(runs_confine(&dir, 1, err));
	}
	TRY(r = search_all(&place, list, n, s, &p, ctx->mem, err));
	if (args->json)
		cli_out("%s]\n", p.hits == 0 ? "[" : "");
	if (r > 0)
		cli_note("there is more: only the first %d places are shown", HITS_MAX);
	cli_note("%lld place%s in %lld session%s", (long long)p.hits, p.hits == 1 ? "" : "s", (long long)p.sessions,
		p.sessions == 1 ? "" : "s");
	return p.hits > 0 ? 0 : 1;
}

static const struct command commands[] = {
	{ .name = "history search", .help = "look for words in what sessions left",
		.about = "Journal, conversation, transcripts, plans and answers of this repository. What stands in several of them\n"
			 "is shown once. Exit status 1 when it is nowhere.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct search_args), .run = run_search,
		.needs_no_root_check = true },
};

const struct command_group commands_search = { commands, COUNT(commands), "history search" };
