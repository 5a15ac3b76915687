/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The zygote where no namespace is: what a cell's process 1 does for nothing, guardians do here. */
#include "fmt/pack.h"
#include "sandbox/zygote.h"
#include "sys/file.h"
#include "test/sandbox/zygote_lib.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static size_t count_dir(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static size_t children_of(pid_t pid, pid_t *out, size_t room)
{
	char path[128], text[4096] = "", *at = text;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	for (long p; n < room && (p = strtol(at, &at, 10)) > 0;)
		out[n++] = (pid_t)p;
	return n;
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 'X';
	return strrchr(text, ')')[2];
}

/* The process that will be the guardian's next command, once it is at its post: all it holds is its null streams and the
 * way its order comes, and the guardian watches. */
static pid_t waiting(pid_t guardian)
{
	pid_t next;
	char path[64];

	for (;; sched_yield()) {
		if (children_of(guardian, &next, 1) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd", (int)next);
		DIR *d = opendir(path);
		size_t n = 0;

		while (d && readdir(d))
			n++;
		if (d)
			closedir(d);
		if (n == 4 + 2 && state_of(guardian) == 'S') /* it was woken before the others were closed */
			return next;
	}
}

static pid_t only_guardian(const struct zy *z)
{
	pid_t inner[2], guardian[2];

	CHECK_INT(children_of(z->proc.pid, inner, COUNT(inner)), 1);
	CHECK_INT(children_of(inner[0], guardian, COUNT(guardian)), 1);
	return guardian[0];
}

struct census {
	size_t guardians, files;
};

static struct census count(const struct zy *z)
{
	pid_t inner[4], guardians[64];
	char path[64];
	struct census c;

	CHECK_INT(children_of(z->proc.pid, inner, COUNT(inner)), 1);
	c.guardians = children_of(inner[0], guardians, COUNT(guardians));
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)inner[0]);
	c.files = count_dir(path);
	for (size_t i = 0; i < c.guardians; i++) {
		waiting(guardians[i]);
		snprintf(path, sizeof(path), "/proc/%d/fd", (int)guardians[i]);
		c.files += count_dir(path);
	}
	return c;
}

static const char *private_dir(struct zy *z)
{
	CHECK_INT(zy_run(z, JOB_COMMAND, "echo $TMPDIR"), 0);
	return str_dupz(z->mem, zy_out(z));
}

static void leaks_nothing(struct zy *z)
{
	struct stat st;

	if (geteuid() != 0)
		return; /* not dumpable: only root may look into them, and the tests run as root too */
	zy_start(z);
	const char *tmp = private_dir(z);
	for (int i = 0; i < 3; i++)
		CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	struct census before = count(z);

	for (int i = 0; i < 1000; i++) {
		/* Some fail, some read their input, some make their guardian the last time by a chmod, some leave a daemon. */
		static const char *const lines[] = { "exec /bin/true", "exec no-such-program", "cat >/dev/null", "chmod 600 file",
			"(setsid sleep 1000 &)" };
		const char *line = lines[i % 50 < 4 ? i % 50 + 1 : 0];
		const struct str argv[] = { STR("/bin/sh"), STR("-c"), str_from(line) };

		zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = argv, .nargs = i % 50 < 4 ? 3 : 1,
				.in = i % 10 == 3 ? STR("x") : STR("") });
		CHECK_INT(z->answer.why, JOB_EXITED);
	}
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	struct census after = count(z);

	CHECK_INT(after.guardians, before.guardians);
	CHECK_INT(after.files, before.files);
	zy_stop(z);
	CHECK_INT(lstat(tmp, &st), -1);
}

TEST(zygote_on_ground_leaks_nothing_in_1000_commands)
{
	on_ground(leaks_nothing);
}

static int lock_of(struct zy *z)
{
	int fd = openat(z->dir.fd, "ws/lock", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static void own_lock(struct zy *z)
{
	struct stat st;

	test_write(&z->dir, "ws/lock", STR(""));
	CHECK_INT(stat(z->ws, &st), 0);
	CHECK_INT(lchown(str_printf(z->mem, "%s/lock", z->ws).p, st.st_uid, st.st_gid), 0);
}

/* flock(2), whose header has the name of one of ours. */
static int lock_file(int fd, int how)
{
	return (int)syscall(SYS_flock, fd, how);
}

#define HOLD "setsid flock lock sh -c 'echo > locked; exec sleep 1000' & while ! [ -f locked ]; do :; done; "

static void ends(struct zy *z)
{
	const struct str stopped[] = { STR("/bin/sh"), STR("-c"), STR("rm locked; " HOLD "kill -STOP $$") };
	uint32_t first;
	int lock;

	own_lock(z);
	zy_start(z);
	lock = lock_of(z);
	/* A session of its own, holding a pipe and a lock, is gone when the call is, and when its time is up. */
	CHECK_INT(zy_run(z, JOB_COMMAND, HOLD "echo out; exit 3"), 3);
	CHECK_STR(zy_out(z), STR("out"));
	CHECK_INT(lock_file(lock, LOCK_EX | LOCK_NB), 0);
	CHECK_INT(lock_file(lock, LOCK_UN), 0);
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = stopped, .nargs = 3, .timeout_ms = 2000 }), 124);
	CHECK_INT(z->answer.why, JOB_TIMEOUT);
	CHECK_INT(lock_file(lock, LOCK_EX | LOCK_NB), 0);
	CHECK_INT(zy_run(z, JOB_COMMAND, "kill -SEGV $$"), 139);
	CHECK_INT(z->answer.why, JOB_SIGNALED);

	first = z->client.last_job + 1;
	for (uint32_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		zy_send_run(z, first + i, JOB_COMMAND, "sleep 1000");
	zy_send_run(z, first + ZYGOTE_JOBS_MAX, JOB_COMMAND, "true");
	CHECK_INT(zy_exit_of(z, first + ZYGOTE_JOBS_MAX).why, JOB_REFUSED);
	zy_order(z, WIRE_KILL, first);
	CHECK_INT(zy_exit_of(z, first).why, JOB_STOPPED);
	zy_order(z, WIRE_STOP_ALL, 0);
	for (uint32_t i = 1; i < ZYGOTE_JOBS_MAX; i++)
		CHECK_INT(zy_from_asker_side(z)->type, WIRE_EXIT);
	z->client.last_job = first + ZYGOTE_JOBS_MAX;
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	close(lock);
	zy_stop(z);
}

TEST(zygote_on_ground_ends_a_job_with_everything_it_started)
{
	on_ground(ends);
}

/* Whichever of its processes is killed while a command has left a daemon: both are gone, and so is their directory. */
static void dies(struct zy *z)
{
	enum { OUTER, INNER, GUARDIAN, VICTIMS };

	if (geteuid() != 0)
		return; /* as above */
	own_lock(z);
	for (int victim = 0; victim < VICTIMS; victim++) {
		pid_t inner[2], guardians[8];
		struct stat st;
		struct proc_status ps;
		struct err err = { 0 };

		unlinkat(z->dir.fd, "ws/locked", 0);
		z->client.last_job = 0;
		zy_start(z);
		const char *tmp = private_dir(z);
		int lock = lock_of(z);

		zy_send_run(z, z->client.last_job + 1, JOB_COMMAND, HOLD "sleep 1000");
		CHECK_INT(zy_from_asker_side(z)->type, WIRE_STARTED);
		while (faccessat(z->dir.fd, "ws/locked", F_OK, 0) < 0)
			sched_yield();
		CHECK_INT(children_of(z->proc.pid, inner, 2), 1);
		CHECK_INT(children_of(inner[0], guardians, 8), 1);
		CHECK(lock_file(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
		kill(victim == OUTER ? z->proc.pid : victim == INNER ? inner[0] : guardians[0], SIGKILL);
		CHECK_INT(lock_file(lock, LOCK_EX), 0); /* returns when the last holder is gone */
		close(lock);
		if (victim == GUARDIAN) {
			CHECK_INT(zy_exit_of(z, z->client.last_job + 1).why, JOB_SIGNALED);
			z->client.last_job++;
			CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
			zy_stop(z);
		} else {
			close(z->monitor);
			close(z->asker);
			z->monitor = z->asker = -1;
			CHECK_OK(proc_wait(&z->proc, &ps, &err));
			z->proc.pid = 0;
		}
		while (lstat(tmp, &st) == 0) /* by the other one */
			sched_yield();
		zygote_client_fini(&z->client);
	}
}

TEST(zygote_on_ground_survives_no_part_of_it_and_leaves_no_command)
{
	on_ground(dies);
}

/* The next message to the monitor names what changed. */
static void check_told(struct zy *z, const char *name)
{
	struct chan_msg *m = zy_from_monitor_side(z);
	struct unpack u = unpack_from(m->body);

	CHECK_INT(m->type, WIRE_GIT_CHANGED);
	CHECK_STR(str_trim(unpack_str(&u)), str_printf(z->mem, "%s/.git/%s", z->ws, name));
}

/* A change is told to the monitor before the command's end is told to who asked. */
static void tells_changes(struct zy *z)
{
	zy_start(z);
	zy_send_run(z, 1, JOB_COMMAND, "echo x >> .git/config; echo y > file");
	CHECK_STR(str_from(zy_exit_of(z, 1).note),
		STR("the configuration, the hooks or the refs of the repository were changed, which no command may"));
	check_told(z, "config");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	zy_send_run(z, 2, JOB_COMMAND, "echo x > .git/hooks/$(printf 'a\\tb\\033\\377')");
	CHECK_INT(zy_exit_of(z, 2).code, 0);
	check_told(z, "hooks/a?b??");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	/* What was there before a command is not that command's. */
	test_write(&z->dir, "ws/.git/hooks/x", STR("y\n"));
	zy_send_run(z, 3, JOB_COMMAND, "true");
	CHECK_STR(str_from(zy_exit_of(z, 3).note), STR(""));
	check_told(z, "hooks/x");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	z->client.last_job = 3;
	CHECK_INT(zy_run(z, JOB_COMMAND, "echo z > file"), 0);
	CHECK_STR(str_from(z->answer.note), STR(""));
	zy_stop(z);
}

TEST(zygote_on_ground_tells_what_changed_in_the_repository)
{
	on_ground(tells_changes);
}

/* A shell plays an agent that was taken over; nobody runs a command any more. */
static void tells_changes_of_the_agent(struct zy *z)
{
	const struct str argv[] = { STR("agent6"), STR("-c"), STR("echo x >> .git/config") };
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };
	int side[2];

	z->program = "/bin/dash";
	zy_start(z);
	CHECK_OK(chan_pair(side, &err));
	pack_strs(&b, argv, 3);
	const int fds[] = { side[1], side[1], side[1], side[1], side[1] };

	CHECK_OK(chan_send(z->monitor, WIRE_START_AGENT, buf_str(&b), fds, 5, &err));
	close(side[0]);
	close(side[1]);
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_AGENT_UP);
	check_told(z, "config");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_AGENT_EXIT);
	zy_stop(z);
}

TEST(zygote_on_ground_tells_what_the_agent_changed_before_it_tells_of_its_end)
{
	on_ground(tells_changes_of_the_agent);
}

static bool says(pid_t pid, const char *file, const char *want)
{
	char path[64];
	auto_buf struct buf text = BUF_MAX(64 * 1024);

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	CHECK(file_read(AT_FDCWD, path, &text, ERR_DISCARD) == 0);
	return str_find(buf_str(&text), str_from(want)) < text.n;
}

/* What was told to go on before it is dead would be a command that was killed. */
static void kill_now(pid_t victim, pid_t last)
{
	kill(victim, SIGKILL);
	while (!strchr("XZ", state_of(victim)) || !strchr("XZ", state_of(last)))
		sched_yield();
}

/* What will be the next command exists when all of the last one is gone, is confined before it knows what it becomes, and
 * is nobody's but that command's. */
static void waits(struct zy *z)
{
	pid_t child[4];

	if (geteuid() != 0)
		return; /* as above */
	own_lock(z);
	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	pid_t guardian = only_guardian(z), first = waiting(guardian);

	CHECK(says(first, "status", "NoNewPrivs:\t1\nSeccomp:\t2\n"));
	CHECK(says(first, "status", "CapBnd:\t0000000000000000\n") || says(first, "status", "CapPrm:\t0000000000000000\n"));
	CHECK_INT(getsid(first), first);
	zy_send_run(z, z->client.last_job + 1, JOB_COMMAND, HOLD "rm locked; : > on; while [ -f on ]; do :; done");
	CHECK_INT(zy_from_asker_side(z)->type, WIRE_STARTED);
	while (faccessat(z->dir.fd, "ws/on", F_OK, 0) < 0)
		sched_yield();
	CHECK(says(first, "cmdline", "rm locked")); /* it is the command now, and nobody waits beside it or what it left */
	size_t n = children_of(guardian, child, COUNT(child));
	for (size_t i = 0; i < n; i++)
		CHECK(!says(child[i], "cmdline", "agent6-jail"));
	CHECK_INT(unlinkat(z->dir.fd, "ws/on", 0), 0);
	CHECK_INT(zy_exit_of(z, ++z->client.last_job).code, 0);
	CHECK_INT(only_guardian(z), guardian);
	CHECK(waiting(guardian) != first && state_of(first) == 'X');

	/* Somebody ends it: the command is another one's. */
	first = waiting(guardian);
	kill_now(first, first);
	CHECK_INT(zy_run(z, JOB_COMMAND, "exit 5"), 5);
	CHECK(only_guardian(z) != guardian && state_of(guardian) == 'X');
	guardian = only_guardian(z);
	kill_now(guardian, waiting(guardian));
	CHECK_INT(zy_run(z, JOB_COMMAND, "exit 6"), 6);
	guardian = only_guardian(z);
	zy_send_run(z, ++z->client.last_job, JOB_VERIFY, "exit 7"); /* confined by the same: it is the same one's */
	while (zy_from_monitor_side(z)->type != WIRE_APPROVE)
		;
	zy_verdict(z, z->client.last_job, true, "");
	CHECK_INT(zy_exit_of(z, z->client.last_job).code, 7);
	CHECK_INT(only_guardian(z), guardian);
	zy_stop(z);
}

TEST(zygote_on_ground_has_the_next_process_wait_confined_when_all_of_the_last_is_gone)
{
	on_ground(waits);
}

/* A word to kill that is on its way when its command has ended hits nobody. */
static void kills_late(struct zy *z)
{
	pid_t inner[2], guardian, first;
	uint32_t job;

	if (geteuid() != 0)
		return; /* as above */
	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	CHECK_INT(children_of(z->proc.pid, inner, COUNT(inner)), 1);
	guardian = only_guardian(z);
	first = waiting(guardian);
	test_write(&z->dir, "ws/on", STR(""));
	job = ++z->client.last_job;
	zy_send_run(z, job, JOB_COMMAND, "while [ -f on ]; do :; done");
	CHECK_INT(zy_from_asker_side(z)->type, WIRE_STARTED);
	while (!says(first, "cmdline", "while"))
		sched_yield();
	kill(inner[0], SIGSTOP);
	while (state_of(inner[0]) != 'T')
		sched_yield();
	zy_order(z, WIRE_KILL, job); /* read before the command's end, which comes after it */
	CHECK_INT(unlinkat(z->dir.fd, "ws/on", 0), 0);
	while (waiting(guardian) == first)
		sched_yield();
	kill(inner[0], SIGCONT);
	CHECK_INT(zy_exit_of(z, job).code, 0);
	for (int i = 1; i < 20; i++)
		CHECK_INT(zy_run(z, JOB_COMMAND, "exit 9"), 9);
	CHECK_INT(only_guardian(z), guardian);
	zy_stop(z);
}

TEST(zygote_on_ground_kills_no_command_for_one_that_had_ended)
{
	on_ground(kills_late);
}

/* The guardian goes on to its next turn at once: what it and the process that failed share is that turn's then. */
static void tells_why(struct zy *z)
{
	static const struct str missing[] = { STR("no-such-program") }, given[] = { STR("/etc/passwd") };

	zy_start(z);
	for (int i = 0; i < 200; i++) {
		zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = i % 2 ? given : missing, .nargs = 1 });
		CHECK_INT(z->answer.why, JOB_UNRUNNABLE);
		CHECK(str_ends(str_from(z->answer.note), i % 2 ? STR("Permission denied") : STR("No such file or directory")));
	}
	zy_stop(z);
}

TEST(zygote_on_ground_tells_why_a_command_cannot_be_executed_every_time)
{
	on_ground(tells_why);
}
