/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/attach.h"

#include "fmt/fence.h"
#include "fmt/json.h"
#include "role/reader.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>

#define PLAN_MAX    (512 * 1024)
#define RESULT_MAX  (16 * 1024)
#define ANSWERS_MAX 64

/* The rest of a block whose beginning stands already. */
static int add_body(struct buf *out, const char *tag, struct str text, struct err *err)
{
	TRY(fence_text(out, tag, text, err));
	return buf_addf(out, err, "\n</%s>\n", tag);
}

static int add_attribute(struct buf *out, const char *name, struct str value, struct err *err)
{
	TRY(buf_addf(out, err, " %s=", name));
	return json_add_quoted(out, value, err);
}

int attach_file(struct str path, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(ATTACH_FILE_MAX), name = BUF_MAX(4096);
	const char *z;

	TRY(buf_add(&name, path, err));
	TRY(buf_cstr(&name, &z, err));
	if (file_read(AT_FDCWD, z, &text, err) < 0)
		return err_wrap(err, "--file " STR_FMT, STR_ARG(path));
	TRY(buf_addz(out, "<file", err));
	TRY(add_attribute(out, "path", path, err));
	TRY(buf_addz(out, ">\n", err));
	return add_body(out, "file", buf_str(&text), err);
}

/* The texts are an agent's: another process reads them. */
static int open_record(const struct place *place, const struct session_ref *ref, bool ending, struct arena *mem, int *fd,
	struct facts *f, struct err *err)
{
	TRY(dir_open(AT_FDCWD, session_path(place->repo_dir, ref, "record", mem), fd, err));
	if (reader_facts(*fd, ending, mem, f, err) < 0)
		return err_wrap(err, "%s", ref->id);
	return 0;
}

int attach_session(const struct place *place, const struct session_ref *ref, struct arena *mem, struct buf *out,
	struct err *err)
{
	auto_buf struct buf body = BUF_MAX(ATTACH_MAX);
	autoclose int fd = -1;
	struct facts f;

	TRY(open_record(place, ref, true, mem, &fd, &f, err));
	const struct { const char *name; struct str value; } rows[] = {
		{ "task", f.manifest.user_task },
		{ "ended", f.ended },
		{ "outcome", f.outcome },
		{ "message", f.message },
		{ "last change", f.change },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].value.n == 0)
			continue;
		TRY(buf_addf(&body, err, "%s: ", rows[i].name));
		TRY(buf_add_clipped(&body, rows[i].value, RESULT_MAX / 2, RESULT_MAX / 2, err));
		TRY(buf_addc(&body, '\n', err));
	}
	TRY(buf_addz(out, "<prior-run", err));
	TRY(add_attribute(out, "id", str_from(ref->id), err));
	TRY(add_attribute(out, "mode", f.manifest.mode, err));
	TRY(buf_addz(out, ">\n", err));
	return add_body(out, "prior-run", buf_str(&body), err);
}

int attach_plan(const struct place *place, const struct session_ref *ref, const char *what, struct arena *mem,
	struct buf *out, struct str *task, struct err *err)
{
	auto_buf struct buf plan = BUF_MAX(PLAN_MAX);
	autoclose int fd = -1;
	struct facts f;
	int r;

	TRY(open_record(place, ref, false, mem, &fd, &f, err));
	r = file_read(fd, "plan.md", &plan, err);
	if (r == -ERR_NOENT)
		return err_set(err, ERR_NOENT, "%s wrote no plan", ref->id);
	TRY(r);
	TRY(buf_addf(out, err, "%s\n<plan>\n", what));
	TRY(add_body(out, "plan", buf_str(&plan), err));
	if (task)
		*task = f.manifest.user_task;
	return 0;
}

int attach_answers(struct str path, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(ATTACH_FILE_MAX), name = BUF_MAX(4096), body = BUF_MAX(ATTACH_MAX);
	auto_json json_t *j = NULL;
	const json_t *list;
	const char *z;

	TRY(buf_add(&name, path, err));
	TRY(buf_cstr(&name, &z, err));
	if (file_read(AT_FDCWD, z, &text, err) < 0 || json_decode(buf_str(&text), JSON_EXACT, &j, err) < 0)
		return err_wrap(err, "--answers-file %s", z);
	list = json_object_get(j, "questions");
	if (!json_is_array(list) || json_array_size(list) > ANSWERS_MAX)
		return err_set(err, ERR_INVALID, "--answers-file %s: \"questions\" is not a list of at most %d objects", z, ANSWERS_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *q = json_array_get(list, i);

		if (!json_is_string(json_object_get(q, "question")) || !json_is_string(json_object_get(q, "answer")))
			return err_set(err, ERR_INVALID, "--answers-file %s: questions[%zu]: \"question\" and \"answer\" are not both "
				"there as strings", z, i);
		if (json_get_str(q, "answer").n == 0)
			continue;
		TRY(buf_addf(&body, err, "Q: " STR_FMT "\nA: " STR_FMT "\n", STR_ARG(json_get_str(q, "question")),
			STR_ARG(json_get_str(q, "answer"))));
	}
	if (body.n == 0) {
		err_set(err, ERR_INVALID, "--answers-file %s: no question in it has an answer", z);
		err_hint(err, "write between the quotes of \"answer\"");
		return -ERR_INVALID;
	}
	TRY(buf_addz(out, "The person has answered questions that were open:\n<answers>\n", err));
	return add_body(out, "answers", buf_str(&body), err);
}
