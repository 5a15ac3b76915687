/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/answers.h"

#include "base/arena.h"
#include "base/time.h"
#include "sys/file.h"

#include <stdio.h>
#include <unistd.h>

#define STOP_REQUEST "stop.request" /* what `agent6 runs stop` writes */
#define ENTRIES_MAX  1024
#define NAME_SIZE    80

static const struct {
	const char *word;
	bool needs_words;
} kinds[] = {
#define X(kind, word, needs) [kind] = { word, needs },
	ANSWER_KINDS(X)
#undef X
};
_Static_assert(COUNT(kinds) == ANSWER_COUNT, "every kind has its row");

const char *answer_word(enum answer_kind kind)
{
	BUG_IF((size_t)kind >= COUNT(kinds));
	return kinds[kind].word;
}

bool answer_sets_aside(struct str answer)
{
	return str_eqz(answer, ANSWER_SET_ASIDE) || str_eqz(answer, "stash");
}

int answers_tell(int dirfd, enum answer_kind kind, struct str text, struct err *err)
{
	char name[NAME_SIZE];

	text = str_trim(text);
	if (text.n > ANSWER_TEXT_MAX)
		return err_set(err, ERR_LIMIT, "longer than %d bytes", ANSWER_TEXT_MAX);
	if (text.n == 0 && kinds[kind].needs_words)
		return err_set(err, ERR_INVALID, "%s needs words", answer_word(kind));
	/* The clock's digits are as many for centuries, so that names sort as they were made. */
	snprintf(name, sizeof(name), "%s.%016lld-%d", answer_word(kind), (long long)time_now_us(), (int)getpid());
	return file_replace(dirfd, name, text, 0600, err);
}

int answers_reply(int dirfd, const char *id, struct str text, struct err *err)
{
	return file_replace(dirfd, id, text, 0600, err);
}

/* "steer.1764460800000000-4711", and the order it was made in. */
static bool read_name(struct str name, enum answer_kind *kind, struct str *stamp)
{
	struct str word = str_cut(&name, '.');

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_eqz(word, kinds[i].word) && name.n > 0) {
			*kind = (enum answer_kind)i;
			*stamp = name;
			return true;
		}
	return false;
}

static bool find_oldest(const struct dir_entry *list, size_t n, size_t *at, enum answer_kind *kind)
{
	struct str best = { 0 }, stamp;
	enum answer_kind k;
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		if (!read_name(list[i].name, &k, &stamp) || (found && str_cmp(stamp, best) >= 0))
			continue;
		best = stamp;
		*at = i;
		*kind = k;
		found = true;
	}
	return found;
}

int answers_take(int dirfd, enum answer_kind *kind, struct buf *text, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *list;
	size_t n, at = 0;

	TRY(dir_list(dirfd, mem, ENTRIES_MAX, &list, &n, err));
	while (find_oldest(list, n, &at, kind)) {
		const char *name = str_dupz(mem, list[at].name);
		autoclose int fd = -1;
		int r = file_open(dirfd, name, true, &fd, err);

		buf_clear(text);
		if (r == 0)
			r = file_read_fd(fd, text, err);
		if (unlinkat(dirfd, name, 0) < 0 && r == 0)
			return err_set(err, ERR_SYS, "%s cannot be removed", name);
		if (str_eqz(list[at].name, STOP_REQUEST))
			buf_clear(text);
		if (r == 0)
			return 1;
		list[at].name = STR(""); /* not readable: the next one */
	}
	return 0;
}
