/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The zygote while it serves: anything an asker says in any order, between the monitor's orders, ends of jobs and of channels. Nothing
 * is started that the monitor was not shown first and did not allow, where it is to be asked; a server is told nothing else than
 * that; everything that was started is reaped; nobody hears what is not for them. */
#include "fmt/json.h"
#include "git/gitop.h"
#include "sandbox/zygote_priv.h"

#include "test/fuzz/steps.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define WORKSPACE "/w/space"
#define WORKERS   24
#define SHOWN_MAX 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct row from_asker[] = {
	{ 0, WIRE_RUN, "414sSS" },
	{ 0, WIRE_GIT, "41S" },
	{ 0, WIRE_KILL, "4" },
	{ 0, WIRE_SERVE, "41" },
	{ 0, WIRE_SAY, "44118" "1s1" },
};
static const struct row from_monitor[] = {
	{ 1, WIRE_VERDICT, "41s" },
	{ 1, WIRE_KILL_JOB, "4" },
	{ 1, WIRE_STOP_ALL, "" },
	{ 1, WIRE_FINISH, "" },
	{ 1, WIRE_START_AGENT, "S" },
};

/* What the monitor was shown. */
struct shown {
	bool call; /* of a server's tool */
	uint32_t job;
	bool allowed, used;
	struct buf words; /* what follows the number, as it came */
};

/* A process of which there are only the ends. */
struct fake {
	bool up, killed;
	int fd;    /* in the place of a pidfd, readable when it is over; ours */
	int in;    /* what it reads, ours too; or -1 */
	int code;
	bool asks; /* a server whose calls are asked about */
	struct buf said;
};

static struct zygote_spec spec;
static int ends[2], keeper; /* ours: of the asker's channel, of the monitor's */
static struct fake fakes[WORKERS];
static struct shown shown[SHOWN_MAX];
static size_t nshown;
static struct chan_msg heard;
static uint8_t luck; /* how the next start goes */

/* ---- in the place of zygote_work.c ---- */

static void pack_work(const struct work *w, struct buf *b)
{
	struct str argv[64], cwd = str_from(w->cwd);
	size_t n = 0;

	for (; w->argv[n]; n++) {
		BUG_IF(n == COUNT(argv));
		argv[n] = str_from(w->argv[n]);
	}
	pack_u8(b, (uint8_t)w->class);
	pack_str(b, str_trim_prefix(str_trim_prefix(cwd, STR(WORKSPACE)), STR("/")));
	pack_strs(b, argv, n);
}

static struct shown *find_allowed(bool call, struct str words)
{
	for (size_t i = 0; i < nshown; i++)
		if (shown[i].call == call && shown[i].allowed && !shown[i].used && str_eq(buf_str(&shown[i].words), words))
			return &shown[i];
	return NULL;
}

static void check_work(const struct work *w)
{
	auto_buf struct buf words = BUF_MAX(2 * CHAN_BODY);
	const struct zygote_limit *l = zygote_limit_of(&spec, w->class);

	BUG_IF(strncmp(w->cwd, WORKSPACE, sizeof(WORKSPACE) - 1) != 0 && w->class != JOB_MCP);
	if (w->class == JOB_AGENT)
		return;
	BUG_IF(!l);
	if (!l->ask)
		return;
	pack_work(w, &words);
	struct shown *s = find_allowed(false, buf_str(&words));

	BUG_IF(!s || w->in_fd >= 0);
	s->used = true;
}

static void hear(void);

int worker_start(struct jails *jails, const struct work *w, struct worker *out, int *exec_errno, struct err *err)
{
	size_t i = 0;

	(void)jails;
	hear(); /* what was asked before it began */
	check_work(w);
	if (luck == 1)
		return err_set(err, ERR_SYS, "no jail today");
	*exec_errno = luck == 2 ? ENOENT : 0;
	if (luck == 2)
		return 1;
	while (i < WORKERS && fakes[i].up)
		i++;
	BUG_IF(i == WORKERS); /* more than it may start */
	fakes[i] = (struct fake){ .up = true, .fd = -1, .in = -1, .said = BUF_MAX(16 << 20) };
	*out = (struct worker){ .jail = { .pid = (pid_t)i + 1 }, .pidfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	fakes[i].fd = fcntl(out->pidfd, F_DUPFD_CLOEXEC, 0);
	BUG_IF(fakes[i].fd < 0);
	if (w->class == JOB_MCP)
		BUG_IF((fakes[i].in = fcntl(w->in_fd, F_DUPFD_CLOEXEC, 0)) < 0 || chan_nonblock(fakes[i].in, err) < 0);
	fakes[i].asks = w->class == JOB_MCP && spec.servers[0].ask;
	return 0;
}

static void fake_over(struct fake *f, int code)
{
	static const uint64_t one = 1;

	f->code = code;
	BUG_IF(write(f->fd, &one, sizeof(one)) != sizeof(one));
}

void worker_kill(const struct worker *w)
{
	struct fake *f = &fakes[w->jail.pid - 1];

	BUG_IF(!f->up);
	if (!f->killed)
		fake_over(f, 0);
	f->killed = true;
}

int worker_reap(struct worker *w, struct worker_end *out, struct err *err)
{
	struct fake *f = &fakes[w->jail.pid - 1];

	(void)err;
	BUG_IF(!f->up);
	*out = f->killed ? (struct worker_end){ 128 + SIGKILL, SIGKILL } : (struct worker_end){ f->code, 0 };
	base_close_fd(&w->pidfd);
	base_close_fd(&f->fd);
	base_close_fd(&f->in);
	buf_fini(&f->said);
	f->up = false;
	return 0;
}

/* ---- what is heard ---- */

static void take_shown(void)
{
	struct unpack u = unpack_from(heard.body);
	uint32_t job = unpack_u32(&u);
	struct err err;

	BUG_IF(wire_check(LINK_MONITOR_ZYGOTE, WIRE_UP, heard.type, heard.body.n, heard.nfds, &err) < 0);
	if ((heard.type != WIRE_APPROVE && heard.type != WIRE_APPROVE_CALL) || nshown == SHOWN_MAX)
		return;
	for (size_t i = 0; i < nshown; i++)
		BUG_IF(shown[i].job == job); /* a verdict must never meet another command */
	shown[nshown] = (struct shown){ .call = heard.type == WIRE_APPROVE_CALL, .job = job, .words = BUF_MAX(CHAN_BODY) };
	BUG_IF(buf_add(&shown[nshown++].words, u.rest, ERR_DISCARD) < 0);
}

static void take_line(struct str line, bool asks)
{
	auto_json json_t *msg = NULL;
	struct err err;
	const char *method;

	BUG_IF(json_decode(line, JSON_EXACT, &msg, &err) < 0 || !json_is_object(msg));
	method = json_string_value(json_object_get(msg, "method"));
	if (!asks || !method || strcmp(method, "tools/call") != 0)
		return;
	const json_t *params = json_object_get(msg, "params"), *tool = json_object_get(params, "name");

	BUG_IF(!json_is_string(tool));
	for (size_t i = 0; i < nshown; i++) {
		struct unpack u = unpack_from(buf_str(&shown[i].words));
		struct str name = unpack_str(&u), args = unpack_str(&u);

		if (!shown[i].call || !shown[i].allowed || shown[i].used || !str_eqz(name, json_string_value(tool)) ||
			(args.n > 0 && str_find(line, args) == line.n))
			continue;
		shown[i].used = true;
		return;
	}
	BUG_IF(true); /* a call that nobody allowed */
}

static void read_said(struct fake *f)
{
	char block[4096];
	ssize_t n;

	while (f->in >= 0 && (n = read(f->in, block, sizeof(block))) > 0)
		BUG_IF(buf_add(&f->said, str_of(block, (size_t)n), ERR_DISCARD) < 0);
	for (struct str rest = buf_str(&f->said); rest.n > 0 && str_find(rest, STR("\n")) < rest.n;) {
		struct str line = str_line(&rest);

		take_line(line, f->asks);
		BUG_IF(buf_splice(&f->said, 0, f->said.n - rest.n, STR(""), ERR_DISCARD) < 0);
		rest = buf_str(&f->said);
	}
}

static void hear(void)
{
	struct err err;

	while (ends[1] >= 0 && chan_recv(ends[1], &heard, ERR_DISCARD) == 0)
		take_shown();
	while (ends[0] >= 0 && chan_recv(ends[0], &heard, ERR_DISCARD) == 0) {
		BUG_IF(wire_check(LINK_ZYGOTE_AGENT, WIRE_DOWN, heard.type, heard.body.n, heard.nfds, &err) < 0);
		chan_msg_fini(&heard);
	}
}

/* ---- steps ---- */

static int some_fd(uint8_t kind)
{
	static const char object[] = "{\"a\": [1, \"\\u00e9\"]}";
	auto_buf struct buf large = BUF_MAX(MCP_ARGS_MAX + 64);
	struct err err;
	int fd = -1;

	switch (kind % 4) {
	case 0:
		BUG_IF(memfd_seal("in", str_from(object), &fd, &err) < 0);
		break;
	case 1: /* not sealed */
		fd = memfd_create("in", MFD_CLOEXEC);
		break;
	case 2: /* more than a pipe holds */
		BUG_IF(buf_addz(&large, "{\"a\":\"", &err) < 0);
		for (size_t i = 0; i < 3000; i++)
			BUG_IF(buf_addz(&large, "0123456789abcdef0123456789abcdef", &err) < 0);
		BUG_IF(buf_addz(&large, "\"}", &err) < 0 || memfd_seal("in", buf_str(&large), &fd, &err) < 0);
		break;
	default:
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	BUG_IF(fd < 0);
	return fd;
}

static void say(struct in *in, const struct row *r, size_t nfds)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);
	int fds[CHAN_FDS_MAX] = { 0 };
	uint16_t type = r->type;

	if (type == 0)
		type = in_u8(in);
	for (size_t i = 0; i < nfds; i++)
		fds[i] = some_fd(nfds == 1 ? in_u8(in) : 3);
	in_body(in, r->shape, &body);
	if (ends[r->who] >= 0 && pack_ok(&body, ERR_DISCARD) == 0 &&
		chan_send(ends[r->who], type, buf_str(&body), fds, nfds, ERR_DISCARD) == 0 && type == WIRE_VERDICT && r->who == 1) {
		struct unpack u = unpack_from(buf_str(&body));
		uint32_t job = unpack_u32(&u);
		bool yes = unpack_u8(&u) == 1;

		for (size_t i = 0; i < nshown; i++)
			shown[i].allowed = shown[i].allowed || (yes && shown[i].job == job);
	}
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
}

static void end_worker(struct in *in)
{
	struct fake *f = &fakes[in_u8(in) % WORKERS];

	if (f->up && !f->killed)
		fake_over(f, in_u8(in));
}

static bool step(struct in *in)
{
	static const struct row any_asker = { 0, 0, "*" };
	uint8_t what = in_u8(in);
	size_t row = what % 8;

	if (steps.over) {
		base_close_fd(&ends[1]);
		return false;
	}
	if (what < 128) {
		say(in, row < COUNT(from_asker) ? &from_asker[row] : row == 7 ? &any_asker : &from_asker[row - 5], what >= 112);
	} else if (what < 192) {
		row = row < COUNT(from_monitor) ? row : 0;
		say(in, &from_monitor[row], row == 4 ? 5 : 0);
	} else if (what < 224) {
		end_worker(in);
	} else if (what < 240) {
		struct fake *f = &fakes[what % 4];

		if (f->up && f->in >= 0)
			read_said(f);
	} else if (what < 252) {
		luck = what & 3;
	} else if (what < 254) {
		base_close_fd(&ends[0]);
	} else {
		base_close_fd(&keeper);
	}
	return true;
}

/* ---- one zygote ---- */

static void set_up(uint8_t kind, uint8_t flags)
{
	static const char *env[] = { "PATH=/usr/bin", "TERM=x", "HOME=/tmp/h", NULL };
	static const char *words[] = { "srv", NULL }, *server_env[] = { "A=b", NULL }, *tools[] = { "search", NULL };
	bool ask = flags & 1;

	spec = (struct zygote_spec){ .kind = (enum zygote_kind)(kind % 3), .policy = { .cwd = WORKSPACE, .env = { env, 3 } },
		.git_dir = WORKSPACE "/.git", .common_dir = WORKSPACE "/.git", .run_id = "calm-fox-1", .may_merge = flags & 2, .nlimits = 8,
		.limits = { { JOB_COMMAND, 5000, ask }, { JOB_VERIFY, 5000, ask }, { JOB_METRIC, 5000, false }, { JOB_INDEX, 5000, false },
			{ JOB_GIT, 5000, false }, { JOB_BACKGROUND, 0, ask }, { JOB_LANGUAGE, 0, false }, { JOB_MCP, 0, false } },
		.nservers = 1 };
	spec.servers[0] = (struct zygote_server){ .name = "s", .argv = { words, 1 }, .env = { server_env, 1 } };
	if (spec.kind != ZYGOTE_SERVER)
		return;
	spec.servers[0].composed = true;
	spec.servers[0].ask = flags & 4;
	spec.servers[0].tools = (struct policy_list){ tools, flags & 8 ? 1 : 0 };
}

static void check_over(void)
{
	for (size_t i = 0; i < WORKERS; i++)
		BUG_IF(fakes[i].up);
	for (size_t i = 0; i < nshown; i++)
		buf_fini(&shown[i].words);
	nshown = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zygote z;
	struct err err = { 0 };
	int asker[2], monitor[2], kept[2];

	if (size < 2)
		return 0;
	signal(SIGPIPE, SIG_IGN);
	steps_begin(data + 2, size - 2, step, hear);
	set_up(data[0], data[1]);
	luck = 0;
	BUG_IF(chan_pair(asker, &err) < 0 || chan_pair(monitor, &err) < 0 || chan_streams(kept, &err) < 0);
	ends[0] = asker[0];
	ends[1] = monitor[0];
	keeper = kept[0];
	BUG_IF(chan_nonblock(ends[0], &err) < 0 || chan_nonblock(ends[1], &err) < 0);
	z = (struct zygote){ .spec = spec, .git = { .words = gitop_words, .index = "/tmp/i" }, .monitor = monitor[1], .asker = asker[1],
		.exe = spec.kind == ZYGOTE_COMMAND ? STDIN_FILENO : -1, .index_exe = data[1] & 16 ? STDIN_FILENO : -1, .keeper = kept[1],
		.events = -1 };
	if (zygote_serve(&z, &err) < 0)
		BUG_IF(err.msg[0] == '\0');
	for (size_t i = 0; i < 2; i++)
		base_close_fd(&ends[i]);
	base_close_fd(&keeper);
	base_close_fd(&z.monitor);
	base_close_fd(&z.asker);
	base_close_fd(&z.keeper);
	check_over();
	steps_end();
	return 0;
}
