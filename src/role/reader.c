/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/reader.h"

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "git/gitop.h"
#include "git/head.h"
#include "memory/notes.h"
#include "sandbox/caps.h"
#include "sandbox/confine.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "tool/denial.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHAN_FD    3
#define ANSWER_MAX ((size_t)4 * 1024 * 1024)
#define HEAD_MAX   4096 /* of a note's head, and of a branch's name */
#define FDS_MAX    3
#define JAIL_MAX   ((size_t)2 * 1024 * 1024) /* the paths of a jail, and the end of what was written in it */

enum question { ASK_FACTS, ASK_NOTES, ASK_REPO, ASK_ADD, ASK_DENIAL, QUESTIONS };

/* ---- the process ---- */

static int read_record(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err)
{
	bool ending = unpack_u8(u) == 1;
	struct facts f;

	TRY(facts_read(fds[0], ending, mem, &f, err));
	facts_pack(&f, out);
	return 0;
}

static int read_notes(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err)
{
	struct memory_note *list;
	size_t n = 0;

	(void)u;
	TRY(notes_list(fds[0], false, mem, &list, &n, err));
	n = n < READER_NOTES ? n : READER_NOTES;
	pack_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		const struct str parts[READER_NOTE_PARTS] = { str_from(list[i].id), list[i].scope, list[i].text, list[i].origin,
			list[i].created_at };

		for (size_t p = 0; p < READER_NOTE_PARTS; p++)
			pack_str(out, parts[p]);
	}
	return 0;
}

static const char *path_of(struct unpack *u, struct arena *mem)
{
	return str_dupz(mem, unpack_str(u));
}

static int read_repo(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err)
{
	struct discovered d = { .top = path_of(u, mem) };
	struct discovered_inner in = { 0 };
	struct repo_head head = { 0 };
	struct str dirs[DISCOVER_INNER_MAX];
	int r;

	(void)fds; /* what lies beneath them is all that can be opened */
	d.dot_git = path_of(u, mem);
	d.git_dir = path_of(u, mem);
	d.common_dir = path_of(u, mem);
	TRY(r = head_read(&d, mem, &head, err));
	TRY(discover_inner(&d, mem, &in, err));
	for (size_t i = 0; i < in.n; i++)
		dirs[i] = str_from(in.dirs[i]);
	pack_u8(out, r > 0);
	pack_u8(out, head.unborn);
	pack_str(out, head.branch);
	pack_str(out, head.sha);
	pack_u8(out, in.more);
	pack_strs(out, dirs, in.n);
	return 0;
}

/* The one that writes: what is to be added is the operator's, what it is added to is not. */
static int add_members(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err)
{
	(void)mem, (void)out;
	return manifest_merge(fds[0], MANIFEST_HO, unpack_str(u), err);
}

/* Whatever the command wrote: what cannot be shown becomes "?". True when it is cut. */
static bool make_printable(struct str *path, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(3 * DENIAL_PATH_MAX); /* a byte that is no character becomes one of three */
	size_t n;

	(void)!buf_add_utf8(&b, *path, ERR_DISCARD);
	for (size_t i = 0; i < b.n; i++)
		if ((unsigned char)b.p[i] < ' ' || b.p[i] == 127)
			b.p[i] = '?';
	n = utf8_head(buf_str(&b), DENIAL_PATH_MAX);
	*path = str_dup(mem, str_head(buf_str(&b), n));
	return n < b.n;
}

static void make_denial_printable(struct denial *d, struct arena *mem)
{
	struct str raw = d->path;

	d->cut = make_printable(&d->path, mem) || d->cut;
	if (!str_eq(d->path, raw)) /* where it ended is where it ends no more */
		d->grant = 0;
	if (make_printable(&d->link, mem) || d->cut)
		d->link = STR("");
	if (d->link.n == 0)
		d->grant = 0;
}

static int read_denial(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(JAIL_MAX);
	struct denial_jail jail = { 0 };
	struct job_result job = { 0 };
	struct denial d;

	(void)u;
	TRY(memfd_read(fds[0], &bytes, err));
	struct unpack in = unpack_from(buf_str(&bytes));

	job.why = (enum job_end)unpack_u8(&in);
	job.code = (int)unpack_u32(&in);
	job.note = unpack_str(&in);
	job.errs = unpack_str(&in);
	job.out = unpack_str(&in);
	jail.online = unpack_u8(&in) == 1;
	jail.git_open = unpack_u8(&in) == 1;
	jail.no_namespaces = unpack_u8(&in) == 1;
	jail.memory_each = unpack_u8(&in) == 1;
	jail.looks = unpack_u8(&in) == 1;
	jail.commands = unpack_str(&in);
	jail.cwd = unpack_str(&in);
	jail.hide_paths.p = unpack_strs(&in, mem, PACK_STRS_MAX, &jail.hide_paths.n);
	jail.nroots = unpack_u32(&in);
	if (in.bad || jail.nroots > in.rest.n)
		return err_set(err, ERR_PROTOCOL, "what a command ran in does not decode");
	struct tool_root *roots = arena_array(mem, jail.nroots + 1, sizeof(*roots));

	for (size_t i = 0; i < jail.nroots; i++) {
		roots[i].dirfd = -1;
		roots[i].writable = unpack_u8(&in) == 1;
		roots[i].path = unpack_str(&in);
	}
	jail.roots = roots;
	jail.look = denial_disk;
	jail.looks_outside = true;
	if (!unpack_done(&in))
		return err_set(err, ERR_PROTOCOL, "what a command ran in does not decode");
	denial_explain(&jail, &job, mem, &d);
	make_denial_printable(&d, mem);
	pack_u8(out, (uint8_t)d.rule);
	pack_u8(out, d.cut);
	pack_str(out, d.path);
	pack_str(out, d.link);
	pack_u32(out, (uint32_t)d.grant);
	return 0;
}

#define LL_ADD (LL_RO | LL_WRITE_FILE | LL_REMOVE_FILE | LL_MAKE_REG | LL_TRUNCATE)

static const struct {
	size_t nfds;
	uint64_t access; /* beneath each; 0: it is no directory, and no file is opened */
	int (*read)(struct unpack *u, const int *fds, struct arena *mem, struct buf *out, struct err *err);
} questions[QUESTIONS] = {
	[ASK_FACTS] = { 1, LL_RO, read_record },
	[ASK_NOTES] = { 1, LL_RO, read_notes },
	[ASK_REPO] = { FDS_MAX, LL_RO, read_repo },
	[ASK_ADD] = { 1, LL_ADD, add_members },
	[ASK_DENIAL] = { 1, 0, read_denial },
};

static int confine(const int *fds, size_t n, uint64_t access, struct err *err)
{
	struct ll_rule rules[FDS_MAX];

	TRY(caps_become_owner(fds[n - 1], err));
	for (size_t i = 0; i < n; i++)
		rules[i] = (struct ll_rule){ .kind = LL_FD, .fd = fds[i], .access = access };
	return confine_self(SECCOMP_RECORDER, rules, access ? n : 0, err);
}

static int work(struct chan_msg *m, struct arena *mem, struct buf *out, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint8_t ask = unpack_u8(&u);

	TRY(wire_check(LINK_MONITOR_READER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	if (ask >= QUESTIONS || m->nfds != questions[ask].nfds)
		return err_set(err, ERR_PROTOCOL, "WIRE_READ does not decode");
	TRY(confine(m->fds, m->nfds, questions[ask].access, err));
	TRY(questions[ask].read(&u, m->fds, mem, out, err));
	TRY(unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "WIRE_READ does not decode"));
	return pack_ok(out, err);
}

int role_reader_main(void)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf out = BUF_MAX(ANSWER_MAX), head = BUF_MAX(HEAD_MAX);
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	autoclose int answer = -1;
	struct err err = { 0 };
	int r;

	if (chan_recv(CHAN_FD, m, &err) < 0)
		return 1;
	r = work(m, mem, &out, &err);
	if (r == 0)
		r = memfd_seal("agent6-read", buf_str(&out), &answer, &err);
	pack_u8(&head, r < 0 ? (uint8_t)err.code : 0);
	pack_str(&head, str_from(err.msg));
	if (pack_ok(&head, &err) < 0)
		return 1;
	return chan_send(CHAN_FD, WIRE_READ_DONE, buf_str(&head), &answer, r < 0 ? 0 : 1, &err) < 0;
}

/* ---- who asks ---- */

/* quiet: it has not even our stderr. */
static int start_as(bool quiet, const struct buf *body, const int *fds, size_t nfds, struct peer *out, struct err *err)
{
	static const char *const argv[] = { "agent6", "--role", "reader", NULL };
	struct programs self = PROGRAMS_NONE;
	struct peer p = PEER_NONE;
	int r;

	TRY(landlock_needed(err)); /* it would say so itself, and no remedy of its words is believed */
	TRY(proc_self_exe(&self.agent6, err));
	r = launch(&(struct launch_spec){ .exe = self.agent6, .argv = argv, .errors = !quiet }, &p, err);
	programs_close(&self);
	TRY(r);
	r = pack_ok(body, err);
	if (r == 0)
		r = chan_send(p.chan, WIRE_READ, buf_str(body), fds, nfds, err);
	if (r < 0)
		peer_kill(&p);
	else
		*out = p;
	return r;
}

static int start(const struct buf *body, const int *fds, size_t nfds, struct peer *out, struct err *err)
{
	return start_as(false, body, fds, nfds, out, err);
}

/* It failed: why, in its words, which may be anything. */
static int failure(uint8_t code, struct str text, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(sizeof(err->msg));

	if (code >= ERR_COUNT)
		return err_set(err, ERR_PROTOCOL, "WIRE_READ_DONE does not decode");
	(void)!buf_add_utf8(&clean, str_head(text, utf8_head(text, sizeof(err->msg) / 4)), ERR_DISCARD);
	for (size_t i = 0; i < clean.n; i++)
		if ((unsigned char)clean.p[i] < ' ' || clean.p[i] == 127)
			clean.p[i] = '?';
	return err_set(err, (enum err_code)code, STR_FMT, STR_ARG(buf_str(&clean)));
}

static int open_answer(struct chan_msg *m, struct buf *out, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint8_t code;
	struct str text;

	TRY(wire_check(LINK_MONITOR_READER, WIRE_UP, m->type, m->body.n, m->nfds, err));
	code = unpack_u8(&u);
	text = unpack_str(&u);
	if (!unpack_done(&u) || (code == 0) != (m->nfds == 1))
		return err_set(err, ERR_PROTOCOL, "WIRE_READ_DONE does not decode");
	return code == 0 ? memfd_read(m->fds[0], out, err) : failure(code, text, err);
}

static int hear(struct peer *p, struct buf *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	int r = chan_recv(p->chan, m, err);

	if (r == -ERR_CLOSED)
		r = err_set(err, ERR_CLOSED, "the process that reads what earlier runs left died over it");
	if (r == 0) {
		r = open_answer(m, out, err);
		chan_msg_fini(m);
	}
	peer_kill(p);
	return r;
}

int reader_start_facts(int record_fd, bool ending, struct peer *out, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u8(&body, ASK_FACTS);
	pack_u8(&body, ending);
	return start(&body, &record_fd, 1, out, err);
}

int reader_take_facts(struct peer *p, struct arena *mem, struct facts *out, struct err *err)
{
	auto_buf struct buf answer = BUF_MAX(ANSWER_MAX);

	TRY(hear(p, &answer, err));
	return facts_unpack(buf_str(&answer), mem, out, err);
}

int reader_facts(int record_fd, bool ending, struct arena *mem, struct facts *out, struct err *err)
{
	struct peer p;

	TRY(reader_start_facts(record_fd, ending, &p, err));
	return reader_take_facts(&p, mem, out, err);
}

int reader_add(int record_fd, struct str members, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY), answer = BUF_MAX(16);
	struct peer p;

	pack_u8(&body, ASK_ADD);
	pack_str(&body, members);
	TRY(start(&body, &record_fd, 1, &p, err));
	return hear(&p, &answer, err);
}

static bool is_line(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 127)
			return false;
	return s.n <= HEAD_MAX;
}

int reader_unpack_notes(struct str bytes, struct arena *mem, struct str_list *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	uint32_t n = unpack_u32(&u);
	struct str_list l = { 0 };

	if (n > READER_NOTES)
		return err_set(err, ERR_PROTOCOL, "what was read of the notes does not decode");
	l.p = arena_array(mem, (size_t)READER_NOTE_PARTS * n + 1, sizeof(*l.p));
	for (uint32_t i = 0; i < n; i++) {
		struct str id = unpack_str(&u), scope = unpack_str(&u), text = unpack_str(&u), origin = unpack_str(&u), at = unpack_str(&u);

		if (u.bad || !note_id_ok(id) || !note_scope_ok(scope) || text.n > NOTE_TEXT_MAX || !is_line(origin) || !is_line(at))
			return err_set(err, ERR_PROTOCOL, "what was read of the notes does not decode");
		l.p[l.n++] = str_dup(mem, id);
		l.p[l.n++] = str_dup(mem, scope);
		l.p[l.n++] = str_dup(mem, text);
		l.p[l.n++] = str_dup(mem, origin);
		l.p[l.n++] = str_dup(mem, at);
	}
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "what was read of the notes does not decode");
	*out = l;
	return 0;
}

int reader_notes(int notes_fd, struct arena *mem, struct str_list *out, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16), answer = BUF_MAX(ANSWER_MAX);
	struct peer p;

	pack_u8(&body, ASK_NOTES);
	TRY(start(&body, &notes_fd, 1, &p, err));
	TRY(hear(&p, &answer, err));
	return reader_unpack_notes(buf_str(&answer), mem, out, err);
}

int reader_start_repo(const struct discovered *d, struct peer *out, struct err *err)
{
	const char *const paths[] = { d->top, d->dot_git, d->git_dir, d->common_dir };
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);
	autoclose int top = -1, git = -1, common = -1;

	TRY(dir_open(AT_FDCWD, d->top, &top, err));
	TRY(dir_open(AT_FDCWD, d->git_dir, &git, err));
	TRY(dir_open(AT_FDCWD, d->common_dir, &common, err));
	pack_u8(&body, ASK_REPO);
	for (size_t i = 0; i < COUNT(paths); i++)
		pack_str(&body, str_from(paths[i]));
	const int fds[FDS_MAX] = { top, git, common };

	return start(&body, fds, COUNT(fds), out, err);
}

/* A branch and a commit as git could have them, and directories that are inside. */
int reader_unpack_repo(struct str bytes, const struct discovered *d, struct arena *mem, struct repo_facts *out,
	struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct repo_facts f = { 0 };
	size_t n = 0;

	f.have_head = unpack_u8(&u) == 1;
	f.head.unborn = unpack_u8(&u) == 1;
	f.head.branch = str_dup(mem, unpack_str(&u));
	f.head.sha = str_dup(mem, unpack_str(&u));
	f.inner.more = unpack_u8(&u) == 1;
	const struct str *dirs = unpack_strs(&u, mem, DISCOVER_INNER_MAX, &n);

	if (!unpack_done(&u) || !is_line(f.head.branch) || (f.head.sha.n > 0 && !git_sha_ok(f.head.sha)))
		return err_set(err, ERR_PROTOCOL, "what was read of %s does not decode", d->git_dir);
	for (size_t i = 0; i < n; i++) {
		const char *dir = path_is_clean(dirs[i]) ? str_dupz(mem, dirs[i]) : d->top;

		if (strcmp(dir, d->top) == 0 || !path_is_within(dir, d->top))
			return err_set(err, ERR_PROTOCOL, "what was read of %s does not decode", d->git_dir);
		f.inner.dirs[f.inner.n++] = dir;
	}
	*out = f;
	return 0;
}

int reader_take_repo(struct peer *p, const struct discovered *d, struct arena *mem, struct repo_facts *out, struct err *err)
{
	auto_buf struct buf answer = BUF_MAX(ANSWER_MAX);

	TRY(hear(p, &answer, err));
	return reader_unpack_repo(buf_str(&answer), d, mem, out, err);
}

int reader_start_denial(const struct denial_jail *jail, const struct job_result *job, struct peer *out, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16), text = BUF_MAX(JAIL_MAX);
	autoclose int fd = -1;

	pack_u8(&text, (uint8_t)job->why);
	pack_u32(&text, (uint32_t)job->code);
	pack_str(&text, job->note);
	pack_str(&text, job->errs);
	pack_str(&text, job->out);
	pack_u8(&text, jail->online);
	pack_u8(&text, jail->git_open);
	pack_u8(&text, jail->no_namespaces);
	pack_u8(&text, jail->memory_each);
	pack_u8(&text, jail->looks);
	pack_str(&text, jail->commands);
	pack_str(&text, jail->cwd);
	pack_strs(&text, jail->hide_paths.p, jail->hide_paths.n);
	pack_u32(&text, (uint32_t)jail->nroots);
	for (size_t i = 0; i < jail->nroots; i++) {
		pack_u8(&text, jail->roots[i].writable);
		pack_str(&text, jail->roots[i].path);
	}
	TRY(pack_ok(&text, err));
	TRY(memfd_seal("agent6-denial", buf_str(&text), &fd, err));
	pack_u8(&body, ASK_DENIAL);
	return start_as(true, &body, &fd, 1, out, err);
}

static bool can_be_shown(struct str path)
{
	return path.n <= DENIAL_PATH_MAX && is_line(path) && utf8_valid(path);
}

/* A rule there is, and a path that can be shown where it is about one; a link, and what would have to be granted, where it has a path
 * of which that is a beginning. */
int reader_unpack_denial(struct str bytes, struct arena *mem, struct denial *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	uint8_t rule = unpack_u8(&u), cut = unpack_u8(&u);
	struct str path = unpack_str(&u), link = unpack_str(&u);
	uint32_t grant = unpack_u32(&u);
	bool shape = unpack_done(&u) && rule < DENIAL_RULES && cut <= 1 && can_be_shown(path) && can_be_shown(link);

	if (!shape || (link.n > 0 && (!str_starts(link, STR("/")) || path.n == 0 || cut == 1)) ||
		(grant > 0 && (link.n == 0 || grant > path.n || (grant < path.n && path.p[grant] != '/'))) || (denial_has_path((enum denial_rule)rule) ? !str_starts(path, STR("/")) : path.n > 0 || cut > 0))
		return err_set(err, ERR_PROTOCOL, "what was read of a command's end does not decode");
	*out = (struct denial){ .rule = (enum denial_rule)rule, .path = str_dup(mem, path), .cut = cut == 1, .link = str_dup(mem, link),
		.grant = grant };
	denial_say(out, mem);
	return 0;
}

int reader_take_denial(struct peer *p, struct arena *mem, struct denial *out, struct err *err)
{
	auto_buf struct buf answer = BUF_MAX(ANSWER_MAX);

	TRY(hear(p, &answer, err));
	return reader_unpack_denial(buf_str(&answer), mem, out, err);
}
