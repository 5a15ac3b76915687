/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "fmt/json.h"
#include "sys/file.h"
#include "tool/search.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The index worker, without its jail. */
static int host_index(struct kit *k, const struct job_request *req, struct arena *mem, struct job_result *out,
	struct err *err)
{
	autoclose int fd = memfd_create("answer", MFD_CLOEXEC), root = -1;
	auto_buf struct buf text = BUF_MAX(req->keep_head);
	struct search_request r;

	TRY(search_decode(req->in, mem, &r, err));
	root = r.root.n > 0 ? open(r.root.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fcntl(k->ws, F_DUPFD_CLOEXEC, 0);
	BUG_IF(root < 0 || fd < 0);
	TRY(search_run(&r, root, NULL, fd, err));
	BUG_IF(lseek(fd, 0, SEEK_SET) != 0);
	TRY(file_read_fd(fd, &text, err));
	*out = (struct job_result){ .why = JOB_EXITED, .out = str_dup(mem, buf_str(&text)), .out_total = text.n };
	return 0;
}

static int host_job(void *self, const struct job_request *req, struct arena *mem, struct job_result *out,
	struct err *err)
{
	struct kit *k = self;

	k->asked = *req;
	if (req->class == JOB_INDEX && k->job.why == 0)
		return host_index(k, req, mem, out, err);
	if (k->job_fails)
		return err_set(err, (enum err_code)-k->job_fails, "the test's host fails");
	*out = k->job;
	return 0;
}

static int host_background(void *self, const struct background_request *req, struct arena *mem,
	struct background_report *out, struct err *err)
{
	struct kit *k = self;

	(void)req;
	(void)mem;
	(void)err;
	*out = k->report;
	return 0;
}

static int host_ask(void *self, const struct str *questions, const struct str_list *options, size_t n,
	struct arena *mem, struct str_list *answers, bool *answered, struct err *err)
{
	struct kit *k = self;

	(void)questions;
	(void)options;
	(void)mem;
	(void)err;
	BUG_IF(!k->nobody && k->answers.n != n);
	*answers = k->answers;
	*answered = !k->nobody;
	return 0;
}

void kit_init(struct kit *k)
{
	*k = (struct kit){ .dir = test_dir_new(), .mem = arena_new(), .out = BUF_MAX(1024 * 1024) };
	BUG_IF(mkdirat(k->dir.fd, "ws", 0755) < 0 || mkdirat(k->dir.fd, "more", 0755) < 0);
	k->ws = openat(k->dir.fd, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int more = openat(k->dir.fd, "more", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BUG_IF(k->ws < 0 || more < 0);
	k->roots[0] = (struct tool_root){ k->ws, str_printf(k->mem, "%s/ws", k->dir.path), true };
	k->roots[1] = (struct tool_root){ more, str_printf(k->mem, "%s/more", k->dir.path), false };
	k->host = (struct tool_host){ k, host_job, host_ask, host_background };
	k->ctx = (struct tool_ctx){ .mem = k->mem, .host = &k->host, .roots = k->roots, .nroots = 2,
		.hide_paths = &k->hide, .mode = MODE_RUN, .commands_allowed = true, .verify_timeout_ms = 600000,
		.command_timeout_ms = 600000 };
}

void kit_fini(struct kit *k)
{
	close(k->ws);
	close(k->roots[1].dirfd);
	test_dir_fini(&k->dir);
	arena_free(k->mem);
	buf_fini(&k->out);
}

struct str kit_call(struct kit *k, const char *name, const char *args)
{
	struct str text = str_dup(k->mem, str_from(args));
	struct err err = { 0 };
	auto_json json_t *j = NULL;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '`')
			((char *)text.p)[i] = '"';
	buf_clear(&k->out);
	CHECK_OK(tool_call(&k->ctx, str_from(name), text, &k->out, &k->oc, &err));
	CHECK(k->out.n > 0 && k->out.n <= TOOL_RESULT_MAX);
	CHECK(utf8_valid(buf_str(&k->out)));
	CHECK_OK(json_decode(buf_str(&k->out), JSON_EXACT, &j, &err));
	CHECK(json_is_object(j));
	CHECK(k->oc.summary.n > 0);
	CHECK(k->oc.ok == !json_object_get(j, "error"));
	return buf_str(&k->out);
}

bool kit_holds(struct kit *k, const char *text)
{
	return str_find(buf_str(&k->out), str_from(text)) < k->out.n;
}

void kit_check_holds(struct kit *k, const char *text, bool want, const char *file, int line)
{
	if (kit_holds(k, text) == want)
		return;
	print_error("the result %s \"%s\":\n  " STR_FMT "\n", want ? "lacks" : "holds", text, STR_ARG(buf_str(&k->out)));
	_fail(file, line);
}

void kit_put(struct kit *k, const char *name, const char *text)
{
	struct test_dir d = { .fd = k->ws };

	test_write(&d, name, str_from(text));
}

bool kit_is(struct kit *k, const char *name, const char *text)
{
	bool is = file_is(k->ws, name, str_from(text));

	if (!is) {
		auto_buf struct buf got = BUF_MAX(1024 * 1024);

		if (file_read(k->ws, name, &got, ERR_DISCARD) == 0)
			print_error("%s holds\n  \"" STR_FMT "\"\nnot\n  \"%s\"\nresult: " STR_FMT "\n", name,
				STR_ARG(buf_str(&got)), text, STR_ARG(buf_str(&k->out)));
		else
			print_error("%s cannot be read\n", name);
	}
	return is;
}

bool kit_exists(struct kit *k, const char *name)
{
	return faccessat(k->ws, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

size_t kit_count(struct kit *k)
{
	struct dir_entry *list;
	size_t n = 0;

	BUG_IF(dir_list(k->ws, k->mem, 10000, &list, &n, ERR_DISCARD) < 0);
	return n;
}
