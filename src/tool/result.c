/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/result.h"

#include "fmt/json.h"

#define ROOM_FOR_GUIDANCE 700 /* the envelope around the head, see result_cap */

int result_error(struct buf *out, struct str text, struct err *err)
{
	TRY(buf_addz(out, "{", err));
	TRY(json_add_member(out, "error", text, err));
	return buf_addc(out, '}', err);
}

/* Encoded size of the character at s[*i], which moves on. */
static size_t char_size(struct str s, size_t *i)
{
	size_t at = *i;
	int32_t c = utf8_next(s, i);

	if (c < 0)
		return 3; /* U+FFFD */
	if (c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t')
		return 2;
	return c < 0x20 ? 6 : *i - at;
}

size_t result_quoted_size(struct str s)
{
	size_t n = 2;

	for (size_t i = 0; i < s.n;)
		n += char_size(s, &i);
	return n;
}

size_t result_fit(struct str s, size_t max)
{
	size_t n = 2, i = 0;

	while (i < s.n) {
		size_t at = i;

		n += char_size(s, &i);
		if (n > max)
			return at;
	}
	return i;
}

static size_t fit_tail(struct str s, size_t max)
{
	size_t n = 2, at = s.n;

	/* Backwards byte by byte: an upper bound, since a character never costs more than its bytes alone. */
	while (at > 0) {
		unsigned char c = (unsigned char)s.p[at - 1];

		n += c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : c < 0x80 ? 1 : 3;
		if (n > max)
			break;
		at--;
	}
	while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at++;
	return s.n - at;
}

static int add_gap(struct buf *text, struct str head, struct str tail, uint64_t total, struct err *err)
{
	TRY(buf_add_utf8(text, head, err));
	TRY(buf_addf(text, err, "%s[... %llu of %llu bytes left out ...]\n", head.n == 0 || str_ends(head, STR("\n")) ?
		"" : "\n", (unsigned long long)(total - head.n - tail.n), (unsigned long long)total));
	return buf_add_utf8(text, tail, err);
}

int result_add_stream(struct buf *out, const char *key, struct str kept, size_t gap_at, uint64_t total, size_t max,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(3 * kept.n + 256);
	bool whole = total <= kept.n;
	struct str head = whole ? kept : str_head(kept, gap_at), tail = str_skip(kept, head.n);

	if (whole && result_quoted_size(kept) <= max)
		return json_add_member(out, key, kept, err);
	if (whole)
		tail = kept;
	/* The tail gets the larger half: that is where compilers and test runners put the verdict. */
	head = str_head(head, result_fit(head, max * 2 / 5));
	tail = str_tail(tail, fit_tail(whole ? str_skip(kept, head.n) : tail, max * 3 / 5));
	TRY(add_gap(&text, head, tail, total, err));
	return json_add_member(out, key, buf_str(&text), err);
}

static const struct {
	const char *tool, *guidance;
} guidance[] = {
	{ "read_file", "Ask for a part with start_line and limit; do not repeat identical arguments." },
	{ "grep", "Use a narrower pattern, path or glob; do not repeat identical arguments." },
	{ "list_dir", "List a subdirectory or use grep with a glob; do not repeat identical arguments." },
	{ "run_command", "Run something narrower; do not repeat identical arguments." },
	{ "run_verify_command", "Run the failing part alone with run_command." },
};

int result_cap(const char *tool, struct str json, struct buf *out, struct err *err)
{
	const char *advice = "Use smaller arguments; do not repeat identical ones.";
	struct str head;

	if (json.n <= TOOL_RESULT_MAX)
		return buf_add(out, json, err);
	for (size_t i = 0; i < COUNT(guidance); i++)
		if (str_eqz(str_from(tool), guidance[i].tool))
			advice = guidance[i].guidance;
	head = str_head(json, result_fit(json, TOOL_RESULT_MAX - ROOM_FOR_GUIDANCE));
	TRY(buf_addz(out, "{\"_tool_result_truncated\":true", err));
	TRY(json_add_member(out, "tool", str_head(str_from(tool), 100), err));
	TRY(buf_addf(out, err, ",\"shown_chars\":%zu,\"total_chars\":%zu", head.n, json.n));
	TRY(json_add_member(out, "head", head, err));
	TRY(json_add_member(out, "guidance", str_from(advice), err));
	return buf_addc(out, '}', err);
}
