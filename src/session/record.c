/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/record.h"

#include "fmt/pack.h"
#include "sys/chan.h"

static size_t max_of(enum record_what what)
{
	switch (what) {
	case RECORD_EVENT:
		return EVENT_JSON_MAX;
	case RECORD_MESSAGE:
		return RECORD_MESSAGE_MAX;
	case RECORD_STATE:
		return RECORD_STATE_MAX;
	case RECORD_TRANSCRIPT:
		return RECORD_TRANSCRIPT_MAX;
	case RECORD_MANIFEST:
	case RECORD_IN_FLIGHT:
	case RECORD_GRAPH:
	case RECORD_NOTE:
		return RECORD_SMALL_MAX;
	case RECORD_FILE:
		return RECORD_FILE_MAX;
	case RECORD_RESTART:
		return 0;
	}
	return 0;
}

size_t record_max(enum record_what what)
{
	return max_of(what);
}

int record_put(const struct record_to *to, enum record_what what, uint32_t arg, struct str name, struct str json,
	struct err *err)
{
	enum { HEAD = 1 + 4 + 4 + 4 }; /* what, arg, two lengths */
	auto_buf struct buf body = BUF_MAX(CHAN_BODY_MAX);
	bool large = HEAD + name.n + json.n > CHAN_BODY_MAX;
	autoclose int fd = -1;

	if (json.n > max_of(what))
		return err_set(err, ERR_LIMIT, "a record of %zu bytes, at most %zu are kept", json.n, max_of(what));
	if (large)
		TRY(memfd_seal("record", json, &fd, err));
	pack_u8(&body, (uint8_t)what);
	pack_u32(&body, arg);
	pack_str(&body, name);
	pack_str(&body, large ? STR("") : json);
	TRY(pack_ok(&body, err));
	return chan_send(to->fd, to->type, buf_str(&body), &fd, large ? 1 : 0, err);
}

int record_event(const struct record_to *to, enum event_id id, struct str json, struct err *err)
{
	const struct event_type *t = event_at(id);

	return record_put(to, RECORD_EVENT, t->flags & EVENT_VOLATILE ? 1 : 0, str_from(t->type), json, err);
}

int record_sync(const struct record_to *to, uint32_t token, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, token);
	return chan_send(to->fd, WIRE_SYNC, buf_str(&body), NULL, 0, err);
}

int record_loaded_unpack(struct str bytes, struct arena *mem, struct record_loaded *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct record_loaded l = { 0 };

	l.turn = unpack_u32(&u);
	l.state = unpack_str(&u);
	l.in_flight = unpack_str(&u);
	uint32_t n = unpack_u32(&u);

	if (u.bad || n > u.rest.n / 4)
		return err_set(err, ERR_PROTOCOL, "the loaded record is cut");
	l.messages = arena_array(mem, n > 0 ? n : 1, sizeof(*l.messages));
	l.nmessages = n;
	for (uint32_t i = 0; i < n; i++)
		l.messages[i] = unpack_str(&u);
	if (u.rest.n > 0)
		l.graph = unpack_str(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the loaded record is cut");
	*out = l;
	return 0;
}

bool record_file_ok(struct str name)
{
	static const char *const names[] = { "plan.md", "untracked-at-start", "transcript.md", "result.md",
		"result.json", "questions.json" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eqz(name, names[i]))
			return true;
	return false;
}
