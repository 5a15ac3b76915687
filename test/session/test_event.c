/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"

#include "session/event.h"
#include "sys/file.h"

#include <fcntl.h>

TEST(every_event_has_a_sender_and_no_field_twice)
{
	for (int i = 0; i < EVENT_COUNT; i++) {
		const struct event_type *t = event_at((enum event_id)i);

		CHECK(t->flags & (EVENT_AGENT | EVENT_MONITOR | EVENT_RECORDER));
		CHECK_INT(event_id_of(str_from(t->type)), i);
		CHECK(event_find(str_from(t->type)) == t);
		for (size_t a = 0; a < t->nfields; a++) {
			/* The journal's own members are nobody's to set. */
			static const char *const own[] = { "ts", "seq", "type", "h", "volatile" };

			for (size_t o = 0; o < COUNT(own); o++)
				CHECK(strcmp(t->fields[a].name, own[o]) != 0);
			for (size_t b = 0; b < a; b++)
				CHECK(strcmp(t->fields[a].name, t->fields[b].name) != 0);
		}
	}
	CHECK(event_find(STR("run.stat")) == NULL);
	CHECK(event_find(STR("")) == NULL);
}

TEST(event_check_says_which_field_is_wrong)
{
	static const struct { const char *why, *type, *json, *want; } cases[] = {
		{ "complete", "tool.call", "{\"name\":\"grep\",\"args\":{},\"call_id\":\"a\"}", "" },
		{ "an optional field may be null", "run.end", "{\"reason\":\"settled\",\"iterations\":3,\"all_passed\":null}", "" },
		{ "an optional field may be absent", "run.end", "{\"reason\":\"settled\",\"iterations\":3}", "" },
		{ "a number may be an integer", "verify.end", "{\"cmd\":[\"make\"],\"exit_code\":0,\"duration_s\":1}", "" },
		{ "missing", "tool.call", "{\"name\":\"grep\",\"args\":{}}", "tool.call: \"call_id\" is missing" },
		{ "null is missing", "tool.call", "{\"name\":null,\"args\":{},\"call_id\":\"a\"}", "tool.call: \"name\" is missing" },
		{ "wrong type", "tool.call", "{\"name\":\"grep\",\"args\":[],\"call_id\":\"a\"}", "tool.call: \"args\" is not an object" },
		{ "a fraction", "run.end", "{\"reason\":\"x\",\"iterations\":1.5}", "run.end: \"iterations\" is not an integer" },
		{ "text for a flag", "tool.result", "{\"name\":\"g\",\"ok\":\"True\",\"summary\":\"\",\"call_id\":\"a\"}", "tool.result: \"ok\" is not true or false" },
		{ "a list with a number in it", "verify.start", "{\"cmd\":[\"make\",1]}", "verify.start: \"cmd\" is not a list of strings" },
		{ "an unknown field", "loop.note", "{\"text\":\"a\",\"seq\":9}", "loop.note: \"seq\" is not a field of it" },
		{ "no object", "loop.note", "[]", "loop.note: the fields are not an object" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_json json_t *j = NULL;
		struct err err = { 0 };

		CHECK_OK(json_decode(str_from(cases[i].json), JSON_EXACT, &j, &err));
		int r = event_check(event_find(str_from(cases[i].type)), j, &err);

		CHECK_INT(r, cases[i].want[0] ? -ERR_INVALID : 0);
		CHECK_STR(str_from(err.msg), str_from(cases[i].want));
	}
}

TEST(the_page_of_events_is_printed_from_the_table) /* agent6 runs events > docs/events.md */
{
	auto_buf struct buf page = BUF_MAX(1 << 20), now = BUF_MAX(1 << 20);
	const char *source = getenv("AGENT6_SOURCE");
	autofree char *path = path_join(source ? source : ".", "docs/events.md");
	struct err err = { 0 };

	CHECK_OK(events_print(&now, &err));
	CHECK_OK(file_read(AT_FDCWD, path, &page, &err));
	CHECK_STR(buf_str(&page), buf_str(&now));
}
