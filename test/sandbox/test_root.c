/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a cell shows, and what it protects and hides of that. */
#include "sandbox/namespace.h"
#include "sandbox/side.h"
#include "test/sandbox/jailed.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(cell_refuses_what_it_cannot_keep)
{
	static const struct {
		const char *why, *list, *path, *says;
	} cases[] = {
		{ "the cell has its own", "rw", "/proc/self", "a cell has its own /proc" },
		{ "devices", "ro", "/dev/null", "a cell has its own /dev" },
		{ "system", "rw", "/etc", "nothing in /etc may be writable" },
		{ "system, deeper", "rw", "/usr/local/lib", "nothing in /usr may be writable" },
		{ "a link", "rw", "link", "symbolic link" },
		{ "through a link", "ro", "link/file", "symbolic link" },
		{ "a fifo", "ro", "fifo", "neither a directory nor a regular file" },
		{ "hiding a link hides nothing", "hide", "link", "symbolic link" },
		{ "a grant inside what is hidden", "hide", "granted", "inside it is granted" },
		{ "a write grant inside what is protected", "protect", "granted", "inside it is granted" },
	};
	auto_dir struct test_dir ws = test_dir_new();

	test_write(&ws, "granted/sub/file", STR("x"));
	test_write(&ws, "real/file", STR("x"));
	CHECK(symlinkat("real", ws.fd, "link") == 0 && mkfifoat(ws.fd, "fifo", 0666) == 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_root struct root *root = NULL;
		struct root_spec spec = jailed_cell(&ws).root;
		struct err err = { 0 };
		char path[256];
		struct policy_list *list = cases[i].list[0] == 'h' ? &spec.hide_paths
			: cases[i].list[0] == 'p'		   ? &spec.protect_paths
			: strcmp(cases[i].list, "rw") == 0	   ? &spec.rw_paths
								   : &spec.ro_paths;

		snprintf(path, sizeof(path), "%s%s%s", cases[i].path[0] == '/' ? "" : ws.path,
			cases[i].path[0] == '/' ? "" : "/", cases[i].path);
		policy_list_add(list, mem, path);
		if (strcmp(cases[i].path, "granted") == 0) {
			snprintf(path, sizeof(path), "%s/granted/sub", ws.path);
			policy_list_add(&spec.rw_paths, mem, path);
		}
		CHECK_INT(root_pin(&spec, mem, &root, &err), -ERR_INVALID);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
	}
}

/* In mounts of its own, where what is mounted is gone with it. */
static bool apart(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && ns_map_self(uid, gid, ERR_DISCARD) == 0;
}

static void exchange_workspace(const struct test_dir *ws)
{
	char other[300];

	snprintf(other, sizeof(other), "%s.other", ws->path);
	CHECK(rename(ws->path, other) == 0 && mkdir(ws->path, 0755) == 0);
}

static void exchange_protected(const struct test_dir *ws)
{
	CHECK(renameat(ws->fd, "keep", ws->fd, "old") == 0 && mkdirat(ws->fd, "keep", 0755) == 0);
}

/* It leads to the same directory: but whose link it is nobody knows. */
static void lead_through_link(const struct test_dir *ws)
{
	CHECK(renameat(ws->fd, "a", ws->fd, "b") == 0 && symlinkat("b", ws->fd, "a") == 0);
}

/* What the process beside a cell's first gives it, given by itself. */
static int build_alone(struct root *root, struct err *err)
{
	autoclose int sockets = -1;
	struct side side;

	TRY(root_find_sockets(root, &sockets, err));
	TRY(side_open(&side, err));
	TRY(side_give(&side, sockets, err));
	return root_build(root, &side, err);
}

/* What was looked at is what is used, whatever its names lead to by then. */
TEST(cell_is_built_of_what_was_looked_at)
{
	static const struct {
		void (*change)(const struct test_dir *ws);
		const char *says;
	} cases[] = {
		{ exchange_workspace, "it was exchanged for something else" },
		{ exchange_protected, "keep: it was exchanged for something else" },
		{ lead_through_link, "a/grant: Too many levels of symbolic links" },
	};

	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir parent = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct root_spec spec = { .uid = geteuid(), .gid = getegid() };
		struct test_dir ws = parent;

		test_write(&parent, "ws/keep/file", STR("x"));
		test_write(&parent, "ws/a/grant/file", STR("x"));
		snprintf(ws.path, sizeof(ws.path), "%.100s/ws", parent.path);
		ws.fd = open(ws.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		spec.workspace = ws.path;
		policy_list_add(&spec.protect_paths, mem, str_printf(mem, "%s/keep", ws.path).p);
		policy_list_add(&spec.ro_paths, mem, str_printf(mem, "%s/a/grant", ws.path).p);
		pid_t pid = fork();
		int st = 0;

		if (pid == 0) {
			struct root *root = NULL;
			struct err err = { 0 };

			if (root_pin(&spec, mem, &root, &err) < 0 || !apart())
				_exit(9);
			cases[i].change(&ws);
			_exit(build_alone(root, &err) == 0 ? 1 : strstr(err.msg, cases[i].says) ? 0 : 2);
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
		close(ws.fd);
	}
}

TEST(cell_shows_no_window_into_the_kernel_wherever_it_is_mounted)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct root_spec spec = jailed_cell(&ws).root;
	int st = 0;

	test_write(&ws, "window/file", STR("x"));
	policy_list_add(&spec.ro_paths, mem, str_printf(mem, "%s/window", ws.path).p);
	if (!jailed_possible())
		return;
	pid_t pid = fork();
	if (pid == 0) {
		struct root *root = NULL;
		struct err err = { 0 };

		if (root_pin(&spec, mem, &root, &err) < 0 || !apart() || mount("/proc", spec.ro_paths.p[0], NULL, MS_BIND | MS_REC, NULL) < 0)
			_exit(9);
		_exit(root_pin(&spec, mem, &root, &err) == 0 ? 1 : strstr(err.msg, "it is on a proc file system") ? 0 : 2);
	}
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
}

TEST(cell_protects_every_kind_of_git_entry)
{
	static const struct {
		const char *why, *make;
	} cases[] = {
		{ "a directory", "mkdir .git && echo x > .git/config" },
		{ "a file, as a linked worktree has", "echo 'gitdir: ../x' > .git" },
		{ "a link to a directory in the workspace", "mkdir real && echo x > real/config && ln -s real .git" },
		{ "a link that leads nowhere", "ln -s nowhere .git" },
	};
	static const char attack[] = "state() { ls -lid .git real; cat .git .git/config real/config; }\n"
				     "before=$(state 2>&1)\n"
				     "for c in 'rm -rf .git' 'mv .git x' 'echo x > .git' 'echo y > .git/config' "
				     "'ln -sf /tmp .git' 'rm -rf real' 'mv real y' 'echo y > real/config' "
				     "'mkdir -p .git/hooks'; do ( eval \"$c\" ) 2>/dev/null; done\n"
				     "test \"$before\" = \"$(state 2>&1)\" && echo same || echo changed";

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct cell_spec spec = jailed_cell(&ws);
		bool protect = i % 2 == 0; /* the other half shows that the attack works */
		char path[256];

		if (!jailed_possible())
			return;
		auto_jailed struct jailed before = jailed_sh(&spec, JOB_COMMAND, cases[i / 2].make);
		CHECK_INT(before.code, 0);
		snprintf(path, sizeof(path), "%s/.git", ws.path);
		if (protect)
			policy_list_add(&spec.root.protect_paths, mem, path);
		auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, attack);
		CHECK_STR(buf_str(&j.out), protect ? STR("same\n") : STR("changed\n"));
	}
}

TEST(cell_keeps_a_protected_path_when_its_parents_are_renamed)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	char path[256];

	test_write(&ws, "a/b/keep", STR("mine\n"));
	snprintf(path, sizeof(path), "%s/a/b/keep", ws.path);
	policy_list_add(&spec.root.protect_paths, mem, path);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"mv a c; mv a/b a/d; rm -rf a; mv a/b/keep x; echo x > a/b/keep; echo new > a/b/other; cat a/b/keep a/b/other");
	struct str out = buf_str(&j.out);
	CHECK(str_ends(out, STR("mine\nnew\n")));
	CHECK(file_is(ws.fd, "a/b/keep", STR("mine\n")));
}

TEST(cell_hides_on_the_object_and_not_by_name)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	char path[256];

	test_write(&ws, "a/secret/key", STR("hidden\n"));
	test_write(&ws, ".env", STR("hidden\n"));
	CHECK(symlinkat("a/secret", ws.fd, "alias") == 0);
	snprintf(path, sizeof(path), "%s/a/secret", ws.path);
	policy_list_add(&spec.root.hide_paths, mem, path);
	snprintf(path, sizeof(path), "%s/.env", ws.path);
	policy_list_add(&spec.root.hide_paths, mem, path);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"{ cat a/secret/key alias/key; mv a b; cat b/secret/key; rm -rf a; mkdir -p a/secret; touch a/secret/new a/new; cat .env; ln .env x; cat x; echo x > .env; } 2>/dev/null; echo end");
	CHECK_STR(buf_str(&j.out), STR("end\n"));
	/* Nor is it carried to where the next cell does not hide it, or another one put in its place. */
	CHECK(file_is(ws.fd, "a/secret/key", STR("hidden\n")));
	CHECK(faccessat(ws.fd, "b", F_OK, 0) < 0 && faccessat(ws.fd, "a/secret/new", F_OK, 0) < 0);
	CHECK(faccessat(ws.fd, "a/new", F_OK, 0) == 0);
}

/* In a mount namespace of its own, in a child: the machine's is nobody's to change. */
static bool apart_with(const char *from, const char *to)
{
	bool own = geteuid() == 0 ? unshare(CLONE_NEWNS) == 0 : apart();

	return own && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount(from, to, NULL, MS_BIND, NULL) == 0;
}

TEST(cell_hides_and_protects_by_every_name_that_mounts_give)
{
	static const struct {
		const char *why, *from, *to, *hide, *protect, *script;
	} cases[] = {
		{ "the directory itself", "a/secret", "b", "a/secret", ".git", "cat a/secret/key b/key" },
		{ "what it lies in", "a", "b", "a/secret", ".git", "cat a/secret/key b/secret/key; mv b/secret c; mv b c; cat c/key c/secret/key" },
		{ "what lies in it", "a/secret/sub", "b", "a/secret", ".git", "cat a/secret/sub/key b/key; mv b c; cat c/key" },
		{ "the mount was written", "a/secret", "b", "b", ".git", "cat a/secret/key b/key; mv a c; cat c/secret/key" },
		{ "a protected directory", ".git", "b", "a/secret", ".git", "echo x > .git/config; echo x > b/config; rm -f b/config" },
		{ "a part of a protected directory", ".git/hooks", "b", "a/secret", ".git", "echo x > b/hook; echo x > .git/hooks/hook" },
	};

	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct cell_spec spec = jailed_cell(&ws);
		int st = 0;

		test_write(&ws, "a/secret/key", STR("hidden\n"));
		test_write(&ws, "a/secret/sub/key", STR("hidden\n"));
		test_write(&ws, ".git/config", STR("kept\n"));
		test_write(&ws, ".git/hooks/hook", STR("kept\n"));
		CHECK(mkdirat(ws.fd, "b", 0755) == 0);
		policy_list_add(&spec.root.hide_paths, mem, str_printf(mem, "%s/%s", ws.path, cases[i].hide).p);
		policy_list_add(&spec.root.protect_paths, mem, str_printf(mem, "%s/%s", ws.path, cases[i].protect).p);
		pid_t pid = fork();
		if (pid == 0) {
			if (!apart_with(str_printf(mem, "%s/%s", ws.path, cases[i].from).p, str_printf(mem, "%s/%s", ws.path, cases[i].to).p))
				_exit(9);
			auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, str_printf(mem, "{ %s; } 2>/dev/null; echo end", cases[i].script).p);
			_exit(j.code == -1 ? 8 : str_eqz(buf_str(&j.out), "end\n") ? 0 : 1);
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		if (st != 0)
			print_error("%s: %d\n", cases[i].why, WEXITSTATUS(st));
		CHECK_INT(st, 0);
		CHECK(file_is(ws.fd, ".git/config", STR("kept\n")) && file_is(ws.fd, ".git/hooks/hook", STR("kept\n")));
		CHECK(file_is(ws.fd, "a/secret/key", STR("hidden\n")));
	}
}
