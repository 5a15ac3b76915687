/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What an agent that may only look tries to change: the workspace, the repository, the notes of later runs. */
#include "evil.h"

#include "fmt/pack.h"
#include "git/gitop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void own_calls(const struct evil *e)
{
	static const char *const names[] = { "owned", "a.txt", ".git/owned", ".git/HEAD" };

	for (size_t i = 0; i < COUNT(names); i++) {
		int fd = openat(e->workspace, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		evil_say(e, "%s open %s", fd >= 0 ? "HOLE" : "denied", names[i]);
		if (fd >= 0)
			close(fd);
	}
	evil_say(e, "%s unlink", unlinkat(e->workspace, "a.txt", 0) == 0 ? "HOLE" : "denied");
	evil_say(e, "%s mkdir", mkdirat(e->workspace, "owned", 0755) == 0 ? "HOLE" : "denied");
	evil_say(e, "%s rename", renameat(e->workspace, "a.txt", e->workspace, "owned") == 0 ? "HOLE" : "denied");
}

static void commands(struct evil *e)
{
	static const uint8_t classes[] = { JOB_COMMAND, JOB_VERIFY, JOB_BACKGROUND };
	const struct str words[] = { STR("sh"), STR("-c"),
		STR("echo x >owned; echo x >>a.txt; mkdir -p .git/owned; rm -rf a.txt b.c; git update-ref refs/heads/owned HEAD; "
		    "mount -o remount,rw . ; touch owned2; exit 0") };

	for (size_t i = 0; i < COUNT(classes); i++) {
		auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

		pack_u32(&b, ++e->job);
		pack_u8(&b, classes[i]);
		pack_u32(&b, 20000);
		pack_str(&b, STR(""));
		pack_strs(&b, words, COUNT(words));
		pack_strs(&b, NULL, 0);
		if (evil_send(e, PEER_ZYGOTE, WIRE_RUN, buf_str(&b), NULL, 0))
			evil_wait(e, PEER_ZYGOTE, "run", classes[i] == JOB_BACKGROUND ? "background" : "command");
	}
}

static void git(struct evil *e)
{
	static const struct { uint8_t op; const char *name; const char *args[4]; const char *in; } asks[] = {
		{ GIT_RESOLVE, "control", { "HEAD" }, NULL },
		{ GIT_INDEX_RESET, "index", { "" }, NULL },
		{ GIT_INDEX_ADD, "add", { NULL }, "a.txt" },
		{ GIT_COMMIT, "commit", { "" }, "owned" },
		{ GIT_STEP_REF, "ref", { "owned", "", "0000000000000000000000000000000000000000" }, NULL },
		{ GIT_STEP_BRANCH, "branch", { "owned", "", "0000000000000000000000000000000000000000" }, NULL },
	};

	for (size_t i = 0; i < COUNT(asks); i++) {
		auto_buf struct buf b = BUF_MAX(4096);
		struct str args[4];
		size_t n = 0;
		int in = asks[i].in ? evil_memfd(str_of(asks[i].in, strlen(asks[i].in) + 1), true) : -1;

		while (n < 4 && asks[i].args[n]) { /* empty: the commit that the task names */
			args[n] = asks[i].args[n][0] ? str_from(asks[i].args[n]) : str_tail(e->params.task, 40);
			n++;
		}
		pack_u32(&b, ++e->job);
		pack_u8(&b, asks[i].op);
		pack_strs(&b, args, n);
		if (evil_send(e, PEER_GIT, WIRE_GIT, buf_str(&b), &in, in >= 0))
			evil_wait(e, PEER_GIT, "git", asks[i].name);
		if (in >= 0)
			close(in);
	}
}

void evil_look(struct evil *e)
{
	own_calls(e);
	commands(e);
	git(e);
	evil_report(e);
	evil_record(e, RECORD_NOTE, 0, "m-00000001", STR("{\"scope\":\"a\",\"text\":\"owned\"}"));
	evil_say(e, "%s note", evil_dropped(PEER_RECORDER, 5000) ? "denied" : "HOLE");
}
