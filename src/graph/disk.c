/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "graph/disk.h"

#include "base/time.h"
#include "session/append.h"
#include "sys/fault.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FAULTY(call) ((errno = fault_hit()) != 0 ? -1 : (call))
#define NODES_DIR "nodes"
#define NODE_MAX  (64 * 1024)

struct graph_disk {
	int record; /* borrowed */
	struct append journal;
	struct graph *graph;
};

static int open_journal(struct graph_disk *d, int64_t *torn, struct err *err)
{
	return append_open(d->record, GRAPH_FILE, GRAPH_FILE_MAX, &d->journal, torn, err);
}

int graph_disk_open(int record_fd, struct graph_disk **out, int64_t *torn, int64_t *bad, struct err *err)
{
	struct graph_disk *d = mem_alloc(sizeof(*d));
	auto_buf struct buf text = BUF_MAX(GRAPH_FILE_MAX + 1);
	struct stat st;
	int r = 0;

	*torn = *bad = 0;
	*d = (struct graph_disk){ .record = record_fd, .journal = APPEND_NONE, .graph = graph_new() };
	if (fstatat(record_fd, GRAPH_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		r = open_journal(d, torn, err);
		r = r < 0 ? r : graph_disk_text(d, &text, err);
		*bad = r < 0 ? 0 : graph_fold(d->graph, buf_str(&text), -1);
	}
	if (r < 0) {
		graph_disk_close(d);
		return r;
	}
	*out = d;
	return 0;
}

void graph_disk_close(struct graph_disk *d)
{
	if (!d)
		return;
	append_close(&d->journal);
	graph_free(d->graph);
	free(d);
}

int graph_disk_text(struct graph_disk *d, struct buf *out, struct err *err)
{
	return d->journal.fd < 0 ? 0 : append_tail(&d->journal, (size_t)d->journal.size, out, err);
}

/* A leg went on from an older checkpoint: what came after it stands in the file and counts no more. */
static int go_back(struct graph_disk *d, int64_t to, struct err *err)
{
	auto_buf struct buf op = BUF_MAX(256), line = BUF_MAX(512), text = BUF_MAX(GRAPH_FILE_MAX + 1);
	struct graph *g;

	TRY(graph_op_encode(&(struct graph_op){ .op = GRAPH_BACK, .to = to }, &op, err));
	TRY(graph_line(buf_str(&op), to, time_now_us(), &line, err));
	TRY(append_write(&d->journal, buf_str(&line), err));
	TRY(graph_disk_text(d, &text, err));
	g = graph_new();
	graph_fold(g, buf_str(&text), -1);
	graph_free(d->graph);
	d->graph = g;
	return 0;
}

static int write_node(const struct graph_disk *d, int dir, const struct task *t, struct err *err)
{
	auto_buf struct buf page = BUF_MAX(NODE_MAX), name = BUF_MAX(64);

	TRY(graph_print_node(d->graph, t, &page, err));
	TRY(buf_addf(&name, err, "%s.md", t->id.z));
	return file_replace(dir, name.p, buf_str(&page), 0600, err);
}

/* The page of the task and, since it lists its children, of the one above. */
static int write_nodes(const struct graph_disk *d, const struct graph_op *op, struct err *err)
{
	const struct task *t = graph_find(d->graph, op->id);
	const struct task *parent = t ? graph_find(d->graph, str_from(t->parent.z)) : NULL;
	autoclose int dir = -1;

	if (!t || op->op == GRAPH_CURSOR)
		return 0;
	if (FAULTY(mkdirat(d->record, NODES_DIR, 0700)) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make directory %s", NODES_DIR);
	TRY(dir_open(d->record, NODES_DIR, &dir, err));
	TRY(write_node(d, dir, t, err));
	return parent && op->op == GRAPH_ADD ? write_node(d, dir, parent, err) : 0;
}

int graph_disk_apply(struct graph_disk *d, int64_t version, struct str json, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf op_text = BUF_MAX(2 * GRAPH_OP_MAX), line = BUF_MAX(3 * GRAPH_OP_MAX);
	int64_t torn, now = time_now_us();
	struct graph_op op;

	TRY(graph_op_decode(json, mem, &op, err));
	if (op.op == GRAPH_BACK || version < 1 || version > d->graph->version + 1)
		return err_set(err, ERR_INVALID, "version %lld of the task graph came when %lld was next", (long long)version,
			(long long)d->graph->version + 1);
	if (d->journal.fd < 0)
		TRY(open_journal(d, &torn, err));
	if (version <= d->graph->version)
		TRY(go_back(d, version - 1, err));
	TRY(graph_op_encode(&op, &op_text, err)); /* as we write it, whatever the sender's spelling was */
	TRY(graph_line(buf_str(&op_text), version, now, &line, err));
	TRY(graph_apply(d->graph, &op, now, err));
	d->graph->version = version;
	TRY(append_write(&d->journal, buf_str(&line), err));
	return write_nodes(d, &op, err);
}

int graph_disk_sync(struct graph_disk *d, struct err *err)
{
	return d->journal.fd < 0 ? 0 : append_sync(&d->journal, err);
}

int graph_load(int record_fd, int64_t version, struct graph **out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(GRAPH_FILE_MAX + 1);
	struct graph *g;
	int r = file_read(record_fd, GRAPH_FILE, &text, err);

	if (r < 0 && r != -ERR_NOENT)
		return r;
	g = graph_new();
	graph_fold(g, buf_str(&text), version);
	*out = g;
	return 0;
}
