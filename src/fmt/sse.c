/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/sse.h"

static int emit(struct sse *s, struct err *err)
{
	struct sse_event ev = { buf_str(&s->name), buf_str(&s->data) };
	int r = 0;

	if (ev.data.n > 0) { /* no data line, no event, whatever names came by */
		ev.data.n--; /* the last '\n' ends a line, it is not content */
		if (ev.name.n == 0)
			ev.name = STR("message");
		r = s->on_event(s->self, &ev, err);
	}
	buf_clear(&s->name);
	buf_clear(&s->data);
	return r;
}

static int end_line(struct sse *s, struct err *err)
{
	struct str value = buf_str(&s->line);

	if (!s->past_first)
		value = str_trim_prefix(value, STR("\xEF\xBB\xBF"));
	s->past_first = true;
	if (value.n == 0)
		return emit(s, err);

	struct str key = str_cut(&value, ':');
	bool is_error = str_eq(key, STR("error"));

	value = str_trim_prefix(value, STR(" "));
	if (is_error || str_eq(key, STR("event"))) {
		buf_clear(&s->name);
		TRY(buf_add(&s->name, is_error ? key : value, err));
	}
	if (is_error || str_eq(key, STR("data"))) {
		TRY(buf_add(&s->data, value, err));
		return buf_add(&s->data, STR("\n"), err);
	}
	return 0; /* comments (an empty key) and unknown fields are legal */
}

void sse_init(struct sse *s, size_t max, sse_event_fn *on_event, void *self)
{
	*s = (struct sse){ .on_event = on_event, .self = self,
		.line = BUF_MAX(max), .name = BUF_MAX(max), .data = BUF_MAX(max) };
}

void sse_fini(struct sse *s)
{
	buf_fini(&s->line);
	buf_fini(&s->name);
	buf_fini(&s->data);
}

int sse_feed(struct sse *s, struct str in, struct err *err)
{
	while (in.n > 0) {
		if (s->after_cr)
			in = str_trim_prefix(in, STR("\n"));
		s->after_cr = false;

		size_t eol = str_find_any(in, STR("\r\n"));
		if (buf_add(&s->line, str_head(in, eol), err) < 0)
			return err_wrap(err, "event stream line");
		if (eol == in.n)
			return 0; /* the rest of this line is still on its way */

		s->after_cr = in.p[eol] == '\r';
		in = str_skip(in, eol + 1);
		TRY(end_line(s, err));
		buf_clear(&s->line);
	}
	return 0;
}

int sse_end(struct sse *s, struct err *err)
{
	if (s->line.n > 0)
		TRY(end_line(s, err));
	buf_clear(&s->line);
	return emit(s, err);
}
