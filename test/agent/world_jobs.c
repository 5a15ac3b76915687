/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world_priv.h"

#include "git/gitop.h"
#include "sys/proc.h"

#include <fcntl.h>

static void exit_job(struct world *w, enum peer p, uint32_t id, int code, enum job_end why, struct str note)
{
	auto_buf struct buf b = BUF_MAX(4096);

	pack_u32(&b, id);
	pack_u32(&b, (uint32_t)code);
	pack_u8(&b, (uint8_t)why);
	pack_u64(&b, 1000);
	pack_str(&b, note);
	world_say(w->fds[p], WIRE_EXIT, &b, NULL, 0);
}

static void start_job(struct world *w, enum peer p, uint32_t id, struct str out, struct str errs)
{
	auto_buf struct buf b = BUF_MAX(16);
	int o[2], e[2];

	BUG_IF(pipe2(o, O_CLOEXEC) < 0 || pipe2(e, O_CLOEXEC) < 0);
	BUG_IF(fcntl(o[1], F_SETPIPE_SZ, 1 << 20) < 0);
	pack_u32(&b, id);
	world_say(w->fds[p], WIRE_STARTED, &b, (const int[]){ o[0], e[0] }, 2);
	(void)!write(o[1], out.p, out.n);
	(void)!write(e[1], errs.p, errs.n);
	for (int i = 0; i < 2; i++) {
		close(o[i]);
		close(e[i]);
	}
}

static enum job_end why_of(struct str word)
{
	static const struct {
		const char *word;
		enum job_end why;
	} words[] = { { "denied", JOB_DENIED }, { "unrunnable", JOB_UNRUNNABLE }, { "timeout", JOB_TIMEOUT },
		{ "lost", JOB_LOST } };

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(word, words[i].word))
			return words[i].why;
	return JOB_EXITED;
}

void world_on_job(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	const json_t *job;
	struct str *argv;
	size_t argc;
	json_t *words = json_array();
	struct str write_to, what;
	enum job_end why;

	if (m->type == WIRE_KILL) {
		w->kills++;
		exit_job(w, PEER_ZYGOTE, id, 137, JOB_STOPPED, STR(""));
		json_decref(words);
		return;
	}
	w->unsynced_jobs += w->dirty;
	w->early_acts += w->syncing != 0;
	unpack_u8(&u);
	unpack_u32(&u);
	unpack_str(&u);
	argv = unpack_strs(&u, w->mem, 512, &argc);
	for (size_t i = 0; i < argc; i++)
		json_array_append_new(words, json_text(argv[i]));
	json_array_append_new(w->argvs, words);
	job = json_array_get(json_object_get(w->script, "jobs"), w->job++);
	write_to = json_get_str(job, "write");
	if (write_to.n > 0)
		test_write(&w->dir, str_dupz(w->mem, write_to), str_printf(w->mem, "%zu\n", w->job));
	what = json_get_str(job, "why");
	why = why_of(what);
	world_act(w, json_get_str(job, "act"));
	if (json_get_int(job, "ends", 0) > 0)
		exit_job(w, PEER_ZYGOTE, (uint32_t)json_get_int(job, "ends", 0), 4, JOB_EXITED, STR("a note"));
	if (why == JOB_EXITED)
		start_job(w, PEER_ZYGOTE, id, json_get_str(job, "out"), json_get_str(job, "errs"));
	if (str_eqz(what, "hang"))
		return;
	exit_job(w, PEER_ZYGOTE, id, why == JOB_UNRUNNABLE ? 127 : (int)json_get_int(job, "code", 0), why,
		why == JOB_EXITED ? STR("") : STR("for a reason of the test"));
}

/* Real git, as the zygote would call it. */
void world_on_git(struct world *w, struct chan_msg *m)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	struct zygote_git_request rq = { .op = unpack_u8(&u), .run_id = "sunny-otter-K4Q7B2" };
	auto_buf struct buf in = BUF_MAX(1 << 24), out = BUF_MAX(1 << 24), errs = BUF_MAX(1 << 24);
	autoclose int fd = chan_take_fd(m, 0);
	struct zygote_words words;
	struct proc_status st = { 0 };
	struct err err = { 0 };
	const char *env[64];
	size_t n = 0;

	if (rq.op < COUNT(w->gits))
		w->gits[rq.op]++;
	if (w->late_git != 0 && rq.op == w->late_git) {
		exit_job(w, PEER_GIT, id, 124, JOB_TIMEOUT, STR(""));
		return;
	}
	rq.work_tree = w->ws;
	rq.git_dir = rq.common_dir = str_printf(w->mem, "%s/.git", w->ws).p;
	rq.index = str_printf(w->mem, "%s/.git/agent6.index", w->ws).p;
	rq.args = unpack_strs(&u, w->mem, 512, &rq.nargs);
	rq.has_stdin = fd >= 0;
	if (fd >= 0)
		BUG_IF(memfd_read(fd, &in, ERR_DISCARD) < 0);
	if (gitop_words(&rq, w->mem, &words, &err) < 0) {
		exit_job(w, PEER_GIT, id, 0, JOB_REFUSED, str_from(err.msg));
		return;
	}
	for (size_t i = 0; words.env && words.env[i]; i++)
		env[n++] = words.env[i];
	for (size_t i = 0; world_git_env[i]; i++)
		env[n++] = world_git_env[i];
	env[n] = NULL;
	{
		const char *argv[512];
		size_t k = 0;

		for (; words.argv[k] && k + 1 < COUNT(argv); k++)
			argv[k] = words.argv[k];
		argv[k] = NULL;
		argv[0] = "/usr/bin/git";
		const struct proc_spec spec = { .argv = argv, .env = env, .cwd = w->ws };

		if (proc_run(&spec, buf_str(&in), 10000, &out, &errs, &st, &err) < 0) {
			exit_job(w, PEER_GIT, id, 0, JOB_LOST, str_from(err.msg));
			return;
		}
	}
	start_job(w, PEER_GIT, id, buf_str(&out), buf_str(&errs));
	exit_job(w, PEER_GIT, id, st.code, JOB_EXITED, STR(""));
}
