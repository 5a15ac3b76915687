/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* review: a session in which a panel judges a diff. The diff is the first message of its record, so that a resume
 * judges the same one. */
#include "agent/panel.h"

#include "agent/modes.h"
#include "agent/run_priv.h"
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "git/plain.h"
#include "git/range.h"

#define DIFF_MAX      (4 * 1024 * 1024)
#define UNTRACKED_MAX 200
#define NEW_FILE_MAX  (64 * 1024)
#define LOG_SHOWN     10
#define MARK          "DIFF:\n"

/* ---- the diff ---- */

/* The name that an expression begins with: "main" of main~2 and main@{1}. */
static struct str name_of(struct str word)
{
	size_t at = str_find(word, STR("@{")), end = str_find_any(word, STR("^~"));

	return str_head(word, at < end ? at : end);
}

/* Of a branch and a tag of one name git takes the tag, and says so where nobody reads it; and a file of the repository's own
 * directory before both. A run may have left any of these, to be what a person reviews the next one against. */
static int check_one_meaning(struct run *r, struct str word, struct err *err)
{
	static const struct {
		const char *before, *after;
	} forms[] = { { "refs/heads/", "" }, { "refs/tags/", "" }, { "refs/agent6/", "/head" } };
	struct str name = name_of(word), taken, meant;
	int found;

	if (name.n == 0 || git_expr_wrong(name) || str_eqz(name, "HEAD"))
		return 0;
	TRY(found = repo_resolve(r->repo, name, r->mem, &taken, err));
	for (size_t i = 0; i < COUNT(forms) && found == 1; i++) {
		struct str whole = str_printf(r->mem, "%s" STR_FMT "%s", forms[i].before, STR_ARG(name), forms[i].after);
		int there = git_expr_wrong(whole) ? 0 : repo_resolve(r->repo, whole, r->mem, &meant, err);

		if (there < 0)
			return there;
		if (there == 1 && !str_eq(meant, taken))
			return err_set(err, ERR_CONFLICT, "\"" STR_FMT "\" is more than one commit here: " STR_FMT " is %.12s, and git takes %.12s "
				"for it; write the whole name", STR_ARG(str_head(name, 100)), STR_ARG(str_head(whole, 120)), meant.p, taken.p);
	}
	return 0;
}

/* A word of the person: whatever git takes for a commit, or the id of a run, whose chain is meant. */
static int resolve(struct run *r, struct str word, struct str *sha, struct err *err)
{
	struct str chain = str_printf(r->mem, "refs/agent6/" STR_FMT "/head", STR_ARG(word));

	TRY(check_one_meaning(r, word, err));
	int found = repo_resolve(r->repo, word, r->mem, sha, err);

	if (found == 0 && git_run_id_ok(word))
		found = repo_read_ref(r->repo, chain, r->mem, sha, err);
	if (found != 0)
		return found < 0 ? found : 0;
	return err_set(err, ERR_NOENT, "\"" STR_FMT "\" is no commit here (a branch, a tag, an object name, an expression of them "
		"such as HEAD~3 or @{u}, or a run's id)", STR_ARG(str_head(word, 200)));
}

/* The two ends of a change; an empty `from` is before the first commit. */
static int resolve_range(struct run *r, struct str *from, struct str *to, struct err *err)
{
	struct range range;
	int found;

	TRY(range_parse(r->p->review_range, &range, err));
	TRY(resolve(r, range.to, to, err));
	if (range.how == RANGE_ONE) {
		found = repo_resolve(r->repo, str_printf(r->mem, STR_FMT "^", STR_ARG(*to)), r->mem, from, err);
		if (found == 0 && r->git_host.files && plain_is_cut(r->git_host.files, *to, r->mem))
			return err_set(err, ERR_NOENT, "--range: what came before \"" STR_FMT "\" is not in this shallow clone, so that all its files "
				"would be its change; git fetch --unshallow brings it", STR_ARG(str_head(range.to, 100)));
		return found < 0 ? found : 0;
	}
	TRY(resolve(r, range.from, from, err));
	if (range.how == RANGE_TWO)
		return 0;
	found = repo_merge_base(r->repo, *from, *to, r->mem, from, err);
	if (found != 0)
		return found < 0 ? found : 0;
	return err_set(err, ERR_NOENT, "--range: \"" STR_FMT "\" and \"" STR_FMT "\" have no commit in common; FROM..TO compares them as they are",
		STR_ARG(str_head(range.from, 100)), STR_ARG(str_head(range.to, 100)));
}

static int add_new_file(struct run *r, struct str name, struct buf *out, struct err *err)
{
	/* as git spells them: a name never begins a line of its own */
	struct str a = cquote_dup(r->mem, str_printf(r->mem, "a/" STR_FMT, STR_ARG(name)));
	struct str b = cquote_dup(r->mem, str_printf(r->mem, "b/" STR_FMT, STR_ARG(name)));
	auto_buf struct buf text = BUF_MAX(NEW_FILE_MAX);
	struct str rest;
	size_t lines = 0;

	if (!gate_read(r->roots[0].dirfd, str_dupz(r->mem, name), &text) || memchr(text.p ? text.p : "", '\0', text.n))
		return buf_addf(out, err, "diff --git " STR_FMT " " STR_FMT "\nnew file, not shown\n", STR_ARG(a), STR_ARG(b));
	for (rest = buf_str(&text); rest.n > 0; lines++)
		str_line(&rest);
	TRY(buf_addf(out, err, "diff --git " STR_FMT " " STR_FMT "\nnew file mode 100644\n--- /dev/null\n+++ " STR_FMT
		"\n@@ -0,0 +1,%zu @@\n", STR_ARG(a), STR_ARG(b), STR_ARG(b), lines));
	for (rest = buf_str(&text); rest.n > 0;) {
		struct str line = str_trim_suffix(str_line(&rest), STR("\n"));

		TRY(buf_addc(out, '+', err));
		TRY(buf_add_utf8(out, line, err));
		TRY(buf_addc(out, '\n', err));
	}
	return 0;
}

static bool is_in(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], name))
			return true;
	return false;
}

int review_untracked(struct run *r, const struct str_list *skip, struct arena *mem, struct buf *out, struct err *err)
{
	struct repo_status st;

	TRY(repo_status(r->repo, mem, &st, err));
	for (size_t i = 0, n = 0; i < st.untracked.n && n < UNTRACKED_MAX; i++)
		if (!str_ends(st.untracked.p[i], STR("/")) && !is_in(skip, st.untracked.p[i])) {
			TRY(add_new_file(r, st.untracked.p[i], out, err));
			n++;
		}
	return 0;
}

/* ---- some paths of it ---- */

static bool is_beneath(struct str name, const struct str_list *paths)
{
	for (size_t i = 0; i < paths->n; i++) {
		struct str p = str_trim_suffix(str_trim_prefix(paths->p[i], STR("./")), STR("/"));

		if (p.n == 0 || str_eqz(p, ".") || str_eq(name, p) ||
			(str_starts(name, p) && name.p[p.n] == '/'))
			return true;
	}
	return false;
}

/* A name as a diff spells it, without its side. */
static bool names(struct str spelled, const char *side, const struct str_list *paths, struct arena *mem)
{
	struct str name = spelled;

	if (str_starts(spelled, STR("\"")) && cquote_take(&spelled, mem, &name, ERR_DISCARD) < 0)
		return false;
	name = str_trim_suffix(name, STR("\t")); /* git's, behind a name with a blank */
	return is_beneath(str_trim_prefix(name, str_from(side)), paths);
}

/* "a/NAME b/NAME", which is all that a change of mode or of a binary has. */
static bool header_names(struct str both, const struct str_list *paths, struct arena *mem)
{
	if (str_starts(both, STR("\"")))
		return names(both, "a/", paths, mem);
	return both.n > 5 && names(str_head(both, (both.n - 1) / 2), "a/", paths, mem);
}

/* The parts of a diff that are about files beneath these paths, from the repository's top. */
static int keep_paths(struct str diff, const struct str_list *paths, struct arena *mem, struct buf *out, struct err *err)
{
	static const struct {
		const char *head, *side;
	} heads[] = { { "--- ", "a/" }, { "+++ ", "b/" }, { "rename from ", "" }, { "rename to ", "" }, { "copy to ", "" } };

	while (diff.n > 0) {
		struct str part = diff, line = str_trim_suffix(str_line(&diff), STR("\n"));
		bool wanted = header_names(str_trim_prefix(line, STR("diff --git ")), paths, mem), in_head = true;

		while (diff.n > 0 && !str_starts(diff, STR("diff --git "))) {
			line = str_trim_suffix(str_line(&diff), STR("\n"));
			in_head = in_head && !str_starts(line, STR("@@ "));
			for (size_t i = 0; in_head && i < COUNT(heads); i++)
				if (str_starts(line, str_from(heads[i].head)))
					wanted = wanted || names(str_skip(line, strlen(heads[i].head)), heads[i].side, paths, mem);
		}
		if (wanted)
			TRY(buf_add(out, str_head(part, part.n - diff.n), err));
	}
	return 0;
}

static int find_diff(struct run *r, struct buf *out, struct err *err)
{
	struct str from = STR(""), to, patch;

	if (r->p->review_range.n > 0) {
		TRY(resolve_range(r, &from, &to, err));
		TRY(repo_diff(r->repo, from, to, NULL, r->mem, &patch, err));
		return buf_add_utf8(out, patch, err);
	}
	if (r->unborn)
		return err_set(err, ERR_NOENT, "there is no commit yet to compare with");
	TRY(resolve(r, r->p->review_base.n > 0 ? r->p->review_base : STR("HEAD"), &from, err));
	TRY(repo_diff_work(r->repo, from, r->p->review_base.n > 0, r->mem, &patch, err));
	TRY(buf_add_utf8(out, patch, err));
	return review_untracked(r, &(struct str_list){ 0 }, r->mem, out, err);
}

/* ---- the session ---- */

int review_open(struct run *r, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(DIFF_MAX + (64 * 1024)), whole = BUF_MAX(DIFF_MAX);

	r->conv = conversation_new();
	TRY(conversation_set_prompt(r->conv, STR(""), STR(""), err));
	TRY(buf_addz(&text, "TASK:\n", err));
	TRY(buf_add_utf8(&text, str_trim(r->p->task), err));
	TRY(buf_addz(&text, "\n\n" MARK, err));
	TRY(find_diff(r, &whole, err));
	if (r->p->review_paths.n > 0)
		TRY(keep_paths(buf_str(&whole), &r->p->review_paths, r->mem, &text, err));
	else
		TRY(buf_add(&text, buf_str(&whole), err));
	TRY(conversation_add_user(r->conv, buf_str(&text), err));
	return keep_put(r->keep, RECORD_MESSAGE, 0, STR(""), conversation_get(r->conv, 0), err);
}

static struct str recorded_diff(struct run *r)
{
	auto_json json_t *j = NULL;
	struct str text;
	size_t at;

	if (conversation_count(r->conv) == 0 || json_decode(conversation_get(r->conv, 0), JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return STR("");
	text = json_get_str(json_array_get(json_object_get(j, "content"), 0), "text");
	at = str_find(text, STR("\n" MARK));
	return at < text.n ? str_dup(r->mem, str_skip(text, at + sizeof(MARK))) : STR("");
}

static int finish(struct run *r, const struct panel *p, struct err *err)
{
	auto_buf struct buf report = BUF_MAX(RECORD_FILE_MAX), json = BUF_MAX(RECORD_FILE_MAX);

	TRY(panel_markdown(p, &report, err));
	TRY(panel_json(p, &json, err));
	r->result = str_dup(r->mem, buf_str(&report));
	r->review_json = str_dup(r->mem, buf_str(&json));
	r->summary = p->blocked ? STR("the review blocks") : p->abstains == p->n ? STR("no reviewer gave a verdict")
		: p->blocks > 0 ? STR("the review asks for changes") : STR("no objection");
	run_stop(r, p->abstains == p->n ? REASON_INCONCLUSIVE : p->blocked ? REASON_BLOCKED : REASON_REVIEWED, STR(""));
	return 0;
}

static int nothing(struct run *r)
{
	r->result = STR("There is nothing to review.\n");
	r->summary = STR("there is nothing to review");
	r->review_json = STR("{\"blocked\":false,\"blocks\":0,\"abstains\":0,\"seats\":[]}");
	run_stop(r, REASON_REVIEWED, STR(""));
	return 0;
}

/* What the person wants looked at, beside what the review is for. */
static int add_steers(struct run *r, struct str *task, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	TRY(links_pump(r->links, 0, err));
	while (links_take_steer(r->links, &b))
		if (str_trim(buf_str(&b)).n > 0)
			*task = str_printf(r->mem, STR_FMT "\n" PERSON_SAYS STR_FMT, STR_ARG(*task), STR_ARG(str_trim(buf_str(&b))));
	return 0;
}

static struct str newest_commits(struct run *r)
{
	auto_buf struct buf b = BUF_MAX(16384);
	struct repo_commit *c;
	size_t n;

	if (r->unborn || repo_commits(r->repo, STR(""), r->st.base_sha, LOG_SHOWN, r->mem, &c, &n, ERR_DISCARD) < 0)
		return STR("");
	for (size_t i = 0; i < n; i++)
		if (buf_addf(&b, ERR_DISCARD, STR_FMT " ", STR_ARG(str_head(c[i].sha, 12))) < 0 ||
			buf_add_utf8(&b, str_head(c[i].subject, 200), ERR_DISCARD) < 0 || buf_addc(&b, '\n', ERR_DISCARD) < 0)
			break;
	return str_dup(r->mem, buf_str(&b));
}

static int judge(struct run *r, struct err *err)
{
	auto_buf struct buf agents = BUF_MAX(256 * 1024);
	struct panel_ask ask = { .task = r->p->task, .diff = recorded_diff(r), .personas = r->p->review_seats,
		.decision = panel_decision_from(r->p->review_decision), .quorum = r->p->review_quorum, .trigger = STR("command"),
		.iteration = 1, .at_once = CALLS_AT_ONCE, .explore = str_eqz(r->p->review_tier, "explore") };
	struct panel p;

	r->iterations = 1;
	TRY(add_steers(r, &ask.task, err));
	if (str_trim(ask.diff).n == 0)
		return nothing(r);
	if (gate_read(r->roots[0].dirfd, "AGENTS.md", &agents))
		ask.rules = buf_str(&agents);
	ask.log = newest_commits(r);
	TRY(loop_put_state(r, 1, err));
	TRY(panel_run(r, &ask, r->mem, &p, err));
	return finish(r, &p, err);
}

int review_session(struct run *r, struct err *err)
{
	struct err why = { 0 };
	int rc = judge(r, &why);

	if (rc == 0)
		return 0;
	if (r->links->peer[PEER_MONITOR].gone)
		return err_set(err, ERR_CLOSED, "%s", why.msg);
	return loop_failed(r, rc, &why, err);
}
