/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/term_diff.h"

#include "ui/cli/term_priv.h"

#include "sys/file.h"

static enum look look_of(struct str line)
{
	static const struct { const char *start; enum look look; } looks[] = {
		{ "+++ ", LOOK_BOLD }, { "--- ", LOOK_BOLD }, { "diff ", LOOK_BOLD }, { "@@", LOOK_CALL },
		{ "+", LOOK_OK }, { "-", LOOK_FAIL },
	};

	for (size_t i = 0; i < COUNT(looks); i++)
		if (str_starts(line, str_from(looks[i].start)))
			return looks[i].look;
	return LOOK_PLAIN;
}

int term_diff(int fd, struct term_style style, struct str patch, struct err *err)
{
	auto_term_view struct term_view t = { 0 };

	if (!term_is_tty(fd))
		return file_write_fd(fd, patch, err);
	term_view_init(&t, fd, style, term_columns(fd));
	while (patch.n > 0) {
		struct str line = str_line(&patch);
		auto_buf struct buf clean = BUF_MAX(8 * line.n + 64);

		TRY(term_clean(line, TERM_TEXT, &clean, err));
		struct str shown = str_trim_suffix(buf_str(&clean), STR("\n"));
		TRY(term_put(&t, look_of(shown), shown, err));
		TRY(term_newline(&t, err));
	}
	return term_view_flush(&t, err);
}
