/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/monitor_priv.h"

#include "fmt/json.h"
#include "fmt/shellword.h"
#include "session/answers.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES  (24 * 1024)
#define PROMPT_BYTES  (6 * 1024) /* of a command as it is shown; a view shows 8 KiB of one text */
#define QUESTIONS_MAX 8
#define OPTIONS_MAX   32

/* ---- texts for the record ---- */

/* The class is the agent's word: only the command that was set is called the gate without that. */
static const char *head_of(const struct monitor_spec *s, uint8_t class, const struct str *argv, size_t argc, struct str cwd)
{
	bool set = class == JOB_VERIFY && argc == s->verify.n && cwd.n == 0;

	for (size_t i = 0; set && i < argc; i++)
		set = str_eq(argv[i], s->verify.p[i]);
	return set ? "Allow the gate (workflow.verify_command): "
		: class == JOB_VERIFY ? "Allow run_command, which the agent calls the gate: "
		: class == JOB_BACKGROUND ? "Allow run_command in the background, until the run ends: "
					  : "Allow run_command: ";
}

/* The words as a shell would take them, and where. 1; 0: too long. What is not seen whole is not allowed: the end
 * of a long line is where something could hide. */
static int show_command(struct buf *b, const char *head, const struct str *argv, size_t argc, struct str cwd)
{
	if (buf_addz(b, head, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; i < argc; i++)
		if ((i > 0 && buf_addc(b, ' ', ERR_DISCARD) < 0) || shellword_add(b, argv[i], ERR_DISCARD) < 0)
			return 0;
	if (cwd.n == 0)
		return 1;
	return buf_addz(b, " (in ", ERR_DISCARD) == 0 && shellword_add(b, cwd, ERR_DISCARD) == 0 &&
		buf_addz(b, ")", ERR_DISCARD) == 0;
}

static int note_answer(struct monitor *m, const char *id, bool approved, const char *source, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "id", str_from(id), err));
	TRY(buf_addf(&b, err, ",\"approved\":%s", approved ? "true" : "false"));
	TRY(json_add_member(&b, "source", str_from(source), err));
	TRY(buf_addz(&b, "}", err));
	return monitor_note(m, EVENT_APPROVAL_ANSWER, buf_str(&b), err);
}

static struct str server_name(const struct monitor *m, enum peer_id from, uint8_t endpoint)
{
	for (size_t i = 0; from == PEER_CLIENT && i < m->spec->nremotes; i++)
		if (m->spec->remotes[i].endpoint == endpoint)
			return m->spec->remotes[i].name;
	return from >= PEER_SERVER ? m->spec->servers[from - PEER_SERVER].name : STR("");
}

static int note_prompt(struct monitor *m, const struct pending *p, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY - 1024), scope = BUF_MAX(128);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "id", str_from(p->id), err));
	TRY(json_add_member(&b, "prompt", text, err));
	if (p->tool[0] != '\0') {
		TRY(buf_addf(&scope, err, "mcp." STR_FMT, STR_ARG(server_name(m, p->from, p->endpoint))));
		TRY(json_add_member(&b, "scope", buf_str(&scope), err));
	}
	TRY(buf_addz(&b, ",\"standing\":true}", err));
	return monitor_note(m, EVENT_APPROVAL_PROMPT, buf_str(&b), err);
}

/* ---- the table of open questions ---- */

static struct pending *pending_new(struct monitor *m, bool question, uint32_t number, enum peer_id from)
{
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &m->pending[i];

		if (p->used)
			continue;
		*p = (struct pending){ .used = true, .question = question, .number = number, .from = from };
		snprintf(p->id, sizeof(p->id), "%s-%u", question ? "question" : "approval", ++m->asked);
		return p;
	}
	return NULL;
}

static int verdict(struct monitor *m, enum peer_id to, uint32_t job, bool allowed, const char *reason,
	struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);

	pack_u32(&b, job);
	pack_u8(&b, allowed);
	pack_str(&b, str_from(reason));
	TRY(pack_ok(&b, err));
	return monitor_send(m, to, to == PEER_CLIENT ? WIRE_VERDICT_POST : WIRE_VERDICT, &b, err);
}

/* As the operator answered before, of everything of the kind: the record says so of each. */
static int by_standing(struct monitor *m, const struct standing *s, enum peer_id to, uint32_t number, const char *refusal, struct err *err)
{
	bool allowed = s->grant == GRANT_ALWAYS;

	TRY(note_answer(m, s->id, allowed, s->id[0] ? "standing" : "away", err));
	return verdict(m, to, number, allowed, allowed ? "" : refusal, err);
}

int ask_approval(struct monitor *m, struct member *from, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(PROMPT_BYTES);
	struct unpack u = unpack_from(m->msg->body);
	uint32_t job = unpack_u32(&u);
	size_t argc;

	uint8_t class = unpack_u8(&u); /* only to show it: one decision covers every command of the run */
	struct str cwd = unpack_str(&u);
	struct str *argv = unpack_strs(&u, mem, PACK_STRS_MAX, &argc);
	if (!unpack_done(&u) || argc == 0)
		return err_set(err, ERR_PROTOCOL, "WIRE_APPROVE does not decode");
	m->worked = true;
	if (m->state != MON_RUNNING || m->interrupts >= (int)STOP_NOW)
		return verdict(m, from->id, job, false, "the run is stopping", err);
	if (m->spec->commands == APPROVE_NO)
		return verdict(m, from->id, job, false, "sandbox.run_commands is \"no\"", err);
	if (m->spec->commands == APPROVE_YES)
		return verdict(m, from->id, job, true, "", err);
	if (m->commands.grant != GRANT_NONE)
		return by_standing(m, &m->commands, from->id, job, "the operator refuses commands in this run", err);
	if (!m->spec->attended)
		return verdict(m, from->id, job, false, "sandbox.run_commands is \"ask\" and nobody can answer", err);

	if (!show_command(&text, head_of(m->spec, class, argv, argc, cwd), argv, argc, cwd))
		return verdict(m, from->id, job, false, "the command is too long to be shown to the operator: "
			"put it into a file and run that", err);

	struct pending *p = pending_new(m, false, job, from->id);
	if (!p)
		return verdict(m, from->id, job, false, "too many approvals are open", err);
	TRY(note_prompt(m, p, buf_str(&text), err));
	return hook_waiting(m, SPAWN_APPROVAL, err);
}

/* ---- calls of a server's tools ---- */

/* By a zygote, or by the client for a server over HTTP. */
struct tool_call {
	enum peer_id from;
	uint32_t number;
	uint8_t endpoint;
	struct str tool, args;
};

static struct call_grant *call_grant(struct monitor *m, enum peer_id from, uint8_t endpoint, struct str tool)
{
	for (size_t i = 0; i < m->ncalls; i++)
		if (m->calls[i].from == from && m->calls[i].endpoint == endpoint && str_eqz(tool, m->calls[i].tool))
			return &m->calls[i];
	return NULL;
}

static struct standing standing_of(const struct pending *p, enum grant grant)
{
	struct standing s = { .grant = grant };

	snprintf(s.id, sizeof(s.id), "%s", p->id);
	return s;
}

static void set_call_grant(struct monitor *m, const struct pending *p, enum grant grant)
{
	struct call_grant *g = call_grant(m, p->from, p->endpoint, str_from(p->tool));

	if (!g && m->ncalls == CALL_GRANTS_MAX)
		return; /* asked about again */
	if (!g)
		g = &m->calls[m->ncalls++];
	*g = (struct call_grant){ .from = p->from, .endpoint = p->endpoint, .said = standing_of(p, grant) };
	snprintf(g->tool, sizeof(g->tool), "%s", p->tool);
}

static const struct standing *standing(struct monitor *m, const struct tool_call *c)
{
	const struct call_grant *g = call_grant(m, c->from, c->endpoint, c->tool);

	return g ? &g->said : &m->everything;
}

static int prompt_call(struct monitor *m, const struct tool_call *c, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PROMPT_BYTES);

	/* What is not seen whole is not allowed. The name is the server's: a quote in it must not end it. */
	if (c->args.n == 0 || buf_addz(&text, "Allow the tool ", ERR_DISCARD) < 0 || json_add_quoted(&text, c->tool, ERR_DISCARD) < 0 ||
		buf_addf(&text, ERR_DISCARD, " of MCP server " STR_FMT ": " STR_FMT, STR_ARG(server_name(m, c->from, c->endpoint)),
			STR_ARG(c->args)) < 0)
		return verdict(m, c->from, c->number, false, "the arguments are too long to be shown to the operator: make several "
			"smaller calls", err);
	struct pending *p = pending_new(m, false, c->number, c->from);
	if (!p)
		return verdict(m, c->from, c->number, false, "too many approvals are open", err);
	snprintf(p->tool, sizeof(p->tool), STR_FMT, STR_ARG(c->tool));
	p->endpoint = c->endpoint;
	TRY(note_prompt(m, p, buf_str(&text), err));
	return hook_waiting(m, SPAWN_APPROVAL, err);
}

static int judge_call(struct monitor *m, const struct tool_call *c, struct err *err)
{
	const struct standing *said = standing(m, c);

	m->worked = true;
	if (m->state != MON_RUNNING || m->interrupts >= (int)STOP_NOW)
		return verdict(m, c->from, c->number, false, "the run is stopping", err);
	if (said->grant != GRANT_NONE)
		return by_standing(m, said, c->from, c->number, "the operator refuses this tool in this run", err);
	if (!m->spec->attended)
		return verdict(m, c->from, c->number, false, "its approval is \"ask\" and nobody can answer", err);
	return prompt_call(m, c, err);
}

int ask_call(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	struct tool_call c = { .from = from->id, .number = unpack_u32(&u) };

	c.tool = unpack_str(&u);
	c.args = unpack_str(&u);
	if (!unpack_done(&u) || !mcp_tool_ok(c.tool) || from->id < PEER_SERVER)
		return err_set(err, ERR_PROTOCOL, "WIRE_APPROVE_CALL does not decode");
	return judge_call(m, &c, err);
}

int ask_post(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	struct tool_call c = { .from = from->id, .number = unpack_u32(&u) };

	c.endpoint = unpack_u8(&u);
	c.tool = unpack_str(&u);
	c.args = unpack_str(&u);
	if (!unpack_done(&u) || !mcp_tool_ok(c.tool) || server_name(m, PEER_CLIENT, c.endpoint).n == 0)
		return err_set(err, ERR_PROTOCOL, "WIRE_APPROVE_POST does not decode");
	return judge_call(m, &c, err);
}

int ask_post_over(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	uint32_t number = unpack_u32(&u);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_POST_OVER does not decode");
	return ask_withdraw(m, from->id, number, err);
}

/* ---- questions of the agent ---- */

static int add_options(struct unpack *u, struct buf *b, struct arena *mem, struct err *err)
{
	size_t n;
	struct str *options = unpack_strs(u, mem, OPTIONS_MAX, &n);

	TRY(buf_addz(b, ",\"options\":[", err));
	for (size_t i = 0; i < n; i++) {
		TRY(buf_addz(b, i > 0 ? "," : "", err));
		TRY(json_add_quoted(b, options[i], err));
	}
	return buf_addz(b, "]}", err);
}

static int answer_question(struct monitor *m, uint32_t number, bool answered, const struct str *answers, size_t n,
	struct err *err)
{
	auto_buf struct buf b = BUF_MAX(32768);

	pack_u32(&b, number);
	pack_u8(&b, answered);
	pack_strs(&b, answers, n);
	TRY(pack_ok(&b, err));
	return monitor_send(m, PEER_AGENT, WIRE_ANSWER, &b, err);
}

int ask_question(struct monitor *m, struct member *from, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(4 * CHAN_BODY);
	struct unpack u = unpack_from(m->msg->body);
	uint32_t number = unpack_u32(&u), n = unpack_u32(&u);

	if (u.bad || n == 0 || n > QUESTIONS_MAX)
		return err_set(err, ERR_PROTOCOL, "WIRE_ASK does not decode");
	bool heard = m->spec->attended && m->state == MON_RUNNING && m->interrupts < (int)STOP_NOW;
	struct pending *p = heard ? pending_new(m, true, number, from->id) : NULL;
	if (!p)
		return answer_question(m, number, false, NULL, 0, err);
	p->questions = n;

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "id", str_from(p->id), err));
	TRY(buf_addz(&b, ",\"questions\":[", err));
	for (uint32_t i = 0; i < n; i++) {
		TRY(buf_addz(&b, i > 0 ? ",{" : "{", err));
		TRY(json_add_member(&b, "question", unpack_str(&u), err));
		TRY(add_options(&u, &b, mem, err));
	}
	TRY(buf_addz(&b, "]}", err));
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_ASK does not decode");
	TRY(monitor_note(m, EVENT_QUESTION_PROMPT, buf_str(&b), err));
	return hook_waiting(m, SPAWN_QUESTION, err);
}

/* ---- answers ---- */

/* The words a view may write into an approval's answer file. */
static const struct {
	const char *word;
	bool allowed;
	enum grant grant;
} words[] = {
	{ "yes", true, GRANT_NONE },
	{ "always", true, GRANT_ALWAYS },
	{ "no", false, GRANT_NONE },
	{ "never", false, GRANT_NEVER },
};

static int take_approval(struct monitor *m, struct pending *p, struct str text, struct err *err)
{
	bool allowed = false; /* anything we do not know is no */

	text = str_trim(text);
	for (size_t i = 0; i < COUNT(words); i++) {
		if (!str_eqz(text, words[i].word))
			continue;
		allowed = words[i].allowed;
		if (words[i].grant != GRANT_NONE && p->tool[0] != '\0')
			set_call_grant(m, p, words[i].grant);
		else if (words[i].grant != GRANT_NONE)
			m->commands = standing_of(p, words[i].grant);
	}
	p->used = false;
	TRY(note_answer(m, p->id, allowed, "frontend", err));
	return verdict(m, p->from, p->number, allowed, allowed ? "" : "the operator said no", err);
}

/* An answer file of a question holds one answer a line, in the order of the questions; what is missing is
 * empty. More lines than questions would be answers cut off: then the last one holds them all. */
static int take_answers(struct monitor *m, struct pending *p, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4 * CHAN_BODY);
	struct str answers[QUESTIONS_MAX];
	size_t n = p->questions;

	for (size_t i = 0; i < n; i++)
		answers[i] = str_trim_suffix(i + 1 < n ? str_line(&text) : text, STR("\n"));
	p->used = false;
	m->set_aside = n == 1 && answer_sets_aside(answers[0]);
	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "id", str_from(p->id), err));
	TRY(buf_addz(&b, ",\"answers\":[", err));
	for (size_t i = 0; i < n; i++) {
		TRY(buf_addz(&b, i > 0 ? "," : "", err));
		TRY(json_add_quoted(&b, answers[i], err));
	}
	TRY(buf_addz(&b, "],\"source\":\"frontend\"}", err));
	TRY(monitor_note(m, EVENT_QUESTION_ANSWER, buf_str(&b), err));
	return answer_question(m, p->number, true, answers, n, err);
}

static int read_answer(struct monitor *m, struct pending *p, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(ANSWER_BYTES);
	autoclose int fd = -1;
	int r = file_open(m->spec->answers_fd, p->id, true, &fd, err);

	if (r == -ERR_NOENT)
		return 0; /* not answered yet */
	if (r == 0)
		r = file_read_fd(fd, &text, err);
	unlinkat(m->spec->answers_fd, p->id, 0);
	if (r < 0)
		buf_clear(&text); /* unreadable or too long: for an approval that is no, for a question nothing */
	return p->question ? take_answers(m, p, buf_str(&text), err) : take_approval(m, p, buf_str(&text), err);
}

int ask_read_answers(struct monitor *m, struct err *err)
{
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (m->pending[i].used)
			TRY(read_answer(m, &m->pending[i], err));
	return tell_read(m, err);
}

/* A job that ended while its approval was still open needs no answer any more, and no view asks for one. */
int ask_withdraw(struct monitor *m, enum peer_id from, uint32_t job, struct err *err)
{
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &m->pending[i];

		if (!p->used || p->question || p->number != job || p->from != from)
			continue;
		p->used = false;
		TRY(note_answer(m, p->id, false, "withdrawn", err));
	}
	return 0;
}

int ask_grant(struct monitor *m, enum grant grant, struct err *err)
{
	bool allowed = grant == GRANT_ALWAYS;

	m->commands = m->everything = (struct standing){ .grant = grant };
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &m->pending[i];

		if (!p->used || (p->question && allowed))
			continue;
		p->used = false;
		if (p->question) {
			TRY(answer_question(m, p->number, false, NULL, 0, err));
			continue;
		}
		TRY(note_answer(m, p->id, allowed, "away", err));
		TRY(verdict(m, p->from, p->number, allowed, allowed ? "" : "the operator is away and refuses commands", err));
	}
	return 0;
}

void ask_give_up(struct monitor *m)
{
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &m->pending[i];

		if (!p->used)
			continue;
		p->used = false;
		/* The peer may be gone already; then there is nobody to tell. */
		int r = p->question ? answer_question(m, p->number, false, NULL, 0, ERR_DISCARD)
				    : verdict(m, p->from, p->number, false, "the run is stopping", ERR_DISCARD);
		(void)r;
	}
}
