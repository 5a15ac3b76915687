/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Jobs that are begun and fetched later; jobs that are waited for are every other test's. The zygote's words stand in the
 * channel before they are read. */
#include "agent/jobs.h"
#include "fmt/pack.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct pair {
	struct links links;
	struct jobs jobs;
	int zygote;
};

static void pair_init(struct pair *p)
{
	int fds[PEER_COUNT], ends[2];
	struct err err = { 0 };

	for (int i = 0; i < PEER_COUNT; i++)
		fds[i] = -1;
	CHECK_OK(chan_pair(ends, &err));
	fds[PEER_GIT] = ends[0];
	p->zygote = ends[1];
	links_init(&p->links, fds);
	jobs_init(&p->jobs, &p->links, PEER_GIT);
}

static void pair_fini(struct pair *p)
{
	jobs_fini(&p->jobs);
	links_fini(&p->links);
	base_close_fd(&p->zygote);
}

static int begin(struct pair *p, uint32_t *number, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(64);
	struct job_ask ask = { .type = WIRE_GIT, .keep_head = 100 };

	*number = jobs_next(&p->jobs);
	pack_u32(&body, *number);
	ask.body = buf_str(&body);
	return jobs_begin(&p->jobs, &ask, err);
}

static void say_started(struct pair *p, uint32_t number, const char *out, const char *errs)
{
	auto_buf struct buf b = BUF_MAX(64);
	int o[2], e[2];
	struct err err = { 0 };

	CHECK(pipe2(o, O_CLOEXEC) == 0 && pipe2(e, O_CLOEXEC) == 0);
	CHECK(write(o[1], out, strlen(out)) == (ssize_t)strlen(out) && write(e[1], errs, strlen(errs)) == (ssize_t)strlen(errs));
	pack_u32(&b, number);
	CHECK_OK(chan_send(p->zygote, WIRE_STARTED, buf_str(&b), (const int[]){ o[0], e[0] }, 2, &err));
	for (int i = 0; i < 2; i++) {
		close(o[i]);
		close(e[i]);
	}
}

static void say_exit_with(struct pair *p, uint32_t number, uint32_t code, struct str note)
{
	auto_buf struct buf b = BUF_MAX(128);
	struct err err = { 0 };

	pack_u32(&b, number);
	pack_u32(&b, code);
	pack_u8(&b, JOB_EXITED);
	pack_u64(&b, 1000);
	pack_str(&b, note);
	CHECK_OK(chan_send(p->zygote, WIRE_EXIT, buf_str(&b), NULL, 0, &err));
}

static void say_exit(struct pair *p, uint32_t number, uint32_t code)
{
	say_exit_with(p, number, code, STR("a note"));
}

TEST(jobs_that_were_begun_are_fetched_in_any_order_with_their_streams_apart)
{
	CLEANUP(pair_fini) struct pair p;
	auto_arena struct arena *mem = arena_new();
	uint32_t one, two, three;
	struct job_result r;
	struct err err = { 0 };

	pair_init(&p);
	CHECK_OK(begin(&p, &one, &err));
	CHECK_OK(begin(&p, &two, &err));
	CHECK_OK(begin(&p, &three, &err));
	say_started(&p, two, "second", "");
	say_started(&p, one, "first", "a warning");
	say_exit(&p, two, 0);
	say_exit(&p, one, 3);
	say_exit(&p, three, 127); /* it never started */
	CHECK_OK(jobs_fetch(&p.jobs, three, mem, &r, &err));
	CHECK_STR(r.out, STR(""));
	CHECK_INT(r.code, 127);
	CHECK_OK(jobs_fetch(&p.jobs, one, mem, &r, &err));
	CHECK_STR(r.out, STR("first"));
	CHECK_STR(r.errs, STR("a warning"));
	CHECK_STR(r.note, STR("a note"));
	CHECK_INT(r.code, 3);
	CHECK_OK(jobs_fetch(&p.jobs, two, mem, &r, &err));
	CHECK_STR(r.out, STR("second"));
	CHECK_STR(r.errs, STR(""));
	CHECK_INT(r.code, 0);
}

TEST(a_job_is_waited_for_while_another_was_begun)
{
	CLEANUP(pair_fini) struct pair p;
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf body = BUF_MAX(64);
	struct job_ask ask = { .type = WIRE_GIT, .keep_head = 100, .finish = true };
	uint32_t begun, waited;
	struct job_result r;
	struct err err = { 0 };

	pair_init(&p);
	CHECK_OK(begin(&p, &begun, &err));
	waited = jobs_next(&p.jobs);
	pack_u32(&body, waited);
	ask.body = buf_str(&body);
	say_started(&p, begun, "begun", "");
	say_started(&p, waited, "waited for", "");
	say_exit(&p, waited, 0);
	say_exit(&p, begun, 0);
	CHECK_OK(jobs_ask(&p.jobs, &ask, mem, &r, &err));
	CHECK_STR(r.out, STR("waited for"));
	CHECK_OK(jobs_fetch(&p.jobs, begun, mem, &r, &err));
	CHECK_STR(r.out, STR("begun"));
}

TEST(jobs_are_begun_while_there_is_a_place_and_a_place_is_free_once_its_job_was_fetched)
{
	CLEANUP(pair_fini) struct pair p;
	auto_arena struct arena *mem = arena_new();
	uint32_t number[JOBS_BEHIND_MAX], more;
	struct job_result r;
	struct err err = { 0 };

	pair_init(&p);
	for (size_t i = 0; i < COUNT(number); i++)
		CHECK_OK(begin(&p, &number[i], &err));
	say_exit(&p, number[2], 1);
	while (links_pump(&p.links, 0, &err) > 0)
		;
	CHECK_INT(begin(&p, &more, &err), -ERR_BUSY); /* over, and not fetched */
	CHECK_OK(jobs_fetch(&p.jobs, number[2], mem, &r, &err));
	CHECK_OK(begin(&p, &more, &err));
	say_started(&p, more, "in its place", "");
	say_exit(&p, more, 0);
	CHECK_OK(jobs_fetch(&p.jobs, more, mem, &r, &err));
	CHECK_STR(r.out, STR("in its place"));
}

TEST(a_start_that_was_not_asked_for_is_a_breach)
{
	CLEANUP(pair_fini) struct pair p;
	auto_arena struct arena *mem = arena_new();
	struct job_result r;
	uint32_t number;
	struct err err = { 0 };

	pair_init(&p);
	CHECK_OK(begin(&p, &number, &err));
	say_started(&p, number + 1, "", "");
	CHECK_INT(jobs_fetch(&p.jobs, number, mem, &r, &err), -ERR_PROTOCOL);
}

static int keep_note(void *self, const struct job_result *r, struct err *err)
{
	return buf_add(self, r->note, err);
}

TEST(what_is_said_of_a_servers_end_is_text_whatever_the_zygote_sends)
{
	CLEANUP(pair_fini) struct pair p;
	auto_buf struct buf note = BUF_MAX(64);
	struct job_server s = { .in = -1, .on_end = keep_note, .self = &note };
	struct err err = { 0 };

	pair_init(&p);
	CHECK_OK(jobs_serve(&p.jobs, &s, 0, &err));
	say_exit_with(&p, s.job, 1, STR("a \xff note"));
	CHECK_INT(links_pump(&p.links, 0, &err), 1);
	CHECK_STR(buf_str(&note), STR("a \xEF\xBF\xBD note"));
}

TEST(a_zygote_that_is_gone_leaves_nothing_to_fetch)
{
	CLEANUP(pair_fini) struct pair p;
	auto_arena struct arena *mem = arena_new();
	struct job_result r;
	uint32_t number;
	struct err err = { 0 };

	pair_init(&p);
	CHECK_OK(begin(&p, &number, &err));
	base_close_fd(&p.zygote);
	CHECK_INT(jobs_fetch(&p.jobs, number, mem, &r, &err), -ERR_CLOSED);
}
