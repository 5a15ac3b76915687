/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The recorded answers of the wires, fed whole, in pieces of every size and cut at every place.
 * They are shared between projects and live outside this repository. */
#include "fmt/json.h"
#include "provider/provider.h"
#include "test/lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct fixture {
	char name[256];
	json_t *expect;
	enum api_wire wire;
	struct reply_head head;
	struct buf raw, body, tools;
};

static int open_dir(void)
{
	const char *shared = getenv("AGENT6_SHARED"), *source = getenv("AGENT6_SOURCE");
	char path[1024];

	if (shared)
		snprintf(path, sizeof(path), "%s/protocols/fixtures", shared);
	else
		snprintf(path, sizeof(path), "%s/../shared/protocols/fixtures", source ? source : ".");
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void read_all(int dir, const char *name, struct buf *out)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char part[65536];
	ssize_t n;

	CHECK(fd >= 0);
	while ((n = read(fd, part, sizeof(part))) > 0)
		CHECK(buf_add(out, str_of(part, (size_t)n), ERR_DISCARD) == 0);
	CHECK(n == 0);
}

static int64_t milliseconds(struct str value, double factor)
{
	double v;

	return str_to_f64(value, &v, ERR_DISCARD) == 0 ? (int64_t)llround(v * factor) : -1;
}

static void add_chunks(struct str rest, struct buf *out)
{
	while (rest.n > 0) {
		autofree char *line = mem_alloc(64);
		struct str size = str_trim(str_line(&rest));
		unsigned long n;

		memcpy(line, size.p, size.n < 63 ? size.n : 63);
		n = strtoul(line, NULL, 16);
		CHECK(buf_add(out, str_head(rest, n), ERR_DISCARD) == 0);
		rest = str_skip(rest, n + 2);
	}
}

/* What the client does with a response before the body reaches this room. */
static void read_http(struct fixture *f)
{
	struct str rest = buf_str(&f->raw), line = str_line(&rest);
	bool chunked = false;
	int64_t ms = -1, seconds = -1;

	f->head = REPLY_HEAD((int)strtol(line.p + 9, NULL, 10));
	while ((line = str_trim(str_line(&rest))).n > 0) {
		struct str value = line, key = str_cut(&value, ':');
		char name[64] = { 0 };

		for (size_t i = 0; i < key.n && i < 63; i++)
			name[i] = (char)(key.p[i] | 0x20);
		value = str_trim(value);
		if (strcmp(name, "transfer-encoding") == 0)
			chunked = true;
		if (strcmp(name, "retry-after-ms") == 0)
			ms = milliseconds(value, 1);
		if (strcmp(name, "retry-after") == 0)
			seconds = milliseconds(value, 1000);
		if (strcmp(name, "x-should-retry") == 0)
			f->head.should_retry = str_eq(value, STR("true"));
		if (strstr(name, "request-id"))
			f->head.request_id = value;
	}
	f->head.retry_after_ms = ms >= 0 ? ms : seconds;
	if (chunked)
		add_chunks(rest, &f->body);
	else
		CHECK(buf_add(&f->body, rest, ERR_DISCARD) == 0);
}

static void read_tools(struct fixture *f)
{
	json_t *names = json_object_get(json_object_get(f->expect, "options"), "recover_tools"), *name;
	size_t i;

	json_array_foreach(names, i, name)
		CHECK(buf_addf(&f->tools, ERR_DISCARD, "%s{\"name\":\"%s\",\"input_schema\":{\"type\":\"object\"}}",
			i > 0 ? "," : "[", json_string_value(name)) == 0);
	if (f->tools.n > 0)
		CHECK(buf_addc(&f->tools, ']', ERR_DISCARD) == 0);
}

/* False when the case belongs to a wire that we do not speak. */
static bool load(int dir, const char *expect_name, struct fixture *f)
{
	auto_buf struct buf text = BUF_MAX(16 << 20);
	struct err err = { 0 };
	const char *input;

	read_all(dir, expect_name, &text);
	CHECK_OK(json_decode(buf_str(&text), JSON_EXACT, &f->expect, &err));
	if (str_eq(json_get_str(f->expect, "protocol"), STR("anthropic")))
		f->wire = API_ANTHROPIC;
	else if (str_eq(json_get_str(f->expect, "protocol"), STR("openai-chat")))
		f->wire = API_CHAT;
	else if (str_eq(json_get_str(f->expect, "protocol"), STR("openai-responses")))
		f->wire = API_RESPONSES;
	else
		return false;
	input = json_string_value(json_object_get(f->expect, "input"));
	f->head = REPLY_HEAD(200);
	if (strstr(input, ".http")) {
		read_all(dir, input, &f->raw);
		read_http(f);
	} else {
		read_all(dir, input, &f->body);
	}
	read_tools(f);
	return true;
}

static void fixture_fini(struct fixture *f)
{
	json_decref(f->expect);
	buf_fini(&f->raw);
	buf_fini(&f->body);
	buf_fini(&f->tools);
}

static void collect_piece(void *self, struct str piece)
{
	CHECK(utf8_valid(piece));
	CHECK(buf_add(self, piece, ERR_DISCARD) == 0);
}

struct outcome {
	struct reply reply;
	struct provider_fault fault;
	int r;
	struct buf shown, thoughts;
};

static void outcome_fini(struct outcome *o)
{
	buf_fini(&o->shown);
	buf_fini(&o->thoughts);
}

static void on_text(void *self, struct str piece)
{
	collect_piece(&((struct outcome *)self)->shown, piece);
}

static void on_thinking(void *self, struct str piece)
{
	collect_piece(&((struct outcome *)self)->thoughts, piece);
}

static void feed(const struct fixture *f, struct str body, size_t step, struct arena *mem, struct outcome *o)
{
	struct model_spec spec = MODEL_SPEC;
	struct reply_watch watch = { on_text, on_thinking, o };
	auto_reply struct reply_stream *s = NULL;

	spec.wire = f->wire;
	spec.model = STR("m");
	spec.think_tags = json_is_true(json_object_get(json_object_get(f->expect, "options"), "think_tags"));
	o->shown = BUF_MAX(16 << 20);
	o->thoughts = BUF_MAX(16 << 20);
	s = reply_new(&spec, buf_str(&f->tools), &watch, mem);
	reply_head(s, f->head);
	for (; body.n > 0; body = str_skip(body, step))
		reply_feed(s, str_head(body, step));
	o->r = reply_end(s, OVER_EOF, STR(""), &o->reply, &o->fault);
}

static const char *wrong; /* what differs first, for the message */
static size_t failures;

static bool is(bool ok, const char *what)
{
	if (!ok && !wrong)
		wrong = what;
	return ok;
}

static bool text_is(struct str got, const json_t *want)
{
	return json_is_string(want) ? str_eq(got, json_view(want)) : got.n == 0;
}

static bool json_is_text(struct str got, const json_t *want)
{
	auto_json json_t *tree = NULL;

	return json_decode(got, JSON_EXACT, &tree, ERR_DISCARD) == 0 && json_equal(tree, want);
}

static void compare_calls(const struct reply *r, const json_t *want)
{
	is(r->ncalls == json_array_size(want), "the number of calls");
	for (size_t i = 0; i < r->ncalls && i < json_array_size(want); i++) {
		const struct reply_call *c = &r->calls[i];
		const json_t *w = json_array_get(want, i), *extra = json_object_get(w, "extra");
		bool error = json_is_true(json_object_get(w, "args_error"));

		is(text_is(c->id, json_object_get(w, "id")), "a call's id");
		is(text_is(c->name, json_object_get(w, "name")), "a call's name");
		is(c->args_error == error, "args_error");
		is(error || json_is_text(c->args, json_object_get(w, "args")), "a call's arguments");
		is(!error || text_is(c->raw_args, json_object_get(w, "raw_args")), "raw arguments");
		is(c->recovered == json_is_true(json_object_get(w, "recovered")), "recovered");
		is(extra ? json_is_text(c->extra, extra) : c->extra.n == 0, "extra content");
	}
}

static void compare_usage(const struct usage *u, const json_t *want)
{
	const json_t *cost = json_object_get(want, "cost"), *reasoning = json_object_get(want, "reasoning");

	if (!json_is_object(want)) {
		is(u->known == 0 && u->input == 0, "usage out of nothing");
		return;
	}
	is(u->input == json_get_int(want, "input", 0), "usage.input");
	is(u->output == json_get_int(want, "output", 0), "usage.output");
	is(u->cache_read == json_get_int(want, "cache_read", 0), "usage.cache_read");
	is(u->cache_write == json_get_int(want, "cache_write", 0), "usage.cache_write");
	is(json_is_null(reasoning) == !(u->known & USAGE_REASONING), "usage.reasoning");
	is(json_is_null(reasoning) || u->reasoning == json_integer_value(reasoning), "usage.reasoning");
	is(json_is_null(cost) == !(u->known & USAGE_COST), "usage.cost");
	is(json_is_null(cost) || llround(json_number_value(cost) * 1e12) == u->cost_picousd, "usage.cost");
}

static void compare_fault(const struct outcome *o, const json_t *want)
{
	const struct provider_fault *f = &o->fault;
	struct str kind = json_get_str(want, "kind"), message = json_get_str(want, "message");

	is((o->r < 0) == json_is_object(want), "whether it failed");
	if (o->r == 0 || !json_is_object(want))
		return;
	is(str_eqz(kind, provider_fault_name(f->kind)), "the kind of fault");
	is(f->retryable == json_is_true(json_object_get(want, "retryable")), "retryable");
	is(f->retry_after_ms == json_get_int(want, "retry_after_ms", -1), "retry_after_ms");
	is(text_is(str_from(f->request_id), json_object_get(want, "request_id")), "the request id");
	is(o->reply.message.n == 0, "half an answer is no turn");
	if (f->kind == FAULT_INCOMPLETE)
		return;
	is(str_eqz(message, f->message) ||
		(str_starts(message, STR("[")) && strstr(f->message, "Extra inputs are not permitted")),
		"the message");
}

/* The items of the next request: each wanted member stands in the reasoning item of that place. */
static void compare_items(const struct reply *r, const json_t *want)
{
	auto_conversation struct conversation *c = conversation_new();
	auto_buf struct buf body = BUF_MAX(16 << 20);
	auto_json json_t *request = NULL;
	struct model_spec spec = MODEL_SPEC;
	size_t first, n = 0, i;
	json_t *item;

	spec.wire = API_RESPONSES;
	spec.model = STR("m");
	CHECK(conversation_add_user(c, STR("x"), ERR_DISCARD) == 0 && conversation_add(c, r->message, ERR_DISCARD) == 0);
	CHECK(conversation_repair(c, &first, ERR_DISCARD) >= 0);
	CHECK(request_encode(&spec, c, NULL, &body, ERR_DISCARD) == 0);
	CHECK(json_decode(buf_str(&body), JSON_EXACT, &request, ERR_DISCARD) == 0);
	json_array_foreach(json_object_get(request, "input"), i, item) {
		json_t *wanted = json_array_get(want, n), *value;
		const char *key;

		if (!str_eq(json_get_str(item, "type"), STR("reasoning")))
			continue;
		n++;
		is(!json_object_get(item, "id"), "an item that was not stored has no id");
		json_object_foreach(wanted, key, value)
			is(json_equal(json_object_get(item, key), value), "a reasoning item that goes back");
	}
	is(n == json_array_size(want), "the number of reasoning items that go back");
}

/* Thinking that must go back: signed and redacted blocks in order, or the details of a router. */
static void compare_replay(enum api_wire wire, const struct reply *r, const json_t *want)
{
	auto_json json_t *message = NULL, *kept = json_array();
	json_t *block;
	size_t i;

	if (!want)
		return;
	if (wire == API_RESPONSES) {
		compare_items(r, want);
		return;
	}
	if (!is(json_decode(r->message, JSON_EXACT, &message, ERR_DISCARD) == 0, "the message is JSON"))
		return;
	json_array_foreach(json_object_get(message, "content"), i, block) {
		if (json_object_get(block, "details"))
			is(json_equal(json_object_get(block, "details"), json_object_get(want, "reasoning_details")),
				"reasoning_details");
		else if (json_object_get(block, "signature") || json_object_get(block, "data"))
			json_array_append(kept, block);
	}
	is(json_is_object(want) || json_equal(kept, want), "the thinking that goes back");
}

static void compare(const struct fixture *f, const struct outcome *o)
{
	const json_t *want = json_object_get(f->expect, "result"), *stop = json_object_get(want, "stop");
	const struct reply *r = &o->reply;

	wrong = NULL;
	compare_fault(o, json_object_get(want, "error"));
	if (json_is_string(json_object_get(want, "text")))
		is(text_is(r->text, json_object_get(want, "text")), "the text");
	else
		is((json_int_t)r->text.n == json_get_int(want, "text_bytes", -1), "the length of the text");
	is(text_is(r->thinking, json_object_get(want, "thinking")), "the thinking");
	compare_calls(r, json_object_get(want, "tool_calls"));
	is(json_is_null(stop) || str_eqz(json_view(stop), reply_stop_name(r->stop)), "the stop reason");
	is(text_is(r->stop_raw, json_object_get(want, "stop_raw")), "the raw stop reason");
	is(text_is(r->model, json_object_get(want, "model")), "the model");
	compare_usage(&r->usage, json_object_get(want, "usage"));
	compare_replay(f->wire, r, json_object_get(f->expect, "replay"));
	is(str_eq(buf_str(&o->shown), r->text), "what was shown live");
	is(str_eq(buf_str(&o->thoughts), r->thinking), "the thinking shown live");
	if (json_object_get(f->expect, "also"))
		is(strstr(o->fault.hint, "Responses") != NULL, "the hint");
}

static void in_pieces(const struct fixture *f)
{
	size_t n = f->body.n, most = n < 4096 ? n : 64;

	for (size_t step = n + 1;; step = step > n || step > most ? most : step - 1) {
		auto_arena struct arena *mem = arena_new();
		CLEANUP(outcome_fini) struct outcome o = { 0 };

		feed(f, buf_str(&f->body), step, mem, &o);
		compare(f, &o);
		if (wrong)
			print_error("%s in pieces of %zu: %s differs (%d %s)\n", f->name, step, wrong, o.r,
				o.fault.message);
		failures += wrong != NULL;
		if (step <= 1 || wrong)
			return;
	}
}

/* A cut answer may be no turn; if it is one, everything that ends a turn was there. */
static void cut_anywhere(const struct fixture *f)
{
	size_t n = f->body.n < 8192 ? f->body.n : 8192;

	for (size_t cut = 0; cut < n; cut++) {
		auto_arena struct arena *mem = arena_new();
		CLEANUP(outcome_fini) struct outcome o = { 0 };

		feed(f, str_head(buf_str(&f->body), cut), 100, mem, &o);
		CHECK(o.r == 0 ? o.fault.message[0] == '\0' : o.reply.message.n == 0 && o.fault.message[0]);
		CHECK(utf8_valid(o.reply.text) && utf8_valid(o.reply.message) && utf8_valid(str_from(o.fault.message)));
	}
}

static void for_each(void (*act)(const struct fixture *f))
{
	int fd = open_dir();
	size_t seen = 0;
	DIR *d;

	if (fd < 0)
		TEST_SKIP("the recorded provider answers (AGENT6_SHARED/protocols/fixtures) are not here");
	failures = 0;
	d = fdopendir(fd);
	CHECK(d);
	for (struct dirent *e; (e = readdir(d));) {
		CLEANUP(fixture_fini) struct fixture f = { .raw = BUF_MAX(16 << 20), .body = BUF_MAX(16 << 20),
			.tools = BUF_MAX(4096) };

		if (!str_ends(str_from(e->d_name), STR(".expect.json")))
			continue;
		snprintf(f.name, sizeof(f.name), "%s", e->d_name);
		if (!load(fd, e->d_name, &f))
			continue;
		seen++;
		act(&f);
	}
	closedir(d);
	CHECK(seen >= 108);
	CHECK_INT(failures, 0);
}

TEST(provider_fixtures_give_their_result_in_pieces_of_every_size)
{
	for_each(in_pieces);
}

TEST(provider_fixtures_cut_anywhere_never_become_half_a_turn)
{
	for_each(cut_anywhere);
}
