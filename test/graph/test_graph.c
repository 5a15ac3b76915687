/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "graph/disk.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define B "01BBBBBBBBBBBBBBBBBBBBBBBB"
#define C "01CCCCCCCCCCCCCCCCCCCCCCCC"
#define D "01DDDDDDDDDDDDDDDDDDDDDDDD"

static size_t entries(const struct test_dir *dir)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *e;
	size_t n = 0;

	CHECK(dir_list(dir->fd, mem, 100, &e, &n, ERR_DISCARD) == 0);
	return n;
}

static int apply(struct graph *g, const char *json, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct graph_op op;

	TRY(graph_op_decode(str_from(json), mem, &op, err));
	return graph_apply(g, &op, 1000000, err);
}

#define ADD(id, parent, title, more) \
	"{\"op\":\"add_subtask\",\"id\":\"" id "\",\"parent_id\":\"" parent "\",\"title\":\"" title "\"" more "}"
#define SET(id, status) "{\"op\":\"update_status\",\"id\":\"" id "\",\"status\":\"" status "\"}"

static struct graph *small_graph(void)
{
	struct graph *g = graph_new();
	struct err err = { 0 };

	CHECK_OK(apply(g, ADD(A, "", "all of it", ""), &err));
	CHECK_OK(apply(g, ADD(B, A, "read", ""), &err));
	CHECK_OK(apply(g, ADD(C, A, "write", ",\"depends_on\":[\"" B "\"],\"relevant_paths\":[\"a.c\"]"), &err));
	return g;
}

TEST(graph_focus_goes_from_leaf_to_leaf_as_dependencies_are_done)
{
	auto_graph struct graph *g = small_graph();
	struct err err = { 0 };

	CHECK_STR(graph_focus(g)->title, STR("read"));
	CHECK_OK(apply(g, "{\"op\":\"set_cursor\",\"id\":\"" C "\"}", &err));
	CHECK_STR(graph_focus(g)->title, STR("read")); /* the cursor's task is not ready */
	CHECK_OK(apply(g, SET(B, "passed"), &err));
	CHECK_STR(graph_focus(g)->title, STR("write"));
	CHECK_INT(graph_open(g), 1);
	CHECK_OK(apply(g, ADD(D, C, "first half", ""), &err));
	CHECK_STR(graph_focus(g)->title, STR("first half")); /* a leaf before what it is part of */
	CHECK_OK(apply(g, SET(D, "skipped"), &err));
	CHECK_OK(apply(g, SET(C, "failed"), &err));
	CHECK(graph_focus(g) == NULL);
	CHECK_INT(graph_open(g), 0);
	CHECK_INT(g->version, 8);
}

TEST(graph_refuses_what_breaks_a_rule_and_stays_as_it_was)
{
	static const struct { const char *op, *says; } cases[] = {
		{ ADD("01A", "", "x", ""), "id: not a task's id" },
		{ ADD(A, "", "x", ""), "already" },
		{ ADD(D, "", " ", ""), "title: must not be empty" },
		{ ADD(D, "01ZZZZZZZZZZZZZZZZZZZZZZZZ", "x", ""), "parent_id: there is no task" },
		{ ADD(D, "../../../../etc/passwd/xxx", "x", ""), "parent_id: there is no task" },
		{ ADD(D, A, "x", ",\"depends_on\":[\"" D "\"]"), "depends_on: there is no task" },
		{ ADD(D, B, "x", ",\"depends_on\":[\"" A "\"]"), "stands above this task" },
		{ ADD(D, B, "x", ",\"after\":\"" C "\""), "after: not a task beside" },
		{ ADD(D, A, "x", ",\"wish\":1"), "wish" },
		{ "{\"op\":\"update_status\",\"id\":\"" B "\",\"depends_on\":[\"" C "\"]}", "depends on this task itself" },
		{ "{\"op\":\"update_status\",\"id\":\"" B "\",\"depends_on\":[\"" B "\"]}", "depends on this task itself" },
		{ "{\"op\":\"update_status\",\"id\":\"" B "\"}", "nothing to change" },
		{ SET(B, "done"), "\"done\" is not one of" },
		{ SET(D, "passed"), "there is no task" },
		{ "{\"op\":\"set_cursor\",\"id\":\"" D "\"}", "there is no task" },
		{ "{\"op\":\"back\",\"to\":1}", "not an operation" },
		{ "{\"op\":\"push\"}", "not one of" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_graph struct graph *g = small_graph();
		auto_buf struct buf before = BUF_MAX(65536), after = BUF_MAX(65536);
		struct err err = { 0 };

		CHECK_OK(graph_print_json(g, &before, &err));
		CHECK(apply(g, cases[i].op, &err) < 0);
		if (str_find(str_from(err.msg), str_from(cases[i].says)) == strlen(err.msg))
			print_error("%s: %s\n", cases[i].op, err.msg);
		CHECK(str_find(str_from(err.msg), str_from(cases[i].says)) < strlen(err.msg));
		CHECK_OK(graph_print_json(g, &after, &err));
		CHECK_STR(buf_str(&after), buf_str(&before));
		CHECK_INT(g->version, 3);
	}
}

TEST(graph_a_task_that_passed_stays_passed_and_a_standing_goal_stays_open)
{
	auto_graph struct graph *g = small_graph();
	struct err err = { 0 };

	CHECK_OK(apply(g, SET(B, "passed"), &err));
	CHECK(apply(g, SET(B, "failed"), &err) == -ERR_INVALID);
	CHECK_OK(apply(g, SET(B, "obsolete"), &err));
	CHECK_OK(apply(g, ADD(D, A, "faster", ",\"standing\":true"), &err));
	CHECK(apply(g, SET(D, "passed"), &err) == -ERR_INVALID);
	CHECK(apply(g, SET(D, "skipped"), &err) == -ERR_INVALID);
	CHECK_STR(graph_focus(g)->title, STR("write"));
	CHECK_OK(apply(g, SET(C, "passed"), &err));
	CHECK_STR(graph_focus(g)->title, STR("faster")); /* when nothing else is left */
	CHECK_INT(graph_open(g), 0);
}

TEST(graph_siblings_keep_the_order_that_was_asked_for)
{
	auto_graph struct graph *g = small_graph();
	auto_buf struct buf out = BUF_MAX(65536);
	struct err err = { 0 };

	CHECK_OK(apply(g, ADD(D, A, "be\\nt\\u001b[31mween", ",\"after\":\"" B "\""), &err));
	CHECK_OK(apply(g, SET(B, "in_progress"), &err));
	CHECK_OK(graph_print_tree(g, &out, &err));
	CHECK_STR(buf_str(&out), STR("[ ] all of it  pending\n  [>] read  in_progress\n  [ ] be t [31mween  pending\n"
		"  [ ] write  pending\n"));
}

TEST(graph_on_disk_is_what_was_applied_and_a_leg_may_go_back)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_graph struct graph *g = NULL, *old = NULL;
	struct graph_disk *d;
	struct err err = { 0 };
	int64_t torn, bad;

	CHECK_OK(graph_disk_open(dir.fd, &d, &torn, &bad, &err));
	CHECK_INT(entries(&dir), 0); /* nothing is made before it is needed */
	CHECK_OK(graph_disk_apply(d, 1, STR(ADD(A, "", "all", "")), &err));
	CHECK_OK(graph_disk_apply(d, 2, STR(ADD(B, A, "lost turn", "")), &err));
	CHECK(graph_disk_apply(d, 4, STR(SET(A, "passed")), &err) == -ERR_INVALID);
	CHECK(graph_disk_apply(d, 3, STR("{\"op\":\"back\",\"to\":0}"), &err) == -ERR_INVALID);
	/* The conversation went on from before version 2. */
	CHECK_OK(graph_disk_apply(d, 2, STR(ADD(C, A, "instead", "")), &err));
	CHECK_OK(graph_disk_sync(d, &err));
	graph_disk_close(d);
	CHECK_OK(graph_load(dir.fd, -1, &g, &err));
	CHECK_INT(g->version, 2);
	CHECK(graph_find(g, STR(B)) == NULL && graph_find(g, STR(C)) != NULL);
	CHECK_OK(graph_load(dir.fd, 1, &old, &err));
	CHECK_INT(old->n, 1);
	CHECK(file_is(dir.fd, "nodes/" A ".md", STR("")) == false);
	auto_buf struct buf page = BUF_MAX(65536);
	CHECK_OK(file_read(dir.fd, "nodes/" A ".md", &page, &err));
	CHECK(str_starts(buf_str(&page), STR("---\nid: \"" A "\"\nparent_id: ~\ntitle: \"all\"\n")));
	CHECK(str_find(buf_str(&page), STR("children: [\"" C "\"]\n")) < page.n);
}

TEST(graph_on_disk_survives_a_torn_tail_and_garbage)
{
	auto_dir struct test_dir dir = test_dir_new();
	struct graph_disk *d;
	struct err err = { 0 };
	int64_t torn, bad;

	CHECK_OK(graph_disk_open(dir.fd, &d, &torn, &bad, &err));
	CHECK_OK(graph_disk_apply(d, 1, STR(ADD(A, "", "all", "")), &err));
	graph_disk_close(d);
	int fd = openat(dir.fd, GRAPH_FILE, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(write(fd, "junk\n{\"graph_ver", 16) == 16);
	close(fd);
	CHECK_OK(graph_disk_open(dir.fd, &d, &torn, &bad, &err));
	CHECK_INT(torn, 11);
	CHECK_INT(bad, 1);
	CHECK_OK(graph_disk_apply(d, 2, STR(SET(A, "passed")), &err));
	graph_disk_close(d);
}

TEST(graph_on_disk_is_whole_or_as_before_whatever_call_fails)
{
	for (int nth = 1, fired = 1; fired; nth++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_graph struct graph *g = NULL;
		struct graph_disk *d = NULL;
		struct err err = { 0 };
		int64_t torn, bad;

		CHECK_OK(graph_disk_open(dir.fd, &d, &torn, &bad, &err));
		fault_arm(nth, EIO);
		int r = graph_disk_apply(d, 1, STR(ADD(A, "", "all", "")), &err);
		fired = fault_disarm();
		graph_disk_close(d);
		CHECK(fired || r == 0);
		CHECK_OK(graph_load(dir.fd, -1, &g, &err));
		CHECK(g->n == 1 || (g->n == 0 && r < 0));
	}
}

TEST(graph_full_takes_no_more)
{
	auto_graph struct graph *g = graph_new();
	struct err err = { 0 };
	struct task_id id;

	for (int i = 0; i <= GRAPH_TASKS_MAX; i++) {
		struct graph_op op = { .op = GRAPH_ADD, .title = STR("t") };

		task_id_new(&id);
		CHECK(task_id_ok(str_from(id.z)));
		op.id = str_from(id.z);
		CHECK_INT(graph_apply(g, &op, 1, &err), i < GRAPH_TASKS_MAX ? 0 : -ERR_LIMIT);
	}
}

TEST(graph_operations_read_back_as_they_were_written)
{
	auto_arena struct arena *mem = arena_new();
	struct str deps[] = { STR(A), STR(B) }, paths[] = { STR("a b"), STR("\"c\"") };
	struct graph_op op = { .op = GRAPH_ADD, .id = STR(C), .parent_id = STR(A), .after = STR(B), .title = STR("t\"\n"),
		.rationale = STR("why"), .acceptance = STR("when"), .by = STR("worker"), .standing = true,
		.relevant_paths = { paths, 2 }, .depends_on = { deps, 2 } }, back;
	auto_buf struct buf once = BUF_MAX(65536), twice = BUF_MAX(65536);
	struct err err = { 0 };

	CHECK_OK(graph_op_encode(&op, &once, &err));
	CHECK_OK(graph_op_decode(buf_str(&once), mem, &back, &err));
	CHECK_OK(graph_op_encode(&back, &twice, &err));
	CHECK_STR(buf_str(&once), buf_str(&twice));
	CHECK_STR(back.title, op.title);
	CHECK_INT(back.depends_on.n, 2);
}
