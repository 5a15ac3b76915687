/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/questions.h"

#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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

static int no_link(struct str path, struct err *err)
{
	int r = err_set(err, ERR_DENIED, "--questions-file " STR_FMT ": a symbolic link is on the way to it", STR_ARG(path));

	err_hint(err, "an earlier run may have put it there: name the file by where it is");
	return r;
}

/* A run writes in the workspace, and a link that it left there must not choose what is written next. So every name
 * is opened by itself, and none of them may be a link. */
static int open_by_parts(struct str path, struct arena *mem, int *fd, struct err *err)
{
	autoclose int dir = open(path.p[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct str rest = path;
	struct stat st;

	while (dir >= 0 && str_find(rest, STR("/")) < rest.n) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0)
			continue;
		int next = openat(dir, str_dupz(mem, part), O_PATH | O_NOFOLLOW | O_CLOEXEC);
		base_close_fd(&dir);
		dir = next;
		if (dir >= 0 && fstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
			return no_link(path, err);
	}
	if (dir >= 0) /* O_NONBLOCK: a FIFO must not hold us */
		*fd = openat(dir, rest.n > 0 ? str_dupz(mem, rest) : ".",
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (dir >= 0 && *fd < 0 && errno == ELOOP)
		return no_link(path, err);
	return *fd < 0 ? err_sys(err, errno, "--questions-file " STR_FMT, STR_ARG(path)) : 0;
}

int questions_open(struct str path, struct arena *mem, int *fd, struct err *err)
{
	autoclose int opened = -1;
	struct stat st;

	if (path.n == 0)
		return 0;
	TRY(open_by_parts(path, mem, &opened, err));
	if (fstat(opened, &st) < 0)
		return err_sys(err, errno, "--questions-file " STR_FMT, STR_ARG(path));
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return err_set(err, ERR_INVALID, "--questions-file " STR_FMT ": not a regular file with one name", STR_ARG(path));
	*fd = take_fd(&opened);
	return 0;
}
