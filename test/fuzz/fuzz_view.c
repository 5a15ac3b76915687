/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as the record of a run that every front-end reads: a journal, a conversation, what was loaded of both. Whatever stands
 * there, the state is bounded, an item is one of the table's, and searching finds nothing that steers a terminal. */
#include "fmt/json.h"
#include "session/record.h"
#include "view/fold.h"
#include "view/search.h"
#include "view/transcript.h"

#include "test/fuzz/place.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static int record_fd = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	record_fd = place_new();
	return 0;
}

/* Each line as it is, and as the event that its first byte names: the input need not spell that. */
static void fold(struct str text, enum view_mode mode)
{
	auto_view struct view *v = view_new(mode);

	for (struct str rest = text; rest.n > 0;) {
		auto_buf struct buf named = BUF_MAX(8192);
		struct str line = str_trim_suffix(str_line(&rest), STR("\n"));
		struct view_item item = view_line(v, line);

		BUG_IF(item.kind > VIEW_END);
		if (line.n < 1 || line.n > 4096)
			continue;
		BUG_IF(buf_addf(&named, ERR_DISCARD, "{\"seq\":1,\"ts\":\"2026-11-29T20:00:42.123456Z\",\"type\":\"%s\"" STR_FMT,
				event_at((enum event_id)((uint8_t)line.p[0] % EVENT_COUNT))->type, STR_ARG(str_skip(line, 1))) < 0);
		item = view_line(v, buf_str(&named));
		BUG_IF(item.kind > VIEW_END);
	}
	const struct view_state *s = view_state(v);

	BUG_IF(s->nprompts > VIEW_PROMPTS || s->nbackground > VIEW_BACKGROUND);
	BUG_IF(!view_status(s, true).word || !view_status(s, false).word);
}

static int on_item(void *self, const struct transcript_item *item, struct err *err)
{
	(void)self, (void)err;
	BUG_IF(!transcript_kind_word(item->kind) || item->turn < 0);
	return 0;
}

static int on_hit(void *self, const struct search_hit *hit, struct err *err)
{
	(void)self, (void)err;
	BUG_IF(hit->mark + hit->mark_n > hit->snippet.n || !utf8_valid(hit->snippet));
	for (size_t i = 0; i < hit->snippet.n; i++)
		BUG_IF((uint8_t)hit->snippet.p[i] < ' ' || hit->snippet.p[i] == 0x7f);
	return 0;
}

static void search(struct str text)
{
	static const char *const names[] = { "logs.jsonl", "messages.jsonl" };
	static const struct search_spec spec = { .pattern = { "a", 1 }, .ignore_case = true };
	auto_search struct search *s = NULL;
	struct err err;

	for (size_t i = 0; i < COUNT(names); i++) {
		autoclose int fd = openat(record_fd, names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		BUG_IF(fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n);
	}
	BUG_IF(search_new(&spec, &s, &err) < 0);
	(void)!search_record(s, record_fd, on_hit, NULL, ERR_DISCARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	struct str text = str_of(data, size);
	struct record_loaded loaded;

	fold(text, VIEW_ALL);
	fold(text, VIEW_STATE_ONLY);
	(void)!transcript_read(text, on_item, NULL, ERR_DISCARD);
	if (record_loaded_unpack(text, mem, &loaded, ERR_DISCARD) == 0)
		BUG_IF(loaded.nmessages > size);
	search(text);
	return 0;
}
