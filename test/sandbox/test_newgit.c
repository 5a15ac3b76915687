/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "sandbox/newgit.h"
#include "sys/proc.h"
#include "test/lib/test.h"
#include "test/sandbox/zygote_lib.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void run_in(const struct test_dir *dir, const char *line)
{
	const char *const argv[] = { "sh", "-c", line, NULL }, *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = dir->path };
	auto_buf struct buf out = BUF_MAX(4096), errs = BUF_MAX(4096);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR(""), 10000, &out, &errs, &st, &err));
	CHECK_STR(buf_str(&errs), STR(""));
	CHECK_INT(st.code, 0);
}

static int keep(void *self, const char *dir, const char *name, const char *moved_to, const char *why, struct err *err)
{
	(void)dir;
	return buf_addf(self, err, "%s>%s;", name, moved_to ? moved_to : why);
}

static void look(const struct newgit *g, struct buf *said)
{
	struct err err = { 0 };

	buf_clear(said);
	CHECK_OK(newgit_look(g, keep, said, &err));
}

TEST(newgit_sets_aside_every_kind_of_repository_and_nothing_else)
{
	static const struct {
		const char *why, *before, *line, *says, *after;
	} cases[] = {
		{ "nothing", "true", "true", "", "true" },
		{ "its neighbours", "true", "mkdir git .gitx; touch .gitignore HEAD", "", "test -e HEAD -a -e .gitignore" },
		{ "a directory", "true", "mkdir .git; echo x > .git/HEAD", ".git>.git.quarantined-1;",
			"test ! -e .git -a ! -e .git.quarantined-1/HEAD -a -e .git.quarantined-1/HEAD.quarantined-1" },
		{ "a file that leads away", "true", "echo 'gitdir: /x' > .git", ".git>.git.quarantined-1;",
			"grep -q gitdir .git.quarantined-1" },
		{ "a link to nothing", "true", "ln -s /nowhere .git", ".git>.git.quarantined-1;", "test -L .git.quarantined-1" },
		{ "a link, and not what it leads to", "mkdir d; touch d/HEAD", "ln -s d .git", ".git>.git.quarantined-1;",
			"test -e d/HEAD" },
		{ "the next one", "mkdir .git.quarantined-1; ln -s x .git.quarantined-2", "mkdir .git", ".git>.git.quarantined-3;",
			"test -d .git.quarantined-3" },
		{ "in a directory made read-only", "true", "mkdir .git; chmod 555 .", ".git>.git.quarantined-1;", "test ! -e .git" },
		{ "the directory itself", "true", "mkdir objects refs; echo x > HEAD", "HEAD>HEAD.quarantined-1;", "test ! -e HEAD" },
		{ "with links", "mkdir d", "ln -s d objects; ln -s d refs; ln -s refs/heads/x HEAD", "HEAD>HEAD.quarantined-1;",
			"test ! -L HEAD" },
		{ "both", "true", "mkdir .git objects refs; echo x > HEAD", ".git>.git.quarantined-1;HEAD>HEAD.quarantined-1;",
			"test ! -e HEAD -a ! -e .git" },
		{ "whose objects and refs are programs", "true", "touch objects refs; chmod +x objects refs; echo x > HEAD",
			"HEAD>HEAD.quarantined-1;", "test ! -e HEAD" },
		{ "whose links lead where only a person goes", "true", "ln -s /nowhere objects; ln -s /nowhere refs; echo x > HEAD",
			"HEAD>HEAD.quarantined-1;", "test ! -e HEAD" },
		{ "that keeps the rest elsewhere", "true", "mkdir x x/objects x/refs; echo x > commondir; echo x > HEAD",
			"HEAD>HEAD.quarantined-1;", "test ! -e HEAD" },
		{ "a HEAD of the person's own", "touch HEAD", "mkdir objects", "", "test -e HEAD" },
		{ "a HEAD of the person's own that becomes one", "touch HEAD", "mkdir objects refs", "HEAD>HEAD.quarantined-1;",
			"test ! -e HEAD" },
		{ "what was there as a whole", "mkdir objects refs; touch HEAD", "echo x > HEAD", "", "test -e HEAD" },
		{ "beside a .git that is none", "mkdir .git", "mkdir objects refs; echo x > HEAD", "HEAD>HEAD.quarantined-1;",
			"test ! -e HEAD -a -d .git" },
		{ "a .git that was none", "mkdir .git; touch .git/HEAD", "touch .git/x", "", "test -d .git" },
		{ "a .git that was none and is one", "mkdir .git", "mkdir .git/objects .git/refs; echo x > .git/HEAD",
			".git>.git.quarantined-1;", "test ! -e .git" },
		{ "a .git that was none, exchanged", "mkdir .git", "mv .git g; echo gitdir: x > .git", ".git>.git.quarantined-1;",
			"test ! -e .git" },
		{ "a .git that leads to one now", "mkdir d; ln -s d .git", "mkdir d/objects d/refs; echo x > d/HEAD",
			".git>.git.quarantined-1;", "test ! -L .git" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf said = BUF_MAX(1024);
		struct policy_list dirs = { 0 };
		struct newgit g;
		struct err err = { 0 };

		run_in(&dir, cases[i].before);
		policy_list_add(&dirs, mem, dir.path);
		CHECK_OK(newgit_open(&dirs, &g, &err));
		run_in(&dir, cases[i].line);
		look(&g, &said);
		if (!str_eqz(buf_str(&said), cases[i].says))
			CHECK_STR(buf_str(&said), str_printf(mem, "%s: %s", cases[i].why, cases[i].says));
		run_in(&dir, cases[i].after);
		look(&g, &said);
		CHECK_STR(buf_str(&said), STR("")); /* once */
	}
}

TEST(newgit_says_when_it_cannot)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf said = BUF_MAX(1024);
	struct policy_list dirs = { 0 };
	struct newgit g;
	struct err err = { 0 };

	policy_list_add(&dirs, mem, dir.path);
	CHECK_OK(newgit_open(&dirs, &g, &err));
	run_in(&dir, "for i in $(seq 1000); do : > .git.quarantined-$i; done; mkdir .git");
	look(&g, &said);
	CHECK_STR(buf_str(&said), STR(".git>File exists;"));

	dirs = (struct policy_list){ 0 };
	policy_list_add(&dirs, mem, str_printf(mem, "%s/later", dir.path).p);
	CHECK_OK(newgit_open(&dirs, &g, &err)); /* not there, and made by somebody */
	run_in(&dir, "mkdir -p later/.git");
	look(&g, &said);
	CHECK_STR(buf_str(&said), STR(".git>.git.quarantined-1;"));
}

TEST(newgit_looks_where_the_name_leads_now)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf said = BUF_MAX(1024);
	struct policy_list dirs = { 0 };
	struct newgit g;
	struct err err = { 0 };

	run_in(&dir, "mkdir sub");
	policy_list_add(&dirs, mem, str_printf(mem, "%s/sub", dir.path).p);
	CHECK_OK(newgit_open(&dirs, &g, &err));
	run_in(&dir, "mv sub old; mkdir sub sub/.git");
	look(&g, &said);
	CHECK_STR(buf_str(&said), STR(".git>.git.quarantined-1;"));
	run_in(&dir, "rm -r sub; mkdir elsewhere elsewhere/.git; ln -s elsewhere sub"); /* git does not enter links */
	look(&g, &said);
	CHECK_STR(buf_str(&said), STR(""));
	run_in(&dir, "test -d elsewhere/.git");
}

/* Before the command's end is told to anybody: whoever hears of it may call git. */
static void sets_aside(struct zy *z)
{
	struct unpack u;

	CHECK(mkdirat(z->dir.fd, "ws/sub", 0755) == 0 && fchownat(z->dir.fd, "ws/sub", z->uid, z->uid, 0) == 0);
	const char *sub = str_printf(z->mem, "%s/sub", z->ws).p;
	policy_list_add(&z->spec.no_git, z->mem, sub);
	zy_start(z);
	zy_send_run(z, 1, JOB_COMMAND, "mkdir sub/.git");
	struct zygote_answer end = zy_exit_of(z, 1);
	CHECK(faccessat(z->dir.fd, "ws/sub/.git", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
	CHECK(faccessat(z->dir.fd, "ws/sub/.git.quarantined-1", F_OK, 0) == 0);
	CHECK_INT(end.code, 0);
	CHECK(str_find(str_from(end.note), STR("was renamed to .git.quarantined-1")) < strlen(end.note));
	struct chan_msg *m = zy_from_monitor_side(z);
	CHECK_INT(m->type, WIRE_GIT_FOUND);
	u = unpack_from(m->body);
	CHECK_STR(unpack_str(&u), str_from(sub));
	CHECK_STR(unpack_str(&u), STR(".git"));
	CHECK_STR(unpack_str(&u), STR(".git.quarantined-1"));
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	zy_stop(z);
}

TEST(zygote_sets_a_new_repository_aside_when_the_command_that_made_it_ends)
{
	as_each_user(sets_aside);
}
