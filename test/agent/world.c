/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#include "memory/notes.h"
#include "agent/replay.h"
#include "graph/disk.h"
#include "session/store.h"
#include "agent/agent.h"
#include "agent/links.h"
#include "fmt/pack.h"
#include "git/gitop.h"
#include "session/record.h"
#include "sys/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define DEADLINE_MS 60000
#define QUIET_MS    50 /* what an agent that does not wait would take to act */

void world_init(struct world *w)
{
	*w = (struct world){ .dir = test_dir_new(),
		.mem = arena_new(),
		.events = json_array(),
		.deltas = json_array(),
		.messages = json_array(),
		.requests = json_array(),
		.argvs = json_array(),
		.manifest = json_object(),
		.transcripts = json_array(), .notes = json_array(), .graph = graph_new(),
		.graph_lines = BUF_MAX(GRAPH_FILE_MAX) };
	w->ws = w->dir.path;
	w->params = (struct run_params){ .run_id = STR("sunny-otter-K4Q7B2"),
		.mode = STR("run"),
		.task = STR("fix the bug"),
		.workspace = str_from(w->dir.path),
		.version = STR("0"),
		.isolation = STR("strict"),
		.run_commands = STR("yes"),
		.git_name = STR("Ann"),
		.git_email = STR("ann@example.invalid"),
		.branch_per_run = 1,
		.require_clean_worktree = 1,
		.commit_per_step = 1,
		.verify_infer = 0,
		.verify_timeout_s = 60,
		.command_timeout_s = 60,
		.keep_recent_chars = 80000,
		.summary_max_tokens = 4096,
		.elision_gists = 1,
		.command_checkin_s = 60,
		.max_iterations = 50,
		.max_input_tokens = 1000000,
		.max_output_tokens = 100000,
		.max_usd = -1,
		.provider = STR("mock"),
		.api_format = STR("openai"),
		.deployment = STR("direct"),
		.model = STR("m"),
		.temperature = -1,
		.price_in = -1,
		.price_out = -1,
		.price_cache_read = -1,
		.price_cache_write = -1 };
}

static void close_disk(struct world *w)
{
	store_close(w->store);
	graph_disk_close(w->graph_disk);
	w->store = NULL;
	w->graph_disk = NULL;
}

void world_fini(struct world *w)
{
	close_disk(w);
	if (w->disk.fd > 0)
		test_dir_fini(&w->disk);

	json_t *all[] = { w->events, w->deltas, w->messages, w->requests, w->argvs, w->manifest, w->state,
		w->transcripts, w->notes, w->script, w->prompt };

	for (size_t i = 0; i < COUNT(all); i++)
		json_decref(all[i]);
	graph_free(w->graph);
	buf_fini(&w->graph_lines);
	arena_free(w->mem);
	test_dir_fini(&w->dir);
}

static void say(int fd, uint16_t type, const struct buf *body, const int *fds, size_t nfds)
{
	(void)!chan_send(fd, type, buf_str(body), fds, nfds, ERR_DISCARD); /* the agent may be gone already */
}

static void say_number(struct world *w, enum peer p, uint16_t type, uint32_t v)
{
	auto_buf struct buf b = BUF_MAX(64);

	if (type == WIRE_STOP)
		pack_u8(&b, (uint8_t)v);
	else
		pack_u32(&b, v);
	say(w->fds[p], type, &b, NULL, 0);
}

static void say_text(struct world *w, enum peer p, uint16_t type, struct str text)
{
	auto_buf struct buf b = BUF_MAX(65536);

	pack_str(&b, text);
	say(w->fds[p], type, &b, NULL, 0);
}

/* ---- the model ---- */

static void head(struct world *w, int status)
{
	auto_buf struct buf b = BUF_MAX(64);

	pack_u32(&b, w->live);
	pack_u32(&b, (uint32_t)status);
	pack_i64(&b, status == 200 ? -1 : 1);
	pack_u8(&b, CONTENT_JSON);
	say(w->fds[PEER_CLIENT], WIRE_HEAD, &b, NULL, 0);
}

static void data(struct world *w, struct str bytes)
{
	while (bytes.n > 0) {
		auto_buf struct buf b = BUF_MAX(65536);
		struct str piece = str_head(bytes, 50000);

		pack_u32(&b, w->live);
		pack_str(&b, piece);
		say(w->fds[PEER_CLIENT], WIRE_DATA, &b, NULL, 0);
		bytes = str_skip(bytes, piece.n);
	}
}

static void end(struct world *w, enum net_outcome outcome)
{
	auto_buf struct buf b = BUF_MAX(256);

	pack_u32(&b, w->live);
	pack_u8(&b, (uint8_t)outcome);
	pack_str(&b, outcome == NET_OK ? STR("") : STR("the connection was reset"));
	say(w->fds[PEER_CLIENT], WIRE_END, &b, NULL, 0);
	w->live = 0;
}

static json_t *calls_of(struct world *w, const json_t *turn)
{
	const json_t *calls = json_object_get(turn, "calls");
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(calls); i++) {
		const json_t *c = json_array_get(calls, i);
		auto_buf struct buf args = BUF_MAX(1 << 24);
		struct str id = str_printf(w->mem, "call_%zu_%zu", w->turn, i);

		BUG_IF(json_add(&args, json_array_get(c, 1), ERR_DISCARD) < 0);
		if (json_object_get(turn, "raw")) {
			buf_clear(&args);
			BUG_IF(buf_add(&args, json_get_str(turn, "raw"), ERR_DISCARD) < 0);
		}
		json_array_append_new(
			out, json_pack("{s:s,s:s,s:{s:O,s:o}}", "id", id.p, "type", "function", "function",
				     "name", json_array_get(c, 0), "arguments", json_text(buf_str(&args))));
	}
	return out;
}

/* Its text in one piece of a stream. */
static void stream(struct world *w, const json_t *turn)
{
	auto_buf struct buf body = BUF_MAX(1 << 24);
	auto_json json_t *chunk = json_pack("{s:s,s:[{s:i,s:{s:s,s:o}}]}", "id", "r", "choices", "index", 0,
		"delta", "role", "assistant", "content", json_text(json_get_str(turn, "text")));

	BUG_IF(!chunk || buf_addz(&body, "data: ", ERR_DISCARD) < 0 ||
		json_add(&body, chunk, ERR_DISCARD) < 0);
	BUG_IF(buf_addz(&body,
		       "\n\ndata: "
		       "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":"
		       "{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}}\n\ndata: "
		       "[DONE]\n\n",
		       ERR_DISCARD) < 0);
	head(w, 200);
	data(w, buf_str(&body));
	end(w, NET_OK);
}

static void answer(struct world *w, const json_t *turn)
{
	auto_json json_t *calls = calls_of(w, turn);
	auto_buf struct buf body = BUF_MAX(1 << 24);
	bool any = json_array_size(calls) > 0;
	auto_json json_t *message = json_pack(
		"{s:s,s:o}", "role", "assistant", "content", json_text(json_get_str(turn, "text")));
	auto_json json_t *reply = NULL;

	if (any)
		json_object_set(message, "tool_calls", calls);
	if (json_object_get(turn, "thinking"))
		json_object_set(message, "reasoning_content", json_object_get(turn, "thinking"));
	reply = json_pack("{s:s,s:s,s:[{s:i,s:O,s:s}],s:{s:i,s:i,s:i}}", "id", "r", "model", "m", "choices",
		"index", 0, "message", message, "finish_reason",
		json_object_get(turn, "stop") ? json_string_value(json_object_get(turn, "stop"))
		: any                         ? "tool_calls"
					      : "stop",
		"usage", "prompt_tokens", 100, "completion_tokens", 10, "total_tokens", 110);
	BUG_IF(!reply || json_add(&body, reply, ERR_DISCARD) < 0);
	head(w, 200);
	if (json_is_true(json_object_get(turn, "cut"))) {
		data(w, str_head(buf_str(&body), body.n / 2));
		end(w, NET_RESET);
		return;
	}
	data(w, buf_str(&body));
	end(w, NET_OK);
}

static void tell(struct world *w, struct str what)
{
	static const struct {
		const char *word;
		enum wire_tell tell;
	} tells[] = { { "pause now", TELL_PAUSE_NOW }, { "pause", TELL_PAUSE }, { "continue", TELL_CONTINUE },
		{ "compact", TELL_COMPACT }, { "btw", TELL_BTW } };
	auto_buf struct buf b = BUF_MAX(65536);

	for (size_t i = 0; i < COUNT(tells) && b.n == 0; i++)
		if (str_starts(what, str_from(tells[i].word))) {
			pack_u8(&b, (uint8_t)tells[i].tell);
			pack_str(&b, str_trim(str_skip(what, strlen(tells[i].word))));
			say(w->fds[PEER_MONITOR], WIRE_TELL, &b, NULL, 0);
		}
}

/* What the monitor writes of it. */
static void note(struct world *w, const char *type, const char *key, struct str value, const char *more)
{
	auto_buf struct buf b = BUF_MAX(65536);
	struct err err = { 0 };

	if (!w->store)
		return;
	CHECK_OK(buf_addf(&b, &err, "{%s\"%s\":", more, key));
	CHECK_OK(json_add_quoted(&b, value, &err));
	CHECK_OK(buf_addc(&b, '}', &err));
	CHECK_OK(store_event(w->store, EVENT_MONITOR, str_from(type), buf_str(&b), &err));
}

static void note_act(struct world *w, struct str what)
{
	if (str_eqz(what, "stop") || str_eqz(what, "now") || str_eqz(what, "steer abort"))
		note(w, "run.stop_requested", "how", !str_eqz(what, "stop") ? STR("now") : STR("after the step"), "\"source\":\"test\",");
}

static void act(struct world *w, struct str what)
{
	note_act(w, what);
	if (str_eqz(what, "stop"))
		say_number(w, PEER_MONITOR, WIRE_STOP, STOP_AFTER_STEP);
	else if (str_eqz(what, "now"))
		say_number(w, PEER_MONITOR, WIRE_STOP, STOP_NOW);
	else if (str_eqz(what, "lost"))
		say_text(w, PEER_RECORDER, WIRE_LOST, STR("No space left on device"));
	else if (str_starts(what, STR("steer ")))
		say_text(w, PEER_MONITOR, WIRE_STEER, str_skip(what, 6));
	else
		tell(w, what);
}

static void on_request(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	auto_buf struct buf body = BUF_MAX(1 << 26);
	autoclose int fd = chan_take_fd(m, 0);
	const json_t *turn;
	json_t *j;

	if (m->type == WIRE_CANCEL) {
		w->cancels++;
		if (w->live != 0)
			end(w, NET_CANCELLED);
		return;
	}
	w->live = unpack_u32(&u);
	w->unsynced_requests += w->dirty;
	w->early_requests += w->syncing != 0;
	BUG_IF(memfd_read(fd, &body, ERR_DISCARD) < 0 ||
		json_decode(buf_str(&body), JSON_EXACT, &j, ERR_DISCARD) < 0);
	json_array_append_new(w->requests, j);
	if (str_find(buf_str(&body), STR("Write the note.")) < body.n && json_object_get(w->script, "notes"))
		turn = json_array_get(json_object_get(w->script, "notes"), w->note++);
	else
		turn = json_array_get(json_object_get(w->script, "turns"), w->turn++);
	act(w, json_get_str(turn, "act"));
	if (json_is_true(json_object_get(turn, "hang")))
		return;
	if (json_is_true(json_object_get(turn, "stream"))) {
		stream(w, turn);
		return;
	}
	if (turn && !json_object_get(turn, "status")) {
		answer(w, turn);
		return;
	}
	head(w, turn ? (int)json_get_int(turn, "status", 400) : 400);
	data(w, turn ? json_get_str(turn, "body") : STR("{\"error\":{\"message\":\"the script is over\"}}"));
	end(w, NET_OK);
}

/* ---- jobs ---- */

static void exit_job(struct world *w, enum peer p, uint32_t id, int code, enum job_end why, struct str note)
{
	auto_buf struct buf b = BUF_MAX(4096);

	pack_u32(&b, id);
	pack_u32(&b, (uint32_t)code);
	pack_u8(&b, (uint8_t)why);
	pack_u64(&b, 1000);
	pack_str(&b, note);
	say(w->fds[p], WIRE_EXIT, &b, NULL, 0);
}

static void start_job(struct world *w, enum peer p, uint32_t id, struct str out, struct str errs)
{
	auto_buf struct buf b = BUF_MAX(16);
	int o[2], e[2];

	BUG_IF(pipe2(o, O_CLOEXEC) < 0 || pipe2(e, O_CLOEXEC) < 0);
	BUG_IF(fcntl(o[1], F_SETPIPE_SZ, 1 << 20) < 0);
	pack_u32(&b, id);
	say(w->fds[p], WIRE_STARTED, &b, (const int[]){ o[0], e[0] }, 2);
	(void)!write(o[1], out.p, out.n);
	(void)!write(e[1], errs.p, errs.n);
	for (int i = 0; i < 2; i++) {
		close(o[i]);
		close(e[i]);
	}
}

static enum job_end why_of(struct str word)
{
	static const struct {
		const char *word;
		enum job_end why;
	} words[] = { { "denied", JOB_DENIED }, { "unrunnable", JOB_UNRUNNABLE }, { "timeout", JOB_TIMEOUT },
		{ "lost", JOB_LOST } };

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(word, words[i].word))
			return words[i].why;
	return JOB_EXITED;
}

static void on_job(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	const json_t *job;
	struct str *argv;
	size_t argc;
	json_t *words = json_array();
	struct str write_to, what;
	enum job_end why;

	if (m->type == WIRE_KILL) {
		w->kills++;
		exit_job(w, PEER_ZYGOTE, id, 137, JOB_STOPPED, STR(""));
		json_decref(words);
		return;
	}
	w->unsynced_jobs += w->dirty;
	w->early_acts += w->syncing != 0;
	unpack_u8(&u);
	unpack_u32(&u);
	unpack_str(&u);
	argv = unpack_strs(&u, w->mem, 512, &argc);
	for (size_t i = 0; i < argc; i++)
		json_array_append_new(words, json_text(argv[i]));
	json_array_append_new(w->argvs, words);
	job = json_array_get(json_object_get(w->script, "jobs"), w->job++);
	write_to = json_get_str(job, "write");
	if (write_to.n > 0)
		test_write(&w->dir, str_dupz(w->mem, write_to), str_printf(w->mem, "%zu\n", w->job));
	what = json_get_str(job, "why");
	why = why_of(what);
	act(w, json_get_str(job, "act"));
	if (json_get_int(job, "ends", 0) > 0)
		exit_job(w, PEER_ZYGOTE, (uint32_t)json_get_int(job, "ends", 0), 4, JOB_EXITED, STR("a note"));
	if (why == JOB_EXITED)
		start_job(w, PEER_ZYGOTE, id, json_get_str(job, "out"), json_get_str(job, "errs"));
	if (str_eqz(what, "hang"))
		return;
	exit_job(w, PEER_ZYGOTE, id, why == JOB_UNRUNNABLE ? 127 : (int)json_get_int(job, "code", 0), why,
		why == JOB_EXITED ? STR("") : STR("for a reason of the test"));
}

/* Real git, as the zygote would call it. */
static void on_git(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	struct zygote_git_request rq = { .op = unpack_u8(&u), .run_id = "sunny-otter-K4Q7B2" };
	auto_buf struct buf in = BUF_MAX(1 << 24), out = BUF_MAX(1 << 24), errs = BUF_MAX(1 << 24);
	autoclose int fd = chan_take_fd(m, 0);
	struct zygote_words words;
	struct proc_status st = { 0 };
	struct err err = { 0 };
	const char *env[64];
	size_t n = 0;

	if (rq.op < COUNT(w->gits))
		w->gits[rq.op]++;
	rq.work_tree = w->ws;
	rq.git_dir = rq.common_dir = str_printf(w->mem, "%s/.git", w->ws).p;
	rq.index = str_printf(w->mem, "%s/.git/agent6.index", w->ws).p;
	rq.args = unpack_strs(&u, w->mem, 512, &rq.nargs);
	rq.has_stdin = fd >= 0;
	if (fd >= 0)
		BUG_IF(memfd_read(fd, &in, ERR_DISCARD) < 0);
	if (gitop_words(&rq, w->mem, &words, &err) < 0) {
		exit_job(w, PEER_GIT, id, 0, JOB_REFUSED, str_from(err.msg));
		return;
	}
	for (size_t i = 0; words.env && words.env[i]; i++)
		env[n++] = words.env[i];
	for (size_t i = 0; world_git_env[i]; i++)
		env[n++] = world_git_env[i];
	env[n] = NULL;
	{
		const char *argv[512];
		size_t k = 0;

		for (; words.argv[k] && k + 1 < COUNT(argv); k++)
			argv[k] = words.argv[k];
		argv[k] = NULL;
		argv[0] = "/usr/bin/git";
		const struct proc_spec spec = { .argv = argv, .env = env, .cwd = w->ws };

		if (proc_run(&spec, buf_str(&in), 10000, &out, &errs, &st, &err) < 0) {
			exit_job(w, PEER_GIT, id, 0, JOB_LOST, str_from(err.msg));
			return;
		}
	}
	start_job(w, PEER_GIT, id, buf_str(&out), buf_str(&errs));
	exit_job(w, PEER_GIT, id, st.code, JOB_EXITED, STR(""));
}

/* ---- the recorder and the monitor ---- */

/* As the recorder does it. */
static void write_disk(struct world *w, uint8_t what, uint32_t arg, struct str name, struct str text)
{
	struct err err = { 0 };
	int r = 0;

	switch (what) {
	case RECORD_EVENT:
		r = store_event(w->store, EVENT_AGENT, name, text, &err);
		break;
	case RECORD_MESSAGE:
		r = store_message(w->store, arg, text, &err);
		break;
	case RECORD_STATE:
		r = store_state(w->store, arg, text, &err);
		break;
	case RECORD_TRANSCRIPT:
		r = store_transcript(w->store, arg, name, text, &err);
		break;
	case RECORD_IN_FLIGHT:
		r = store_in_flight(w->store, text, &err);
		break;
	case RECORD_RESTART:
		r = store_restart(w->store, arg, &err);
		break;
	case RECORD_GRAPH:
		r = graph_disk_apply(w->graph_disk, arg, text, &err);
		break;
	}
	if (r < 0)
		fail_msg("the disk refuses %.*s: %s", STR_ARG(name), err.msg);
}

void world_replay(struct world *w, struct replay_report *out)
{
	struct err err = { 0 };

	CHECK_OK(store_sync(w->store, &err));
	CHECK_OK(graph_disk_sync(w->graph_disk, &err));
	CHECK_OK(replay_run(w->disk.fd, out, &err));
}

static void keep_record(struct world *w, uint8_t what, uint32_t arg, struct str name, struct str text)
{
	const struct event_type *t = event_find(name);
	struct err err = { 0 };
	struct graph_op op;
	json_t *j = NULL;

	w->dirty = true;
	if (w->store)
		write_disk(w, what, arg, name, text);
	if (what == RECORD_EVENT)
		CHECK(text.n <= EVENT_JSON_MAX);
	if (what == RECORD_IN_FLIGHT)
		w->in_flight = text.n > 0;
	if (what == RECORD_FILE || what == RECORD_IN_FLIGHT)
		return;
	if (what == RECORD_GRAPH) { /* as the recorder keeps it: refused, it would drop the agent */
		CHECK_OK(graph_op_decode(text, w->mem, &op, &err));
		if (arg <= w->graph->version)
			CHECK_OK(buf_addf(&w->graph_lines, &err, "{\"graph_version\":%u,\"op\":\"back\",\"to\":%u}\n", arg - 1, arg - 1));
		CHECK(arg <= w->graph->version + 1);
		CHECK_OK(graph_line(text, arg, 1, &w->graph_lines, &err));
		graph_free(w->graph);
		w->graph = graph_new();
		CHECK_INT(graph_fold(w->graph, buf_str(&w->graph_lines), -1), 0);
		return;
	}
	if (what == RECORD_NOTE) {
		if (json_decode(text, JSON_EXACT, &j, &err) < 0)
			fail_msg("a note that is no JSON: %s", err.msg);
		CHECK(note_id_ok(name));
		json_object_set_new(j, "id", json_text(name));
		json_array_append_new(w->notes, j);
		return;
	}
	if (what == RECORD_RESTART) {
		while (json_array_size(w->messages) > arg)
			json_array_remove(w->messages, json_array_size(w->messages) - 1);
		return;
	}
	if (json_decode(text, JSON_EXACT, &j, &err) < 0)
		fail_msg("the record got what is no JSON: %s: %.*s", err.msg, STR_ARG(text));
	if (what == RECORD_EVENT) {
		if (!t || event_check(t, j, &err) < 0)
			fail_msg("the record refuses %.*s: %s", STR_ARG(name), err.msg);
		json_object_set_new(j, "type", json_text(name));
		if (str_eqz(name, "loop.parked"))
			act(w, json_view(json_array_get(json_object_get(w->script, "parked"), w->parked++)));
		w->dirty = w->dirty && arg == 0;
		json_array_append_new(arg ? w->deltas : w->events, j);
	} else if (what == RECORD_MESSAGE) {
		CHECK_INT(arg, json_array_size(w->messages));
		json_array_append_new(w->messages, j);
	} else if (what == RECORD_STATE) {
		w->in_flight = 0;
		json_decref(w->state);
		w->state = j;
	} else if (what == RECORD_TRANSCRIPT && str_eqz(name, "prompt")) {
		json_decref(w->prompt);
		w->prompt = j;
	} else if (what == RECORD_TRANSCRIPT) {
		json_array_append_new(w->transcripts, j);
	} else {
		json_object_update_recursive(w->manifest, j);
		json_decref(j);
	}
}

static void on_load(struct world *w)
{
	auto_buf struct buf body = BUF_MAX(4096), bytes = BUF_MAX(1 << 24), text = BUF_MAX(1 << 24);
	autoclose int fd = -1;

	pack_u8(&body, w->prior != NULL);
	pack_str(&body, STR(""));
	if (w->prior) {
		pack_u32(&bytes, (uint32_t)json_get_int(w->prior->state, "next_iteration", 0));
		BUG_IF(json_add(&text, w->prior->state, ERR_DISCARD) < 0);
		pack_str(&bytes, buf_str(&text));
		pack_str(&bytes, STR(""));
		pack_u32(&bytes, (uint32_t)json_array_size(w->prior->messages));
		for (size_t i = 0; i < json_array_size(w->prior->messages); i++) {
			buf_clear(&text);
			BUG_IF(json_add(&text, json_array_get(w->prior->messages, i), ERR_DISCARD) < 0);
			pack_str(&bytes, buf_str(&text));
		}
		if (w->prior->graph_lines.n > 0) {
			pack_str(&bytes, buf_str(&w->prior->graph_lines));
			BUG_IF(buf_add(&w->graph_lines, buf_str(&w->prior->graph_lines), ERR_DISCARD) < 0);
			graph_fold(w->graph, buf_str(&w->graph_lines), -1);
		}
		BUG_IF(memfd_seal("loaded", buf_str(&bytes), &fd, ERR_DISCARD) < 0);
		json_array_extend(w->messages, w->prior->messages);
	}
	say(w->fds[PEER_RECORDER], WIRE_LOADED, &body, &fd, fd >= 0 ? 1 : 0);
}

static void say_synced(struct world *w)
{
	say_number(w, PEER_RECORDER, WIRE_SYNCED, w->syncing);
	w->syncing = 0;
}

static void on_record(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	auto_buf struct buf large = BUF_MAX(1 << 26);
	autoclose int fd = chan_take_fd(m, 0);
	bool was = w->dirty;

	if (m->type == WIRE_SYNC) {
		w->dirty = false;
		w->syncing = unpack_u32(&u);
		if (!w->late_sync)
			say_synced(w);
		return;
	}
	if (m->type == WIRE_LOAD) {
		on_load(w);
		return;
	}
	uint8_t what = unpack_u8(&u);
	uint32_t arg = unpack_u32(&u);
	struct str name = unpack_str(&u), text = unpack_str(&u);

	if (fd >= 0) {
		BUG_IF(memfd_read(fd, &large, ERR_DISCARD) < 0);
		text = buf_str(&large);
	}
	keep_record(w, what, arg, name, text);
	if (what == RECORD_EVENT && arg != 0)
		w->dirty = was; /* volatile */
	else
		w->early_acts += w->syncing != 0;
}

static void on_agent(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	auto_buf struct buf b = BUF_MAX(4096);
	const json_t *nth = json_array_get(json_object_get(w->script, "answers"), (size_t)w->asked);
	struct str answer_text = nth ? json_view(nth) : json_get_str(w->script, "answer");

	if (m->type == WIRE_DONE) {
		w->done = true;
		w->code = unpack_u8(&u);
		w->discard = unpack_u8(&u) != 0;
		w->reason = str_dup(w->mem, unpack_str(&u));
		w->message = str_dup(w->mem, unpack_str(&u));
		return;
	}
	w->asked++;
	pack_u32(&b, unpack_u32(&u));
	pack_u8(&b, answer_text.n > 0);
	pack_strs(&b, &answer_text, 1);
	say(w->fds[PEER_MONITOR], WIRE_ANSWER, &b, NULL, 0);
}

static void serve(struct world *w)
{
	static const struct {
		enum wire_link link;
		void (*fn)(struct world *w, struct chan_msg *m);
	} peers[PEER_COUNT] = { [PEER_MONITOR] = { LINK_MONITOR_AGENT, on_agent },
		[PEER_ZYGOTE] = { LINK_ZYGOTE_AGENT, on_job },
		[PEER_GIT] = { LINK_ZYGOTE_AGENT, on_git },
		[PEER_CLIENT] = { LINK_CLIENT_AGENT, on_request },
		[PEER_RECORDER] = { LINK_RECORDER_AGENT, on_record } };
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	size_t open = PEER_COUNT;

	while (open > 0) {
		struct pollfd p[PEER_COUNT];
		struct err err = { 0 };

		for (int i = 0; i < PEER_COUNT; i++)
			p[i] = (struct pollfd){ .fd = w->fds[i], .events = POLLIN };
		int ready = poll(p, PEER_COUNT, w->syncing != 0 ? QUIET_MS : DEADLINE_MS);
		if (ready == 0 && w->syncing != 0) {
			say_synced(w);
			continue;
		}
		if (ready == 0) {
			kill(w->child, SIGKILL);
			fail_msg("the agent said nothing for too long");
		}
		/* The recorder first: what was sent before a request counts as sent before it. */
		for (int i = PEER_COUNT - 1; i >= 0; i--) {
			if (p[i].revents == 0)
				continue;
			if (chan_recv(w->fds[i], m, &err) < 0) {
				base_close_fd(&w->fds[i]);
				open--;
				continue;
			}
			CHECK_OK(wire_check(peers[i].link, WIRE_UP, m->type, m->body.n, m->nfds, &err));
			peers[i].fn(w, m);
			chan_msg_fini(m);
			break; /* and look at the recorder again */
		}
	}
}

static void start(struct world *w)
{
	int ours[PEER_COUNT], theirs[PEER_COUNT];

	for (int i = 0; i < PEER_COUNT; i++) {
		int pair[2];

		BUG_IF(chan_pair(pair, ERR_DISCARD) < 0);
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	w->child = fork();
	BUG_IF(w->child < 0);
	if (w->child == 0) {
		struct links l;
		struct err err = { 0 };
		int r;

		for (int i = 0; i < PEER_COUNT; i++)
			close(ours[i]);
		links_init(&l, theirs);
		r = agent_serve(&l, false, &err);
		links_fini(&l);
		if (r < 0)
			fprintf(stderr, "agent: %s\n", err.msg);
		_exit(r < 0);
	}
	for (int i = 0; i < PEER_COUNT; i++) {
		close(theirs[i]);
		w->fds[i] = ours[i];
	}
}

/* Every run of a test is an honest one, so every decision of it must come out again. */
static void replay_clean(struct world *w)
{
	struct replay_report again;

	world_replay(w, &again);
	if (again.seq != 0)
		fail_msg("made again it differs at event %lld, %s, turn %lld: %s: was %s, is %s", (long long)again.seq, again.type,
			(long long)again.turn, again.what, again.was, again.now);
}

void world_play(struct world *w, const char *script)
{
	auto_buf struct buf go = BUF_MAX(1 << 24), none = BUF_MAX(1);
	autoclose int fd = -1;
	struct err err = { 0 };

	CHECK_OK(json_decode(str_from(script), JSON_EXACT, &w->script, &err));
	if (!w->prior) { /* a leg alone has no beginning */
		int64_t torn, bad;

		w->disk = test_dir_new();
		CHECK_OK(store_open(w->disk.fd, &w->store, &err));
		CHECK_OK(graph_disk_open(w->disk.fd, &w->graph_disk, &torn, &bad, &err));
	}
	start(w);
	CHECK_OK(run_params_pack(&w->params, &go, &err));
	CHECK_OK(memfd_seal("go", buf_str(&go), &fd, &err));
	say(w->fds[PEER_MONITOR], WIRE_GO, &none, &fd, 1);
	if (json_get_str(w->script, "steer").n > 0)
		say_text(w, PEER_MONITOR, WIRE_STEER, json_get_str(w->script, "steer"));
	serve(w);
	waitpid(w->child, &w->status, 0);
	if (w->store)
		replay_clean(w);
}
