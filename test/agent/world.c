/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world_priv.h"

#include "agent/agent.h"
#include "agent/replay.h"

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

void world_say(int fd, uint16_t type, const struct buf *body, const int *fds, size_t nfds)
{
	(void)!chan_send(fd, type, buf_str(body), fds, nfds, ERR_DISCARD); /* the agent may be gone already */
}

void world_say_number(struct world *w, enum peer p, uint16_t type, uint32_t v)
{
	auto_buf struct buf b = BUF_MAX(64);

	if (type == WIRE_STOP)
		pack_u8(&b, (uint8_t)v);
	else
		pack_u32(&b, v);
	world_say(w->fds[p], type, &b, NULL, 0);
}

static void say_text(struct world *w, enum peer p, uint16_t type, struct str text)
{
	auto_buf struct buf b = BUF_MAX(65536);

	pack_str(&b, text);
	world_say(w->fds[p], type, &b, NULL, 0);
}

/* ---- the monitor ---- */

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
			world_say(w->fds[PEER_MONITOR], WIRE_TELL, &b, NULL, 0);
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

void world_act(struct world *w, struct str what)
{
	note_act(w, what);
	if (str_eqz(what, "stop"))
		world_say_number(w, PEER_MONITOR, WIRE_STOP, STOP_AFTER_STEP);
	else if (str_eqz(what, "now"))
		world_say_number(w, PEER_MONITOR, WIRE_STOP, STOP_NOW);
	else if (str_eqz(what, "lost"))
		say_text(w, PEER_RECORDER, WIRE_LOST, STR("No space left on device"));
	else if (str_starts(what, STR("steer ")))
		say_text(w, PEER_MONITOR, WIRE_STEER, str_skip(what, 6));
	else if (str_starts(what, STR("go on: "))) { /* words at the pause, as the terminal says them */
		say_text(w, PEER_MONITOR, WIRE_STEER, str_skip(what, 7));
		tell(w, STR("continue"));
	}
	else
		tell(w, what);
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
	world_say(w->fds[PEER_MONITOR], WIRE_ANSWER, &b, NULL, 0);
}

static void serve(struct world *w)
{
	static const struct {
		enum wire_link link;
		void (*fn)(struct world *w, struct chan_msg *m);
	} peers[PEER_COUNT] = { [PEER_MONITOR] = { LINK_MONITOR_AGENT, on_agent },
		[PEER_ZYGOTE] = { LINK_ZYGOTE_AGENT, world_on_job },
		[PEER_GIT] = { LINK_ZYGOTE_AGENT, world_on_git },
		[PEER_CLIENT] = { LINK_CLIENT_AGENT, world_on_request },
		[PEER_RECORDER] = { LINK_RECORDER_AGENT, world_on_record } };
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	size_t open = PEER_COUNT;

	while (open > 0) {
		struct pollfd p[PEER_COUNT];
		struct err err = { 0 };

		for (int i = 0; i < PEER_COUNT; i++)
			p[i] = (struct pollfd){ .fd = w->fds[i], .events = POLLIN };
		int ready = poll(p, PEER_COUNT, w->syncing != 0 ? QUIET_MS : DEADLINE_MS);
		if (ready == 0 && w->syncing != 0) {
			world_say_synced(w);
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
	world_say(w->fds[PEER_MONITOR], WIRE_GO, &none, &fd, 1);
	if (json_get_str(w->script, "steer").n > 0)
		say_text(w, PEER_MONITOR, WIRE_STEER, json_get_str(w->script, "steer"));
	serve(w);
	waitpid(w->child, &w->status, 0);
	if (w->store)
		replay_clean(w);
}
