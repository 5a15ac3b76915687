/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The index worker: one request on stdin, one answer on stdout, then it is gone. It holds nothing: the
 * workspace is read-only in its jail, and its death costs one answer. */
#include "sys/file.h"
#include "tool/search.h"
#include "tool/tool.h"

#include <fcntl.h>

static int serve(struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(SEARCH_REQUEST_MAX);
	struct search_request r;
	autoclose int root = -1;

	TRY(file_read_fd(STDIN_FILENO, &text, err));
	TRY(search_decode(buf_str(&text), mem, &r, err));
	TRY(dir_open(AT_FDCWD, r.root.n > 0 ? r.root.p : ".", &root, err));
	return search_run(&r, root, STDOUT_FILENO, err);
}

int role_index_main(void)
{
	struct err err = { 0 };
	auto_buf struct buf out = BUF_MAX(4096);

	if (serve(&err) == 0)
		return 0;
	/* Whoever asked reads JSON lines, also of a failure. */
	if (buf_addz(&out, "{", &err) < 0 || json_add_member(&out, "error", str_from(err.msg), &err) < 0 ||
		buf_addz(&out, "}\n", &err) < 0 || file_write_fd(STDOUT_FILENO, buf_str(&out), &err) < 0)
		return 1;
	return 1;
}
