/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/rehearse.h"

#include "app/mode.h"
#include "app/place.h"
#include "session/layout.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PROMPT_JSON_MAX ((size_t)16 * 1024 * 1024)

/* ---- the session, in a process of its own: a monitor confines itself for good ---- */

static int play(struct run_request *rq, struct err *err)
{
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_buf struct buf nothing = BUF_MAX(64);
	autoclose int recording = -1;

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return err_sys(err, errno, "open /dev/null");
	TRY(buf_addz(&nothing, "agent6-recording 1\nanswer 200 text/event-stream\n", err));
	TRY(memfd_seal("recording", buf_str(&nothing), &recording, err));
	if (lseek(recording, 0, SEEK_SET) < 0)
		return err_sys(err, errno, "rewind the recording");
	rq->recording_fd = recording;
	rq->rehearse = true;
	int r = app_run(rq, err);

	return r < 0 ? r : 0;
}

/* What kept the session from beginning, as the child left it. */
static int take_failure(int from, struct err *err)
{
	struct err why = { 0 };
	size_t got = 0;
	ssize_t n;

	while ((n = read(from, (char *)&why + got, sizeof(why) - got)) != 0) {
		if (n < 0 && errno != EINTR)
			return err_sys(err, errno, "hear what became of the session");
		got += n > 0 ? (size_t)n : 0;
	}
	if (got == 0)
		return 0;
	if (got != sizeof(why) || why.code == ERR_NONE)
		return err_set(err, ERR_SYS, "the session could not be rehearsed");
	*err = why;
	return -(int)why.code;
}

static int play_apart(const struct run_request *rq, struct err *err)
{
	int ends[2];
	struct proc p;
	struct proc_status st;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int from = ends[0], to = ends[1];
	int r = proc_fork(&p, err);

	TRY(r);
	if (r == 1) {
		struct run_request own = *rq;

		r = play(&own, err);
		if (r < 0)
			(void)!write(to, err, sizeof(*err)); /* below PIPE_BUF: whole or not at all */
		_exit(r < 0);
	}
	base_close_fd(&to);
	r = take_failure(from, err);
	TRY(proc_wait(&p, &st, err));
	TRY(r);
	return st.code == 0 ? 0 : err_set(err, ERR_SYS, "the session could not be rehearsed");
}

/* ---- what it left ---- */

/* The texts of the opening message, as one. */
static int join_texts(const json_t *message, struct buf *out, struct err *err)
{
	const json_t *content = json_object_get(message, "content"), *part;
	size_t i;

	if (json_is_string(content))
		return buf_add(out, json_view(content), err);
	json_array_foreach(content, i, part) {
		TRY(buf_addz(out, i > 0 ? "\n\n" : "", err));
		TRY(buf_add(out, json_get_str(part, "text"), err));
	}
	return 0;
}

static int read_first(int record, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PROMPT_JSON_MAX), joined = BUF_MAX(PROMPT_JSON_MAX);
	auto_json json_t *line = NULL;

	TRY(file_read(record, "messages.jsonl", &text, err));
	struct str rest = buf_str(&text);
	TRY(json_decode(str_trim(str_line(&rest)), JSON_REPAIR, &line, err));
	TRY(join_texts(json_object_get(line, "message"), &joined, err));
	*out = str_dup(mem, buf_str(&joined));
	return 0;
}

static int read_prompt(int record, struct arena *mem, struct rehearsal *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PROMPT_JSON_MAX);
	auto_json json_t *j = NULL;

	TRY(file_read(record, "transcripts/0000.json", &text, err));
	TRY(json_decode(str_trim(buf_str(&text)), JSON_REPAIR, &j, err));
	if (!str_eqz(json_get_str(j, "seat"), "prompt"))
		return err_set(err, ERR_PROTOCOL, "the session left no prompt");
	out->system = str_dup(mem, json_get_str(j, "system"));
	out->tools = str_dup(mem, json_get_str(j, "tools"));
	return 0;
}

int app_rehearse(const struct run_request *rq, struct arena *mem, struct rehearsal *out, struct err *err)
{
	struct run_request own = *rq;
	struct rehearsal done = { 0 };
	autoclose int record = -1;
	struct session_ref ref;
	struct place place;
	const char *dir;

	TRY(place_find(rq->workspace, rq->config, mem, &place, err));
	TRY(dir_make(place.repo_dir, 0700, err));
	TRY(session_mint(place.repo_dir, app_mode_find(rq->mode)->kind, &ref, err));
	own.run_id = str_from(ref.id);
	TRY(play_apart(&own, err));
	dir = session_path(place.repo_dir, &ref, NULL, mem);
	int r = dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", mem), &record, err);

	r = r < 0 ? r : read_prompt(record, mem, &done, err);
	r = r < 0 ? r : read_first(record, mem, &done.first, err);
	TRY(dir_remove_tree(AT_FDCWD, dir, r < 0 ? ERR_DISCARD : err));
	TRY(r);
	*out = done;
	return 0;
}
