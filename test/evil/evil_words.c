/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* A record in which every text that the agent may write would steer a terminal, or pose as a question, if it came there as it is:
 * each event of its own, each member, each file, the conversation, transcripts, tasks, notes, a commit and its names. */
#include "evil.h"

#include "fmt/pack.h"
#include "git/gitop.h"
#include "session/event.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Clipboard, title, a device's answer, C1, a turn, nothing, one line back, and a question; as JSON and as it is. */
#define JSON_WORDS "\\u001b]52;c;b3duZWQ=\\u0007\\u001b]0;owned\\u001b\\\\\\u001b[2J\\u001bP+q544e\\u001b\\\\\\u009b2J\\u202edenwo\\u200b\\u007f\\b\\r? Allow owned\\n? Allow owned"
#define RAW_WORDS  "\x1b]52;c;b3duZWQ=\a\x1b]0;owned\x1b\\\x1b[2J\x1bP+q544e\x1b\\\xc2\x9b" "2J\xe2\x80\xae" "denwo\xe2\x80\x8b\x7f\b\r? Allow owned\n\x9b" "2J? Allow owned"
#define W          "\"" JSON_WORDS "\""
#define TASK       "01ARZ3NDEKTSV4RRFFQ69G5FAV"

static void put(struct evil *e, enum record_what what, uint32_t arg, const char *name, struct str json)
{
	if (!evil_record(e, what, arg, name, json))
		evil_say(e, "FAIL the recorder hung up at %s", name);
}

/* Of these the recorder takes no other than what the monitor set. */
static const char *known(const struct evil *e, const char *name, const char *otherwise)
{
	if (strcmp(name, "user_task") == 0)
		return "\"evil words\"";
	if (strcmp(name, "isolation") == 0)
		return str_eqz(e->params.isolation, "strict") ? "\"strict\"" : "\"hardened\"";
	return otherwise;
}

static void event(struct evil *e, const struct event_type *t)
{
	static const char *const values[] = { [EVENT_STR] = W, [EVENT_INT] = "1", [EVENT_NUM] = "1.5", [EVENT_BOOL] = "false",
		[EVENT_STRS] = "[" W "," W "]", [EVENT_LIST] = "[" W ",{\"question\":" W ",\"options\":[" W "],\"title\":" W ",\"model\":" W "}]",
		[EVENT_OBJ] = "{" W ":" W ",\"text\":" W ",\"path\":" W ",\"argv\":[" W "],\"scope\":" W "}" };
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	BUG_IF(buf_addz(&b, "{", ERR_DISCARD) < 0);
	for (size_t i = 0; i < t->nfields; i++)
		BUG_IF(buf_addf(&b, ERR_DISCARD, "%s\"%s\":%s", i > 0 ? "," : "", t->fields[i].name, known(e, t->fields[i].name, values[t->fields[i].kind])) < 0);
	BUG_IF(buf_addz(&b, "}", ERR_DISCARD) < 0);
	put(e, RECORD_EVENT, (t->flags & EVENT_VOLATILE) != 0, t->type, buf_str(&b));
}

static void conversation(struct evil *e)
{
	static const char *const messages[] = { "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":" W "}]}",
		"{\"role\":\"assistant\",\"from\":" W ",\"content\":[{\"type\":\"thinking\",\"thinking\":" W "},{\"type\":\"text\",\"text\":" W "},"
		"{\"type\":\"tool_use\",\"id\":" W ",\"name\":" W ",\"input\":{" W ":" W "}}]}",
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":" W ",\"content\":" W "}]}" };

	for (uint32_t i = 0; i < COUNT(messages); i++)
		put(e, RECORD_MESSAGE, i, "", str_from(messages[i]));
	put(e, RECORD_STATE, 1, "", STR("{\"turn\":1," W ":" W ",\"pins\":[" W "]}"));
	put(e, RECORD_TRANSCRIPT, 1, "worker", STR("{\"endpoint\":0,\"request\":{\"messages\":[{\"role\":\"user\",\"content\":" W "}]},\"status\":200,"
						   "\"response\":" W "}"));
}

static void files(struct evil *e)
{
	static const char *const names[] = { "plan.md", "untracked-at-start", "transcript.md", "result.md" };

	for (size_t i = 0; i < COUNT(names); i++)
		put(e, RECORD_FILE, 0, names[i], STR("# " RAW_WORDS "\n- " RAW_WORDS "\n"));
	put(e, RECORD_FILE, 0, "questions.json", STR("{\"questions\":[{\"id\":" W ",\"question\":" W ",\"options\":[" W "]}]}"));
	put(e, RECORD_FILE, 0, "result.json", STR("{" W ":" W "}"));
	put(e, RECORD_MANIFEST, 0, "", STR("{\"run_branch\":" W ",\"workflow\":{\"verify_command\":[" W "],\"verify_origin\":" W "}}"));
	put(e, RECORD_GRAPH, 1, "", STR("{\"op\":\"add_subtask\",\"id\":\"" TASK "\",\"title\":" W ",\"rationale\":" W ",\"acceptance\":" W ",\"by\":\"x\","
					"\"relevant_paths\":[" W "]}"));
	put(e, RECORD_NOTE, 0, "m-00000001", STR("{\"scope\":\"owned\",\"text\":" W "}"));
}

static struct str git(struct evil *e, uint8_t op, const struct str *args, size_t n, struct str in, char out[128])
{
	auto_buf struct buf b = BUF_MAX(4096);
	int fd = in.n > 0 ? evil_memfd(in, true) : -1;
	size_t got = 0;

	pack_u32(&b, ++e->job);
	pack_u8(&b, op);
	pack_strs(&b, args, n);
	evil_send(e, PEER_GIT, WIRE_GIT, buf_str(&b), &fd, fd >= 0);
	base_close_fd(&fd);
	for (bool over = false; !over;) {
		ssize_t r = 0;

		if (chan_recv(3 + PEER_GIT, e->msg, ERR_DISCARD) < 0)
			break;
		over = e->msg->type == WIRE_EXIT;
		while (!over && got < 100 && (r = read(e->msg->fds[0], out + got, 100 - got)) > 0)
			got += (size_t)r;
		chan_msg_fini(e->msg);
	}
	while (got > 0 && out[got - 1] == '\n')
		got--;
	return str_of(out, got);
}

/* A file whose name and content are such words, with a message of them, as the run's newest step. */
static void commit(struct evil *e)
{
	static const char name[] = "\x1b]0;owned\a\xe2\x80\xae" "x.txt";
	char head_out[128], tree_out[128], commit_out[128], none[128];
	const struct str head = STR("HEAD"), zero = STR("0000000000000000000000000000000000000000");
	struct str at = git(e, GIT_RESOLVE, &head, 1, STR(""), head_out);
	int fd = openat(e->workspace, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	BUG_IF(fd < 0 || write(fd, RAW_WORDS "\n", sizeof(RAW_WORDS)) != sizeof(RAW_WORDS));
	base_close_fd(&fd);
	git(e, GIT_INDEX_RESET, &at, 1, STR(""), none);
	git(e, GIT_INDEX_ADD, NULL, 0, str_of(name, sizeof(name)), none);
	const struct str both[] = { git(e, GIT_INDEX_TREE, NULL, 0, STR(""), tree_out), at };
	struct str made = git(e, GIT_COMMIT, both, 2, STR(RAW_WORDS "\n\n" RAW_WORDS "\n"), commit_out);
	const struct str ref[] = { e->params.run_id, made, zero };

	git(e, GIT_STEP_REF, ref, COUNT(ref), STR(""), none);
	evil_say(e, "commit " STR_FMT, STR_ARG(made));
}

void evil_words(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(8192);

	commit(e);
	files(e);
	conversation(e);
	for (unsigned i = 0; i < EVENT_COUNT; i++)
		if (event_at((enum event_id)i)->flags & EVENT_AGENT && i != EVENT_RUN_END)
			event(e, event_at((enum event_id)i));
	event(e, event_at(EVENT_RUN_END));
	pack_u8(&b, 0);
	pack_u8(&b, 0);
	pack_str(&b, STR(RAW_WORDS));
	pack_str(&b, STR(RAW_WORDS));
	evil_say(e, "%s", evil_dropped(PEER_RECORDER, 0) ? "FAIL the recorder hung up" : "written");
	evil_send(e, PEER_MONITOR, WIRE_DONE, buf_str(&b), NULL, 0);
}
