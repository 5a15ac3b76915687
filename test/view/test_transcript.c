/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "view/transcript.h"

static int add(void *self, const struct transcript_item *item, struct err *err)
{
	return buf_addf(self, err, "%s:" STR_FMT "\n", transcript_kind_word(item->kind), STR_ARG(item->text));
}

#define TOLD   "{\"i\":0,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"do\"}]}}\n" \
	     "{\"i\":1,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}}\n"
#define SHOWN  "person:do\nperson:one\n"
#define MARK   "mark:the conversation was written anew: what follows takes the place of what stood above\n"
#define M(i, blocks) "{\"i\":" i ",\"message\":{\"role\":\"user\",\"content\":[" blocks "]}}\n"
#define T(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

/* A pin or words at a pause write the last message again, with more in it: that takes nothing away. */
TEST(transcript_shows_what_a_cut_changed_and_nothing_twice)
{
	static const struct {
		const char *lines, *shown;
	} rows[] = {
		{ TOLD "{\"cut\":1}\n" M("1", T("one") "," T("pinned")) M("2", T("three")), SHOWN "person:pinned\nperson:three\n" },
		{ TOLD "{\"cut\":0}\n" M("0", T("do")) M("1", T("one")) M("2", T("three")), SHOWN "person:three\n" },
		{ TOLD "{\"cut\":1}\n" M("1", T("a note")) M("2", T("one")), SHOWN MARK "person:a note\nperson:one\n" },
		{ TOLD "{\"cut\":0}\n" M("0", T("do")) M("1", T("less")), SHOWN MARK "person:less\n" },
		{ TOLD "{\"cut\":7}\n" M("2", T("three")), SHOWN MARK "person:three\n" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf struct buf shown = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_OK(transcript_read(str_from(rows[i].lines), add, &shown, &err));
		CHECK_STR(buf_str(&shown), str_from(rows[i].shown));
	}
}
