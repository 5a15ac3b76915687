/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/agent.h"
#include "agent/gate_ask.h"
#include "agent/implement.h"
#include "agent/modes.h"
#include "agent/revise.h"
#include "agent/settings.h"
#include "agent/tasks.h"
#include "base/time.h"
#include "fmt/names.h"
#include "fmt/pack.h"
#include "sandbox/confine.h"
#include "session/chain.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <fcntl.h>

#define PICTURES_MAX 16 /* of a conversation: each goes along with each request */
#define PARAMS_MAX  (16 * 1024 * 1024)
#define PROMPT_MAX  (1024 * 1024)
#define AGENTS_LONG 40000 /* characters of AGENTS.md that the operator is told about */
#define NAMES_SHOWN 10
#define TASK_SHOWN  4000 /* the same in app/start_manifest.c */

struct waiting {
	struct arena *mem;
	struct run_params params;
	bool go;
};

static int on_go(void *self, struct chan_msg *m, struct err *err)
{
	struct waiting *w = self;
	auto_buf struct buf bytes = BUF_MAX(PARAMS_MAX);
	autoclose int fd = -1;

	if (m->type != WIRE_GO)
		return err_set(err, ERR_PROTOCOL, "%s before the run began", wire_name(m->type));
	fd = chan_take_fd(m, 0);
	TRY(memfd_read(fd, &bytes, err));
	TRY(run_params_unpack(buf_str(&bytes), w->mem, &w->params, err));
	w->go = true;
	return 0;
}

static int wait_for_go(struct links *l, struct waiting *w, struct err *err)
{
	links_serve(l, PEER_MONITOR, on_go, w);
	while (!w->go)
		TRY(links_wait(l, PEER_MONITOR, -1, err));
	return 0;
}

/* ---- the world of this process ---- */

static int open_root(struct run *r, struct str path, bool writable, bool optional, struct err *err)
{
	struct tool_root *root = &r->roots[r->tools.nroots];
	int rc;

	if (r->tools.nroots == ROOTS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d granted paths", ROOTS_MAX - 1);
	rc = dir_open(AT_FDCWD, str_dupz(r->mem, path), &root->dirfd, err);
	if (rc < 0 &&
		optional) /* a granted path that does not exist, or is a file: commands may have use for it */
		return 0;
	TRY(rc);
	root->path = path;
	root->writable = writable;
	r->tools.nroots++;
	return 0;
}

static int open_roots(struct run *r, struct err *err)
{
	umask((mode_t)(r->p->umask & 0777)); /* all that this process creates are files of the workspace */
	TRY(open_root(r, r->p->workspace, !mode_looks(r), false, err));
	for (size_t i = 0; i < r->p->extra_read_paths.n; i++)
		TRY(open_root(r, r->p->extra_read_paths.p[i], false, true, err));
	for (size_t i = 0; i < r->p->extra_write_paths.n; i++)
		TRY(open_root(r, r->p->extra_write_paths.p[i], true, true, err));
	return 0;
}

static int confine_to_roots(const struct run *r, struct err *err)
{
	struct ll_rule rules[ROOTS_MAX];
	int rc;

	for (size_t i = 0; i < r->tools.nroots; i++)
		rules[i] = (struct ll_rule){
			.kind = LL_FD, .fd = r->roots[i].dirfd, .access = r->roots[i].writable ? LL_RW : LL_RO
		};
	rc = confine_self(SECCOMP_AGENT, rules, r->tools.nroots, err);
	/* "none" was asked for by hand and said loudly; there, what the kernel lacks is lacked. */
	if (rc == -ERR_UNSUPPORTED && str_eqz(r->p->isolation, "none"))
		return 0;
	return rc;
}

static int host_job(
	void *self, const struct job_request *req, struct arena *mem, struct job_result *out, struct err *err)
{
	struct run *r = self;

	TRY(jobs_command(&r->commands, req, mem, out, err));
	if (out->behind == 0)
		return 0;
	return background_adopt(&r->background, req, req->class != JOB_BACKGROUND, mem, out, err);
}

static int host_mcp(void *self, const struct mcp_tool *tool, struct str args, struct arena *mem, struct mcp_reply *out,
	struct err *err)
{
	struct run *r = self;
	bool shown = r->caller.spec.pictures && !(r->caller.spec.adapted & ADAPT_NO_PICTURES);
	size_t there = r->conv ? conversation_pictures(r->conv) : PICTURES_MAX;

	r->mcp.pictures = shown && there < PICTURES_MAX ? PICTURES_MAX - there : 0;
	return mcp_call(&r->mcp, tool, args, mem, out, err);
}

static bool host_language_knows(void *self, struct str path)
{
	const struct run *r = self;

	return lsp_knows(&r->lsp, path);
}

static int host_language(void *self, struct tool_ctx *ctx, const struct language_ask *ask, struct language_answer *out, struct err *err)
{
	struct run *r = self;

	return lsp_ask(&r->lsp, ctx, ask, out, err);
}

static int host_background(void *self, const struct background_request *req, struct arena *mem,
	struct background_report *out, struct err *err)
{
	struct run *r = self;

	return background_ask(&r->background, req, mem, out, err);
}

static int host_ask(void *self, const struct str *questions, const struct str_list *options, size_t n,
	struct arena *mem, struct str_list *answers, bool *answered, struct err *err)
{
	struct run *r = self;

	TRY(keep_barrier(r->keep, err));
	TRY(asks_put(&r->asks, questions, options, n, mem, answers, answered, err));
	return *answered || !r->p->asks_later ? 0 : modes_open_questions(r, questions, n, err);
}

/* ---- what the run is made of ---- */

static int set_model(struct run *r, struct err *err)
{
	const struct run_params *p = r->p;
	struct seat_params lead = seat_params_of(p);
	struct caller *c = &r->caller;
	struct seat s;

	TRY(seat_from(&lead, &s, err));
	c->spec = s.spec;
	c->facts = s.facts;
	c->endpoint = s.endpoint;
	c->provider = s.provider;
	c->budget = (struct budget){ .max_input_tokens = p->max_input_tokens,
		.max_output_tokens = p->max_output_tokens,
		.max_microusd = p->max_usd < 0 ? -1 : (int64_t)(p->max_usd * 1e6) };
	return seats_open(r, err);
}

static void set_gate(struct run *r, const char **source)
{
	struct gate_found found = { .source = "none" };

	*source = r->p->verify_infer ? "none" : "disabled";
	if (mode_looks(r) && !str_eqz(r->p->mode, "plan"))
		return;
	if (str_eqz(r->p->run_commands, "no")) { /* nothing may run, so there is no gate either */
		*source = "commands_off";
		return;
	}
	if (r->p->verify_command.n > 0) {
		r->st.verify_command = r->p->verify_command;
		r->st.verify_origin = STR("configured");
		*source = "configured";
		return;
	}
	if (!r->p->verify_infer)
		return;
	gate_infer(r->roots[0].dirfd, &r->p->tool_paths, r->mem, &found);
	*source = found.source;
	if (found.command.n == 0)
		return;
	r->st.verify_command = found.command;
	r->st.verify_origin = STR("inferred");
}

/* No rule knows one: the reviewer may, where the operator named a model for it. A leg without a turn (agent6 prompt show) asks nobody. */
static int ask_gate(struct run *r, const char **source, struct err *err)
{
	struct gate_found found = { .source = "none" };

	if (strcmp(*source, "none") != 0 || r->p->verify_infer < 2 || r->p->max_iterations == 0 || str_eqz(r->p->run_commands, "no") ||
		(mode_looks(r) && !str_eqz(r->p->mode, "plan")))
		return 0;
	TRY(gate_ask(r, &found, err));
	*source = found.source;
	r->st.verify_command = found.command;
	r->st.verify_origin = found.command.n > 0 ? STR("inferred") : STR("");
	return 0;
}

static int set_tools(struct run *r, struct err *err)
{
	struct str later = STR("?");
	struct tool_ctx shown;

	r->host = (struct tool_host){ .self = r, .job = host_job, .ask = host_ask, .background = host_background, .mcp = host_mcp,
		.graph = tasks_host_graph, .note = tasks_host_note };
	if (r->lsp.there) {
		r->host.language_knows = host_language_knows;
		r->host.language = host_language;
	}
	r->tools.host = &r->host;
	r->tools.roots = r->roots;
	r->tools.hide_paths = &r->p->hide_paths;
	r->index_cache.max = SEARCH_CACHE_MAX;
	r->tools.index_cache = &r->index_cache;
	r->tools.skills = &r->skills;
	r->tools.mcp = &r->mcp.catalogue;
	if (!tool_mode_from(r->p->mode, &r->tools.mode))
		return err_set(err, ERR_INVALID, "mode \"" STR_FMT "\" is not known", STR_ARG(str_head(r->p->mode, 16)));
	r->tools.unconfined = str_eqz(r->p->isolation, "none");
	r->tools.no_namespaces = str_eqz(r->p->isolation, "hardened");
	r->tools.asks_later = r->p->asks_later != 0;
	r->tools.git_open = r->p->git_open == 1;
	r->tools.memory_each = r->p->memory_each == 1;
	r->tools.commands_online = str_eqz(r->p->tool_network, "allow");
	r->tools.commands_allowed = !str_eqz(r->p->run_commands, "no");
	r->tools.commands_why = r->p->commands_why;
	r->tools.verify_command = r->st.verify_command;
	r->tools.metric_command = r->p->metric_command;
	r->tools.metric_pattern = r->p->metric_pattern;
	r->tools.verify_timeout_ms = r->p->verify_timeout_s * 1000;
	r->tools.command_timeout_ms = r->p->command_timeout_s * 1000;
	r->tools.command_checkin_ms = r->p->command_checkin_s * 1000;
	r->tools.mem = r->mem;
	shown = r->tools;
	/* A gate may be adopted later. The tool is there from the start, since a change of the list would
	 * make the provider read the whole conversation anew. */
	if (shown.verify_command.n == 0 && r->p->verify_infer && !mode_looks(r))
		shown.verify_command = (struct str_list){ &later, 1 };
	return tools_schema(&shown, &r->tools_json, err);
}

/* ---- the first records ---- */

/* The rest of it is the monitor's (app/start_manifest.c). */
static int put_manifest(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE, workflow = NOTE;

	note_strs(&workflow, "verify_command", r->st.verify_command);
	note_str(&workflow, "verify_origin", r->st.verify_origin);
	note_json(&n, "workflow", note_text(&workflow));
	return note_put(&n, r->keep, RECORD_MANIFEST, 0, "", err);
}

static int put_start(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "run_id", r->p->run_id);
	note_str(&n, "user_task", str_head(r->p->task, utf8_head(r->p->task, TASK_SHOWN)));
	note_str(&n, "mode", r->p->mode);
	note_str(&n, "model", r->p->model);
	note_str(&n, "provider", r->p->provider);
	note_str(&n, "isolation", r->p->isolation);
	if (r->p->preset.n > 0)
		note_str(&n, "preset", r->p->preset);
	return note_send(&n, r->keep, EVENT_RUN_START, err);
}

static int put_notice(struct run *r, const char *level, const char *text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "level", level);
	note_z(&n, "text", text);
	return note_send(&n, r->keep, EVENT_RUN_NOTICE, err);
}

/* Otherwise it is found out when the model has worked, and been paid. No refusal: the run may make what is not there yet. */
static int check_program(struct run *r, const char *key, const struct str_list *argv, struct str from, struct err *err)
{
	struct str name = argv->n > 0 ? argv->p[0] : STR("");
	bool path = str_find(name, STR("/")) < name.n;

	if (name.n == 0 || gate_resolves(r->roots[0].dirfd, &r->p->tool_paths, name))
		return 0;
	return put_notice(r, "warning", str_printf(r->mem, "%s%s" STR_FMT "%s names \"" STR_FMT "\", which %s: the run ends when it is to be run",
		key, from.n > 0 ? " (" : "", STR_ARG(from), from.n > 0 ? ")" : "", STR_ARG(str_head(name, utf8_head(name, 200))),
		path ? "is not there" : "is in no directory of the jail's PATH").p, err);
}

static int check_programs(struct run *r, struct err *err)
{
	if (mode_looks(r) || str_eqz(r->p->run_commands, "no"))
		return 0;
	TRY(check_program(r, "workflow.verify_command", &r->p->verify_command, r->p->verify_from, err));
	return check_program(r, "workflow.metric.command", &r->p->metric_command, r->p->metric_from, err);
}

static int put_skill_warning(struct run *r, const struct skill *k, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "warning", str_printf(r->mem, STR_FMT " cannot be used: %s", STR_ARG(k->name), k->fault));
	return note_send(&n, r->keep, EVENT_SKILLS_WARNING, err);
}

/* No refusal: untracked files are mixed into no step. But a work that is to go on with them would be left out of this run's. */
static int put_theirs(struct run *r, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(65536);
	struct str_list theirs;
	struct str id;

	TRY(untracked_theirs(r, mem, &theirs, &id, err));
	if (theirs.n == 0)
		return 0;
	TRY(buf_addf(&b, err, "new in run " STR_FMT ", which is not merged, and untracked here, so what this run does to %s is in no step of "
		"it: ", STR_ARG(id), theirs.n == 1 ? "it" : "them"));
	TRY(names_add(&b, &theirs, NAMES_SHOWN, err));
	TRY(buf_addf(&b, err, "; to go on with %s: agent6 runs merge " STR_FMT ", or git add and git commit, and then the run", theirs.n == 1 ? "it" : "them",
		STR_ARG(id)));
	return put_notice(r, "warning", str_dupz(mem, buf_str(&b)), err);
}

static int put_notices(struct run *r, struct err *err)
{
	auto_buf struct buf notes = BUF_MAX(16 * 1024 * 1024);

	if (mode_looks(r))
		return 0;
	if (!r->p->is_git)
		TRY(put_notice(r, "warning",
			"this is not a git repository: edits are made, but no step is recorded and nothing "
			"can be taken back",
			err));
	else if (!r->p->commit_per_step)
		TRY(put_notice(r, "info", "git.commit_per_step is off: edits stay in the work tree", err));
	if (str_eqz(r->p->run_commands, "no") && r->p->verify_command.n > 0)
		TRY(put_notice(r, "warning",
			"commands may not run, so there is no verify command in this run", err));
	TRY(put_theirs(r, err));
	for (size_t i = 0; i < r->skills.n; i++)
		if (r->skills.p[i].fault)
			TRY(put_skill_warning(r, &r->skills.p[i], err));
	if (gate_read(r->roots[0].dirfd, "AGENTS.md", &notes) && notes.n > AGENTS_LONG)
		TRY(put_notice(r, "warning",
			"AGENTS.md is longer than 40000 characters; the model is sent all of it with each "
			"request, up to 40 KB",
			err));
	return 0;
}

static int put_gate(struct run *r, const char *source, struct err *err)
{
	auto_note struct note n = NOTE;

	if (mode_looks(r) && r->st.verify_command.n == 0)
		return 0;
	note_strs(&n, "command", r->st.verify_command);
	note_z(&n, "source", source);
	return note_send(&n, r->keep, EVENT_VERIFY_INFERRED, err);
}

/* What the model is told before anything else, once a leg; its hash stands in the chain. */
static int put_prompt(struct run *r, struct str system, struct err *err)
{
	auto_note struct note n = NOTE, e = NOTE;
	char hash[CHAIN_HEX + 1];

	note_str(&n, "system", system);
	note_str(&n, "tools", buf_str(&r->tools_json));
	chain_text(system, buf_str(&r->tools_json), hash);
	note_int(&e, "transcript", r->caller.transcript);
	note_z(&e, "sha256", hash);
	TRY(note_put(&n, r->keep, RECORD_TRANSCRIPT, r->caller.transcript++, "prompt", err));
	return note_send(&e, r->keep, EVENT_LOOP_PROMPT, err);
}

static int set_prompt(struct run *r, const struct prompt_facts *facts, struct err *err)
{
	auto_buf struct buf system = BUF_MAX(PROMPT_MAX);

	TRY(prompt_system(facts, &system, err));
	TRY(conversation_set_prompt(r->conv, buf_str(&system), buf_str(&r->tools_json), err));
	return put_prompt(r, buf_str(&system), err);
}

static struct prompt_facts facts_of(struct run *r)
{
	return (struct prompt_facts){
		.params = r->p,
		.verify_command = &r->st.verify_command,
		.skills = &r->skills,
		.repo = r->repo,
		.root_fd = r->roots[0].dirfd,
		.head = { .unborn = r->unborn, .sha = r->st.base_sha, .branch = r->st.base_branch },
		.notes = r->tools.notes,
		.nnotes = r->tools.nnotes,
		.restated = r->restated,
		.tools = &r->tools,
	};
}

/* The opening, once more with the task restated where that is wanted. */
static int write_opening(struct run *r, struct arena *mem, struct buf *out, struct err *err)
{
	struct prompt_facts facts = facts_of(r);

	TRY(prompt_first(&facts, mem, out, err));
	r->opening = buf_str(out);
	TRY(revise_task(r, err));
	r->opening = STR("");
	if (r->restated.n == 0)
		return 0;
	buf_clear(out);
	facts = facts_of(r);
	return prompt_first(&facts, mem, out, err);
}

static int open_conversation(struct run *r, struct err *err)
{
	auto_buf struct buf first = BUF_MAX(PROMPT_MAX);
	auto_arena struct arena *mem = arena_new();
	const struct prompt_facts facts = facts_of(r);

	TRY(write_opening(r, mem, &first, err));
	if (r->reason != REASON_NONE)
		return 0;
	r->conv = conversation_new();
	for (size_t i = 0; i < r->p->pins.n; i++)
		TRY(context_pin(r, NULL, r->p->pins.p[i], err));
	TRY(set_prompt(r, &facts, err));
	{
		const struct str parts[] = { buf_str(&first), context_pins_text(r, mem) };

		TRY(conversation_add_results(r->conv, NULL, 0, parts, COUNT(parts), err));
	}
	return keep_put(r->keep, RECORD_MESSAGE, 0, STR(""), conversation_get(r->conv, 0), err);
}

/* Their tools are part of the prompt, which stays the same for the leg. */
static int open_servers(struct run *r, struct err *err)
{
	r->caller.on_post = mcp_on_post;
	r->caller.post_self = &r->mcp;
	TRY(mcp_open(&r->mcp, r->links, r->keep, &r->p->servers, r->mem, err));
	return lsp_open(&r->lsp, r->links, r->keep, r->p, r->mem, err);
}

static int begin_new(struct run *r, struct err *err)
{
	const char *source;

	TRY(tasks_open(r, STR(""), err));
	set_gate(r, &source);
	TRY(put_start(r, err));
	TRY(settings_put(r, err));
	TRY(ask_gate(r, &source, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(open_servers(r, err));
	TRY(set_tools(r, err));
	TRY(put_manifest(r, err));
	TRY(step_put_untracked(r, err));
	TRY(put_notices(r, err));
	TRY(check_programs(r, err));
	TRY(put_gate(r, source, err));
	return str_eqz(r->p->mode, "review") ? review_open(r, err) : open_conversation(r, err);
}

static int begin_again(struct run *r, struct err *err)
{
	struct prompt_facts facts;

	TRY(resume_load(r, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(settings_put(r, err));
	TRY(resume_gate(r, err));
	TRY(check_programs(r, err));
	if (r->p->standing.n > 0)
		r->st.standing = r->p->standing;
	for (size_t i = 0; i < r->p->pins.n; i++)
		TRY(context_pin(r, NULL, r->p->pins.p[i], err));
	TRY(open_servers(r, err));
	TRY(set_tools(r, err));
	if (str_eqz(r->p->mode, "review"))
		return 0;
	facts = facts_of(r);
	return set_prompt(r, &facts, err);
}

static int open_skills(struct run *r, struct err *err)
{
	TRY(skills_unpack(r->p->skills, r->mem, &r->skills, err));
	for (size_t i = 0; i < r->p->use_skills.n; i++)
		if (!skills_find(&r->skills, r->p->use_skills.p[i]))
			return err_set(err, ERR_NOENT, "there is no skill \"" STR_FMT "\" that can be used here: agent6 skills list says why", STR_ARG(r->p->use_skills.p[i]));
	return 0;
}

static int begin(struct run *r, struct err *err)
{
	TRY(open_skills(r, err));
	TRY(set_model(r, err));
	if (r->p->resume)
		TRY(resume_ask(r, err));
	TRY(step_begin(r, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(modes_begin(r, err));
	TRY(r->p->resume ? begin_again(r, err) : begin_new(r, err));
	untracked_begin(r);
	return 0;
}

static void run_fini(struct run *r)
{
	repo_close(r->repo);
	conversation_free(r->conv);
	tasks_fini(r);
	asks_fini(&r->asks);
	mcp_fini(&r->mcp);
	lsp_fini(&r->lsp);
	buf_fini(&r->index_cache);
	background_fini(&r->background);
	jobs_fini(&r->commands);
	jobs_fini(&r->git);
	caller_fini(&r->caller);
	context_fini(&r->context);
	buf_fini(&r->tools_json);
	buf_fini(&r->gate_tail);
	for (size_t i = 0; i < r->tools.nroots; i++)
		base_close_fd(&r->roots[i].dirfd);
}
#define auto_run CLEANUP(run_fini)

/* What keeps a run from beginning is a refusal: nothing was kept yet, and the person is told why. */
static int begin_or_refuse(struct run *r, struct err *err)
{
	struct err why = { 0 };
	int rc = begin(r, &why);

	if (rc == 0)
		return 0;
	if (r->links->peer[PEER_MONITOR].gone)
		return err_set(err, ERR_CLOSED, "%s", why.msg);
	if (rc == -ERR_STOPPED)
		run_stop_asked(r);
	else
		run_stop(r, r->keep->lost ? REASON_RECORD_LOST : REASON_REFUSED, str_from(why.msg));
	return 0;
}

int agent_serve(struct links *l, bool confine, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_keep struct keep keep = { .loaded_fd = -1 };
	auto_run struct run r = { .mem = mem, .links = l, .keep = &keep, .tools_json = BUF_MAX(PROMPT_MAX) };
	struct waiting w = { .mem = mem };

	TRY(wait_for_go(l, &w, err));
	r.p = &w.params;
	if (open_roots(&r, err) < 0 || (confine && confine_to_roots(&r, err) < 0)) {
		run_stop(&r, REASON_REFUSED, str_from(err->msg));
		return run_end(&r, err);
	}
	/* From here on bytes may be hostile. */
	keep_init(&keep, l);
	asks_init(&r.asks, l, w.params.attended != 0);
	jobs_init(&r.commands, l, PEER_ZYGOTE);
	jobs_init(&r.git, l, PEER_GIT);
	background_open(&r.background, &r.commands, &keep);
	caller_init(&r.caller, l, &keep);
	context_init(&r.context);
	r.st.standing = w.params.standing;
	r.st.original_task = str_head(w.params.task, utf8_head(w.params.task, TASK_SHOWN));
	r.st.next_iteration = r.st.leg_start = 1;
	r.last_work_ms = time_mono_ms();
	TRY(begin_or_refuse(&r, err));
	if (r.reason == REASON_NONE && str_eqz(r.p->mode, "review"))
		TRY(review_session(&r, err));
	TRY(implement_begin(&r, err));
	TRY(loop_turns(&r, err));
	return run_end(&r, err);
}

int role_agent_main(void)
{
	int fds[PEER_COUNT];
	auto_links struct links l = { 0 };
	struct err err = { 0 };

	if (proc_sanitize(links_given(fds), &err) < 0)
		return 1;
	links_init(&l, fds);
	return agent_serve(&l, true, &err) < 0;
}
