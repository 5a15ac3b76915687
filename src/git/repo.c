/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/plain.h"
#include "git/repo_priv.h"

#include <string.h>

#define ARGS_MAX (GIT_DRIVERS_MAX + 4096)

static const char no_tree_sha1[] = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
static const char no_tree_sha256[] = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

struct str repo_no_tree(struct str like)
{
	return str_from(like.n == 64 ? no_tree_sha256 : no_tree_sha1);
}

struct str repo_zeros(struct str like)
{
	return str_head(str_from(zeros), like.n);
}

void repo_keep_sha(char to[SHA_SPACE], struct str sha)
{
	BUG_IF(sha.n >= SHA_SPACE);
	memcpy(to, sha.n > 0 ? sha.p : "", sha.n);
	to[sha.n] = '\0';
}

struct str_list names_take(struct name_list *l, struct arena *mem)
{
	struct str_list out = { arena_array(mem, l->n + 1, sizeof(struct str)), l->n };

	if (l->n > 0)
		memcpy(out.p, l->p, l->n * sizeof(struct str));
	vec_fini(l);
	return out;
}

/* The words of an operation, with the drivers switched off. */
static int with_drivers(const struct repo *r, enum git_op op, const struct str *args, size_t n, struct arena *mem,
	struct str_list *out, struct err *err)
{
	size_t drivers = r->drivers.n;

	if (n > ARGS_MAX - drivers)
		return err_set(err, ERR_LIMIT, "%s: more than %d arguments", gitop_name(op), ARGS_MAX);
	*out = (struct str_list){ arena_array(mem, drivers + n + 1, sizeof(*out->p)), drivers + n };
	if (drivers > 0)
		memcpy(out->p, r->drivers.p, drivers * sizeof(*args));
	if (n > 0)
		memcpy(out->p + drivers, args, n * sizeof(*args));
	return 0;
}

int repo_run(struct repo *r, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err)
{
	struct str_list all;

	TRY(with_drivers(r, op, args, n, mem, &all, err));
	return r->host->run(r->host->self, op, all.p, all.n, in, mem, out, err);
}

/* ---- ahead ---- */

static struct str chain_ref(const struct repo *r, struct arena *mem)
{
	return str_printf(mem, "refs/agent6/" STR_FMT "/head", STR_ARG(r->run_id));
}

/* Its own files say where the chain stands. What they name is looked at by the git that works on it first. */
static bool knows_chain(struct repo *r, struct arena *mem)
{
	struct str tip = STR("");

	if (r->tip_known || !r->files || plain_ref(r->files, chain_ref(r, mem), mem, &tip) < 0)
		return r->tip_known;
	repo_keep_sha(r->tip, tip);
	r->tip_tree[0] = '\0';
	r->tip_known = true;
	return true;
}

int repo_begin(struct repo *r, enum git_op op, const struct str *args, size_t n, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str_list all;

	if (!r->host->begin)
		return 0;
	TRY(with_drivers(r, op, args, n, tmp, &all, err));
	return r->host->begin(r->host->self, op, all.p, all.n, err);
}

int repo_ahead(struct repo *r, unsigned what, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	const struct str chain = chain_ref(r, tmp), log[] = { str_printf(tmp, "%d", REPO_COMMITS_AHEAD), STR("HEAD") };

	if (what & AHEAD_STATUS)
		TRY(repo_begin(r, GIT_STATUS, NULL, 0, err));
	if ((what & AHEAD_CHAIN) && !knows_chain(r, tmp))
		TRY(repo_begin(r, GIT_RESOLVE, &chain, 1, err));
	if ((what & AHEAD_FILES) && !r->files)
		TRY(repo_begin(r, GIT_FILES, NULL, 0, err));
	return what & AHEAD_COMMITS ? repo_begin(r, GIT_LOG, log, COUNT(log), err) : 0;
}

/* A line that ends in a colon is continued by an indented one, or after an empty one. */
static struct str with_more(struct str line, struct str rest, struct arena *mem)
{
	if (!str_ends(line, STR(":")))
		return line;
	while (rest.n > 0) {
		struct str more = str_trim(str_line(&rest));

		if (more.n > 0)
			return str_printf(mem, STR_FMT " " STR_FMT, STR_ARG(line), STR_ARG(more));
	}
	return line;
}

/* The line that says what went wrong: the first "fatal: " or "error: ", else the first one. */
static struct str complaint(struct str errs, struct arena *mem)
{
	static const char *const marks[] = { "fatal: ", "error: " };
	struct str first = STR("");

	while (errs.n > 0) {
		struct str line = str_trim(str_line(&errs));

		for (size_t i = 0; i < COUNT(marks); i++)
			if (str_starts(line, str_from(marks[i])))
				return with_more(str_skip(line, strlen(marks[i])), errs, mem);
		if (first.n == 0)
			first = line;
	}
	return first;
}

int repo_failed(const struct git_result *res, const char *doing, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str why = complaint(res->errs, tmp);

	if (why.n == 0)
		return err_set(err, ERR_REMOTE, "%s: git ended with status %d", doing, res->code);
	if (str_find(why, STR("emory")) < why.n) /* "Out of memory", "Cannot allocate memory" */
		return err_set(err, ERR_REMOTE, "%s: " STR_FMT "; git has %d MiB: is there a very large .gitignore or .gitattributes?", doing,
			STR_ARG(why), GIT_MEMORY_MB);
	return err_set(err, ERR_REMOTE, "%s: " STR_FMT, doing, STR_ARG(why));
}

int repo_must(struct repo *r, const char *doing, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct git_result *out, struct err *err)
{
	if (repo_run(r, op, args, n, in, mem, out, err) < 0)
		return err_wrap(err, "%s", doing);
	return out->code == 0 ? 0 : repo_failed(out, doing, err);
}

int repo_sha(struct repo *r, const char *doing, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct str *sha, struct err *err)
{
	struct git_result res;
	struct str got;

	TRY(repo_must(r, doing, op, args, n, in, mem, &res, err));
	got = str_trim(res.out);
	if (!git_sha_ok(got))
		return err_set(err, ERR_REMOTE, "%s: git printed no object name", doing);
	*sha = got;
	return 0;
}

/* "driver:NAME" for "filter.NAME.clean" and the like, "merger:NAME" for "merge.NAME.driver"; empty for a setting
 * that names no program. */
static struct str driver_word(struct str key, struct arena *mem)
{
	bool merger = str_starts(key, STR("merge."));
	struct str rest = str_skip(key, strlen(merger ? "merge." : "filter."));
	size_t dot = str_rfind(rest, '.');

	if (dot >= rest.n || dot == 0 || dot > 128 || (merger && !str_eqz(str_skip(rest, dot + 1), "driver")))
		return STR("");
	return str_printf(mem, "%s" STR_FMT, merger ? GIT_MERGER_PREFIX : GIT_DRIVER_PREFIX, STR_ARG(str_head(rest, dot)));
}

/* Directories of such a repository are made set-group-id, which no process of ours may do. */
static int check_shared(struct str value, struct err *err)
{
	static const char *const private[] = { "umask", "false", "0", "no", "off" };

	for (size_t i = 0; i < COUNT(private); i++)
		if (str_eqz(value, private[i]))
			return 0;
	err_set(err, ERR_UNSUPPORTED, "the repository is shared with others (core.sharedRepository), and agent6 makes no "
				      "set-group-id directory, which git would need there");
	err_hint(err, "work in a clone of it; or, if nobody else writes here: git config core.sharedRepository umask");
	return -ERR_UNSUPPORTED;
}

/* Each name once. A name that cannot be said is left: its program cannot run in the cell either. */
static int load_drivers(struct repo *r, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct git_result res;
	struct name_list names = { 0 };
	struct str shared = STR("umask");

	TRY(repo_run(r, GIT_DRIVERS, NULL, 0, STR(""), tmp, &res, err));
	if (res.code > 1) /* 1: there are none */
		return repo_failed(&res, "read the repository's configuration", err);
	for (struct str rest = res.out; rest.n > 0 && names.n < GIT_DRIVERS_MAX;) {
		struct str value = str_cut(&rest, '\0'), key = str_cut(&value, '\n');
		struct str word = str_starts(key, STR("core.")) ? STR("") : driver_word(key, r->mem);
		bool seen = word.n == 0;

		if (str_starts(key, STR("core.")))
			shared = value;

		for (size_t i = 0; i < word.n && !seen; i++)
			seen = !strchr(":abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", word.p[i]);
		for (size_t i = 0; i < names.n && !seen; i++)
			seen = str_eq(names.p[i], word);
		if (!seen)
			*vec_new(&names) = word;
	}
	r->drivers = names_take(&names, r->mem);
	return check_shared(shared, err);
}

int repo_open(const struct git_host *host, int workspace_fd, struct str run_id, struct repo **out, struct err *err)
{
	struct repo *r = mem_alloc(sizeof(*r));

	*r = (struct repo){ .host = host, .workspace_fd = workspace_fd, .mem = arena_new() };
	r->run_id = str_dup(r->mem, run_id);
	if (host->files && plain_config(host->files))
		r->files = host->files;
	int got = r->files ? 0 : load_drivers(r, err);

	if (got < 0) {
		repo_close(r);
		return got;
	}
	*out = r;
	return 0;
}

void repo_close(struct repo *r)
{
	if (!r)
		return;
	arena_free(r->mem);
	vec_fini(&r->left);
	free(r);
}

static void read_header(struct str line, struct repo_head *head)
{
	struct str oid = str_trim_prefix(line, STR("# branch.oid "));
	struct str name = str_trim_prefix(line, STR("# branch.head "));

	if (oid.n < line.n) {
		head->unborn = !git_sha_ok(oid);
		head->sha = head->unborn ? STR("") : oid;
	}
	if (name.n < line.n)
		head->branch = str_eqz(name, "(detached)") ? STR("") : name;
}

bool status_next(struct str *rest, struct status_entry *e, struct repo_head *head)
{
	while (rest->n > 0) {
		struct str line = str_cut(rest, '\0'), name = line, field[11] = { 0 };
		int fields = line.n == 0 ? 0 : line.p[0] == '1' ? 8 : line.p[0] == 'u' ? 10 : 1;

		if (line.n > 0 && line.p[0] == '#')
			read_header(line, head);
		if (line.n < 3 || line.p[0] == '#' || !strchr("1u?", line.p[0]))
			continue;
		for (int i = 0; i < fields; i++)
			field[i] = str_cut(&name, ' ');
		*e = (struct status_entry){ line.p[0], line.p[2], line.n > 3 ? line.p[3] : ' ', name, field[4], field[7] };
		return true;
	}
	return false;
}

/* A file with a content filter looks changed wherever git must read it to know: only its filter could tell. It is in no step
 * either way. */
static int add_unfiltered(struct repo *r, struct name_list *maybe, struct arena *mem, struct name_list *dirty, struct err *err)
{
	struct name_list filtered = { 0 };
	int rc = repo_take_filtered(r, maybe, mem, &filtered, err);

	for (size_t i = 0; i < maybe->n && rc == 0; i++)
		*vec_new(dirty) = maybe->p[i];
	for (size_t i = 0; i < filtered.n && rc == 0 && !r->left_known; i++)
		*vec_new(&r->left) = repo_left_mark(r, filtered.p[i]);
	repo_left_sort(r);
	r->left_known = true;
	vec_fini(&filtered);
	vec_fini(maybe);
	return rc;
}

int repo_status(struct repo *r, struct arena *mem, struct repo_status *out, struct err *err)
{
	struct repo_status st = { .head = { .unborn = true } };
	struct name_list dirty = { 0 }, maybe = { 0 }, untracked = { 0 };
	struct status_entry e;
	struct git_result res;
	int rc;

	TRY(repo_must(r, "read the state of the repository", GIT_STATUS, NULL, 0, STR(""), mem, &res, err));
	for (struct str rest = res.out; status_next(&rest, &e, &st.head);) {
		if (e.kind == '?')
			*vec_new(&untracked) = e.name;
		else if (e.kind == '1' && e.index == '.' && e.disk == 'M')
			*vec_new(&maybe) = e.name;
		else
			*vec_new(&dirty) = e.name;
		st.unmerged |= e.kind == 'u';
	}
	rc = add_unfiltered(r, &maybe, mem, &dirty, err);
	st.dirty = names_take(&dirty, mem);
	st.untracked = names_take(&untracked, mem);
	*out = st;
	return rc;
}

int repo_head(struct repo *r, struct arena *mem, struct repo_head *out, struct err *err)
{
	struct repo_status st;

	TRY(repo_status(r, mem, &st, err));
	*out = st.head;
	return 0;
}

int repo_files(struct repo *r, size_t max, struct arena *mem, struct str_list *out, size_t *total, struct err *err)
{
	struct name_list names = { 0 };
	struct git_result res;
	size_t n = 0;

	if (r->files && plain_files(r->files, max, mem, out, total))
		return 0;
	TRY(repo_must(r, "list the files of the repository", GIT_FILES, NULL, 0, STR(""), mem, &res, err));
	for (struct str rest = res.out; rest.n > 0; n++) {
		struct str name = str_cut(&rest, '\0');

		if (n < max)
			*vec_new(&names) = name;
	}
	*out = names_take(&names, mem);
	*total = n;
	return 0;
}

int repo_commits(struct repo *r, struct str from, struct str to, size_t max, struct arena *mem,
	struct repo_commit **out, size_t *n, struct err *err)
{
	const struct str args[] = { str_printf(mem, "%zu", max < 9999999 ? max : 9999999), to, from };
	struct {
		VEC(struct repo_commit);
	} list = { 0 };
	struct git_result res;

	TRY(repo_must(r, "list commits", GIT_LOG, args, from.n > 0 ? 3 : 2, STR(""), mem, &res, err));
	for (struct str rest = res.out; rest.n > 0;) {
		struct repo_commit c = { .sha = str_cut(&rest, '\0') };

		if (str_to_i64(str_cut(&rest, '\0'), &c.time_s, ERR_DISCARD) < 0 || !git_sha_ok(c.sha))
			break;
		c.subject = str_cut(&rest, '\0');
		*vec_new(&list) = c;
	}
	*n = list.n;
	*out = arena_array(mem, list.n + 1, sizeof(**out));
	if (list.n > 0)
		memcpy(*out, list.p, list.n * sizeof(**out));
	vec_fini(&list);
	return 0;
}

/* An operation that prints one object name, or fails. */
static int ask_name(struct repo *r, enum git_op op, const struct str *args, size_t n, struct arena *mem, struct str *sha,
	struct err *err)
{
	struct git_result res;
	struct str got;

	TRY(repo_run(r, op, args, n, STR(""), mem, &res, err));
	got = str_trim(res.out);
	if (res.code != 0 || !git_sha_ok(got))
		return 0;
	*sha = got;
	return 1;
}

int repo_read_ref(struct repo *r, struct str rev, struct arena *mem, struct str *sha, struct err *err)
{
	return ask_name(r, GIT_RESOLVE, &rev, 1, mem, sha, err);
}

int repo_resolve(struct repo *r, struct str expr, struct arena *mem, struct str *sha, struct err *err)
{
	const char *wrong = git_expr_wrong(expr);

	if (wrong)
		return err_set(err, ERR_INVALID, "%s", wrong);
	return ask_name(r, GIT_REVISION, &expr, 1, mem, sha, err);
}

int repo_merge_base(struct repo *r, struct str a, struct str b, struct arena *mem, struct str *sha, struct err *err)
{
	return ask_name(r, GIT_MERGE_BASE, (const struct str[]){ a, b }, 2, mem, sha, err);
}

int repo_chain(struct repo *r, struct arena *mem, struct str *sha, struct err *err)
{
	struct str tip = STR("");

	if (!git_run_id_ok(r->run_id))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a run id", STR_ARG(r->run_id));
	if (!knows_chain(r, mem)) {
		TRY(repo_read_ref(r, chain_ref(r, mem), mem, &tip, err));
		repo_keep_sha(r->tip, tip);
		r->tip_tree[0] = '\0';
		r->tip_known = true;
	}
	if (!r->tip[0])
		return 0;
	*sha = str_dup(mem, str_from(r->tip));
	return 1;
}

int repo_newest_chain(struct repo *r, struct arena *mem, struct str *run_id, struct str *sha, struct err *err)
{
	struct git_result res;
	struct str id, tip;
	size_t at;

	TRY(repo_run(r, GIT_NEWEST, NULL, 0, STR(""), mem, &res, err));
	id = str_trim(res.out);
	at = str_find(id, STR("refs/agent6/"));
	tip = str_head(id, at);
	id = str_trim_prefix(str_trim_suffix(str_skip(id, at), STR("/head")), STR("refs/agent6/"));
	if (res.code != 0 || !git_sha_ok(tip) || !git_run_id_ok(id))
		return 0;
	*run_id = id;
	*sha = tip;
	return 1;
}

int repo_branch_exists(struct repo *r, struct str name, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str sha;

	if (!git_branch_ok(name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a branch name", STR_ARG(name));
	return repo_read_ref(r, str_printf(tmp, "refs/heads/" STR_FMT, STR_ARG(name)), tmp, &sha, err);
}

int repo_is_ancestor(struct repo *r, struct str a, struct str b, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	const struct str args[] = { a, b };
	struct git_result res;

	TRY(repo_run(r, GIT_IS_ANCESTOR, args, 2, STR(""), tmp, &res, err));
	if (res.code > 1)
		return repo_failed(&res, "compare commits", err);
	return res.code == 0;
}

int repo_changed(struct repo *r, struct str from, struct str to, struct arena *mem, struct message_path **out, size_t *n,
	struct err *err)
{
	const struct str args[] = { from.n > 0 ? from : repo_no_tree(to), to };
	struct {
		VEC(struct message_path);
	} list = { 0 };
	struct git_result res;
	struct change ch;
	int rc;

	TRY(repo_must(r, "compare trees", GIT_DIFF_RAW, args, 2, STR(""), mem, &res, err));
	while ((rc = change_next(&res.out, &ch, err)) > 0)
		*vec_new(&list) = (struct message_path){ ch.name, str_eqz(ch.mode_old, "000000") };
	*n = list.n;
	*out = arena_array(mem, list.n + 1, sizeof(**out));
	if (list.n > 0)
		memcpy(*out, list.p, list.n * sizeof(**out));
	vec_fini(&list);
	return rc;
}

static int diff_as(struct repo *r, enum git_op op, struct str from, struct str to, const struct str_list *paths,
	struct arena *mem, struct str *text, struct err *err)
{
	size_t n = 2 + (paths ? paths->n : 0);
	struct str *args = arena_array(mem, n, sizeof(*args));
	struct git_result res;

	args[0] = from.n > 0 ? from : repo_no_tree(to);
	args[1] = to;
	if (paths && paths->n > 0)
		memcpy(args + 2, paths->p, paths->n * sizeof(*args));
	TRY(repo_must(r, "compare commits", op, args, n, STR(""), mem, &res, err));
	*text = res.out;
	return 0;
}

int repo_diff(struct repo *r, struct str from, struct str to, const struct str_list *paths, struct arena *mem,
	struct str *patch, struct err *err)
{
	return diff_as(r, GIT_DIFF, from, to, paths, mem, patch, err);
}

int repo_diff_stat(struct repo *r, struct str from, struct str to, const struct str_list *paths, struct arena *mem,
	struct str *text, struct err *err)
{
	return diff_as(r, GIT_DIFF_STAT, from, to, paths, mem, text, err);
}

int repo_diff_work(struct repo *r, struct str from, bool merge_base, struct arena *mem, struct str *patch, struct err *err)
{
	struct git_result res;

	TRY(repo_must(r, "compare the work tree", merge_base ? GIT_DIFF_BASE : GIT_DIFF_WORK, &from, 1, STR(""), mem, &res, err));
	*patch = res.out;
	return 0;
}

int repo_log_names(struct repo *r, struct str to, size_t max, struct arena *mem, struct str *out, struct err *err)
{
	const struct str args[] = { str_printf(mem, "%zu", max < 9999999 ? max : 9999999), to };
	struct git_result res;

	TRY(repo_must(r, "list what commits changed", GIT_LOG_NAMES, args, COUNT(args), STR(""), mem, &res, err));
	*out = res.out;
	return 0;
}
