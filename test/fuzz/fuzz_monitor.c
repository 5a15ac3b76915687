/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The monitor as if it were a network server: any messages from any of its peers, in any order, between what the operator says,
 * signals and ends of file. It always ends, sends nobody what is not for them, records nothing that the recorder would refuse, and
 * allows no command that nobody allowed. */
#include "role/monitor_priv.h"
#include "session/answers.h"
#include "sys/file.h"

#include "test/fuzz/place.h"
#include "test/fuzz/steps.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define SERVERS 2
#define PEERS   (PEER_SERVER + SERVERS)
#define REMOTE  3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* ---- what would end the fuzzer, or leave its terminal ---- */

int dup2(int from, int to)
{
	(void)from;
	return to;
}

pid_t setsid(void)
{
	return 1;
}

/* ---- what would take most of the time ---- */

static int answers = -1, watch = -1;

/* The kernel takes milliseconds to end a watch: one for all runs. */
int inotify_init1(int flags)
{
	(void)flags;
	return fcntl(watch, F_DUPFD_CLOEXEC, 0);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
}

/* Nobody dies while it is waited for, and the fuzzer's terminal is not the run's. */
int poll(struct pollfd *fds, nfds_t n, int ms)
{
	(void)ms;
	return n == 1 && fds->fd == STDERR_FILENO ? 0 : (int)syscall(SYS_poll, fds, n, 0);
}

/* ---- processes of which there are only the ends ---- */

#define PID_BASE 0x40000000 /* above every process of a Linux */

static struct {
	int fd; /* in the place of a pidfd, readable when it is over; ours */
	int status;
} procs[PEERS];

pid_t waitpid(pid_t pid, int *status, int flags)
{
	if (pid < PID_BASE)
		return (pid_t)syscall(SYS_wait4, pid, status, flags, NULL);
	*status = procs[pid - PID_BASE].status;
	return pid;
}

static void proc_over(size_t who, int status)
{
	static const uint64_t one = 1;

	if (procs[who].fd < 0)
		return;
	procs[who].status = status;
	BUG_IF(write(procs[who].fd, &one, sizeof(one)) != sizeof(one));
	base_close_fd(&procs[who].fd);
}

/* ---- the peers ---- */

static const struct row rows[] = {
	{ PEER_ZYGOTE, WIRE_APPROVE, "41sS" },
	{ PEER_GIT, WIRE_APPROVE, "41sS" },
	{ PEER_ZYGOTE, WIRE_JOB_END, "4141" },
	{ PEER_GIT, WIRE_JOB_END, "4141" },
	{ PEER_ZYGOTE, WIRE_AGENT_EXIT, "44" },
	{ PEER_ZYGOTE, WIRE_AGENT_UP, "" },
	{ PEER_ZYGOTE, WIRE_GIT_FOUND, "ssss" },
	{ PEER_ZYGOTE, WIRE_GIT_CHANGED, "s" },
	{ PEER_ZYGOTE, WIRE_WORKED, "" },
	{ PEER_ZYGOTE, WIRE_CRASH, "48" },
	{ PEER_ZYGOTE, WIRE_APPROVE_CALL, "4ss" },
	{ PEER_GIT, WIRE_WORKED, "" },
	{ PEER_CLIENT, WIRE_APPROVE_POST, "41ss" },
	{ PEER_CLIENT, WIRE_POST_OVER, "4" },
	{ PEER_CLIENT, WIRE_WORKED, "" },
	{ PEER_CLIENT, WIRE_CRASH, "48" },
	{ PEER_BROKER, WIRE_BROKER_READY, "1ss" },
	{ PEER_BROKER, WIRE_CRASH, "48" },
	{ PEER_RESOLVER, WIRE_CRASH, "48" },
	{ PEER_RECORDER, WIRE_LOST_UP, "s" },
	{ PEER_RECORDER, WIRE_CRASH, "48" },
	{ PEER_SPAWNER, WIRE_SPAWNED, "121s" },
	{ PEER_VIEW, WIRE_CRASH, "48" },
	{ PEER_AGENT, WIRE_ASK, "44sSsS" },
	{ PEER_AGENT, WIRE_ASK, "44sS" },
	{ PEER_AGENT, WIRE_DONE, "11ss" },
	{ PEER_AGENT, WIRE_CRASH, "48" },
	{ PEER_AGENT, WIRE_WORKED, "" },
	{ PEER_SERVER, WIRE_APPROVE_CALL, "4ss" },
	{ PEER_SERVER, WIRE_JOB_END, "4141" },
	{ PEER_SERVER, WIRE_WORKED, "" },
	{ PEER_SERVER + 1, WIRE_APPROVE_CALL, "4ss" },
	{ PEER_SERVER + 1, WIRE_APPROVE, "41sS" },
};

static int ours[PEERS], leash, patience;
static bool allowed; /* the configuration or the operator may have allowed commands */
static struct chan_msg heard;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	watch = (int)syscall(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK);
	BUG_IF(watch < 0);
	answers = place_new();
	return 0;
}

static enum wire_link link_of(size_t who)
{
	static const enum wire_link links[] = { [PEER_ZYGOTE] = LINK_MONITOR_ZYGOTE, [PEER_GIT] = LINK_MONITOR_ZYGOTE,
		[PEER_CLIENT] = LINK_MONITOR_CLIENT, [PEER_BROKER] = LINK_MONITOR_BROKER, [PEER_RESOLVER] = LINK_MONITOR_RESOLVER,
		[PEER_RECORDER] = LINK_MONITOR_RECORDER, [PEER_SPAWNER] = LINK_MONITOR_SPAWNER, [PEER_VIEW] = LINK_MONITOR_VIEW,
		[PEER_AGENT] = LINK_MONITOR_AGENT };

	return who < COUNT(links) ? links[who] : LINK_MONITOR_ZYGOTE;
}

/* What the recorder refuses would end the run. */
static void check_note(struct str body)
{
	struct unpack u = unpack_from(body);
	auto_json json_t *fields = NULL;
	struct err err;

	BUG_IF(unpack_u8(&u) != RECORD_EVENT);
	unpack_u32(&u);
	const struct event_type *t = event_find(unpack_str(&u));
	struct str json = unpack_str(&u);

	BUG_IF(!unpack_done(&u) || !t || !(t->flags & EVENT_MONITOR));
	BUG_IF(json_decode(json, JSON_EXACT, &fields, &err) < 0 || event_check(t, fields, &err) < 0);
}

static void check_heard(size_t who)
{
	struct unpack u = unpack_from(heard.body);
	struct err err;

	BUG_IF(wire_check(link_of(who), WIRE_DOWN, heard.type, heard.body.n, heard.nfds, &err) < 0);
	if (heard.type == WIRE_NOTE && heard.nfds == 0)
		check_note(heard.body);
	if (heard.type == WIRE_VERDICT && (who == PEER_ZYGOTE || who == PEER_GIT)) {
		unpack_u32(&u);
		BUG_IF(unpack_u8(&u) != 0 && !allowed);
	}
}

static void hear(void)
{
	if (steps.late || (steps.over && steps.silent >= patience)) /* who was killed ends, sooner or later */
		for (size_t i = 0; i < PEERS; i++)
			proc_over(i, SIGKILL);
	for (size_t i = 0; i < PEERS; i++)
		while (ours[i] >= 0 && chan_recv(ours[i], &heard, ERR_DISCARD) == 0) {
			check_heard(i);
			chan_msg_fini(&heard);
		}
}

/* ---- steps ---- */

static void hang_up(size_t who)
{
	if (ours[who] >= 0)
		shutdown(ours[who], SHUT_WR);
}

static void say(struct in *in, size_t row)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);
	struct row r = row < COUNT(rows) ? rows[row] : (struct row){ in_u8(in) % PEERS, 0, "*" };

	if (row >= COUNT(rows)) {
		r.type = in_u8(in);
		r.type = r.type == 255 ? 65535 : r.type;
	}
	in_body(in, r.shape, &body);
	if (pack_ok(&body, ERR_DISCARD) == 0 && ours[r.who] >= 0)
		(void)!chan_send(ours[r.who], r.type, buf_str(&body), NULL, 0, ERR_DISCARD);
}

/* The operator, through a front-end. */
static void answer(struct in *in)
{
	static const char *const words[] = { "yes", "always", "no", "never", "now", "wait", "deny", "approve", "abort",
		ANSWER_SET_ASIDE };
	uint8_t what = in_u8(in), word = in_u8(in);
	struct str text = word < COUNT(words) ? str_from(words[word]) : in_str(in);
	struct err err;
	char id[ID_MAX];

	allowed = true;
	time_fake(1764460800000 + steps.played); /* so that what is said later has a later name */
	snprintf(id, sizeof(id), "%s-%d", what & 8 ? "question" : "approval", 1 + what % 8);
	if (what < 16)
		BUG_IF(answers_reply(answers, id, text, &err) < 0);
	else
		(void)!answers_tell(answers, what % ANSWER_COUNT, text, ERR_DISCARD);
	time_fake(0);
}

static bool step(struct in *in)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	uint8_t what = in_u8(in);

	if (steps.over) { /* everybody is gone, so every run ends */
		for (size_t i = 0; i < PEERS; i++)
			hang_up(i);
		return false;
	}
	if (what < 192)
		say(in, what % (COUNT(rows) + 2));
	else if (what < 224)
		answer(in);
	else if (what < 232)
		raise(signals[what % COUNT(signals)]);
	else if (what < 244)
		hang_up(what % PEERS);
	else if (what < 252)
		proc_over(in_u8(in) % PEERS, what < 248 ? (what & 3) << 8 : 1 + (what & 3) * 5); /* a status, or a signal */
	else if (leash >= 0)
		base_close_fd(&leash);
	return true;
}

/* ---- one run ---- */

static struct peer peer_of(const int theirs[PEERS], size_t who, uint8_t alive)
{
	static const struct {
		size_t who;
		uint8_t bit;
	} living[] = { { PEER_RECORDER, 8 }, { PEER_VIEW, 16 }, { PEER_ZYGOTE, 32 }, { PEER_GIT, 64 }, { PEER_CLIENT, 128 } };
	struct peer p = { .proc = { 0, -1 }, .chan = theirs[who] };

	for (size_t i = 0; i < COUNT(living); i++)
		if (living[i].who == who && alive & living[i].bit) {
			p.proc = (struct proc){ PID_BASE + (pid_t)who, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
			procs[who].fd = fcntl(p.proc.pidfd, F_DUPFD_CLOEXEC, 0);
		}
	return p;
}

static void connect_all(int theirs[PEERS], uint8_t absent)
{
	for (size_t i = 0; i < PEERS; i++) {
		int pair[2] = { -1, -1 };
		bool none = (i == PEER_GIT && absent & 1) || (i == PEER_RESOLVER && absent & 2) || (i == PEER_SPAWNER && absent & 4);

		BUG_IF(!none && (chan_pair(pair, ERR_DISCARD) < 0 || chan_nonblock(pair[0], ERR_DISCARD) < 0));
		ours[i] = pair[0];
		theirs[i] = pair[1];
		procs[i].fd = -1;
	}
}

static void clean_up(void)
{
	static const struct timespec none = { 0, 0 };
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *list;
	char changes[4096];
	sigset_t all;
	size_t n;

	hear();
	for (size_t i = 0; i < PEERS; i++) {
		base_close_fd(&ours[i]);
		base_close_fd(&procs[i].fd);
	}
	base_close_fd(&leash);
	sigemptyset(&all);
	sigaddset(&all, SIGINT);
	sigaddset(&all, SIGTERM);
	sigaddset(&all, SIGHUP);
	while (sigtimedwait(&all, NULL, &none) > 0)
		;
	BUG_IF(dir_list(answers, mem, 1024, &list, &n, ERR_DISCARD) < 0);
	for (size_t i = 0; i < n; i++)
		unlinkat(answers, str_dupz(mem, list[i].name), 0);
	while (read(watch, changes, sizeof(changes)) > 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct str verify[] = { { "make", 4 }, { "test", 4 } };
	int theirs[PEERS], pair[2] = { -1, -1 };
	struct monitor_end end;
	struct err err = { 0 };

	if (size < 3)
		return 0;
	steps_begin(data + 3, size - 3, step, hear);
	connect_all(theirs, data[2]);
	BUG_IF(data[1] & 1 && chan_streams(pair, &err) < 0);
	leash = pair[0];
	patience = data[1] & 4 ? 16 : 0;
	struct monitor_spec spec = { .zygote = peer_of(theirs, PEER_ZYGOTE, data[2]), .git = peer_of(theirs, PEER_GIT, data[2]),
		.client = peer_of(theirs, PEER_CLIENT, data[2]), .broker = peer_of(theirs, PEER_BROKER, data[2]), .resolver = peer_of(theirs, PEER_RESOLVER, data[2]),
		.recorder = peer_of(theirs, PEER_RECORDER, data[2]), .spawner = peer_of(theirs, PEER_SPAWNER, data[2]), .view = peer_of(theirs, PEER_VIEW, data[2]),
		.servers = { { peer_of(theirs, PEER_SERVER, data[2]), STR("notes") }, { peer_of(theirs, PEER_SERVER + 1, data[2]), STR("lsp") } },
		.nservers = SERVERS, .remotes = { { REMOTE, STR("web") } }, .nremotes = 1, .agent_chan = theirs[PEER_AGENT],
		.answers_fd = data[1] & 2 ? -1 : answers, .leash_fd = pair[1], .verify = { (struct str *)verify, COUNT(verify) },
		.commands = (enum approval_policy)(data[0] % 3), .attended = data[0] & 4, .hooks_wait = data[0] & 8, .hooks_end = data[0] & 16,
		.hook_ms = 1000, .looks = data[0] & 32, .menu = data[0] & 64, .go = STR("go"),
		.steer = data[0] & 128 ? STR("go on") : STR("") };

	allowed = spec.commands == APPROVE_YES;
	if (monitor_run(&spec, &end, &err) < 0)
		BUG_IF(err.msg[0] == '\0');
	clean_up();
	steps_end();
	return 0;
}
