/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/questions.h"

#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>

#define QUESTIONS_MAX (1024 * 1024)

int questions_text(int record, const char *id, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(QUESTIONS_MAX);
	auto_json json_t *j = NULL;
	const json_t *list, *one;
	size_t i, asked = 0;
	int r = file_read(record, "questions.json", &text, err);

	if (r == -ERR_NOENT || (r == 0 && text.n == 0))
		return 0;
	TRY(r);
	if (json_decode(buf_str(&text), JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return 0;
	list = json_object_get(j, "questions");
	json_array_foreach(list, i, one)
	{
		struct str question = json_get_str(one, "question");

		if (question.n == 0)
			continue;
		TRY(buf_addf(out, err, "%s%zu. ", asked == 0 ? "\nThe plan leaves open:\n" : "", asked + 1));
		TRY(term_clean(question, TERM_TEXT, out, err));
		TRY(buf_addc(out, '\n', err));
		asked++;
	}
	if (asked == 0)
		return 0;
	return buf_addf(out, err, "To answer: agent6 plan revise \"...\" %s, or fill in a copy of record/questions.json and add "
				  "--answers-file F.\n", id);
}

int questions_open(struct str path, struct arena *mem, int *fd, struct err *err)
{
	if (path.n == 0)
		return 0;
	*fd = open(str_dupz(mem, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return *fd < 0 ? err_sys(err, errno, "--questions-file " STR_FMT, STR_ARG(path)) : 0;
}
