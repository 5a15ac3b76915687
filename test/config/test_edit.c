/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/edit.h"
#include "sys/fault.h"
#include "test/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct home {
	struct test_dir dir;
	struct arena *mem;
	struct config_files files;
};

static void home_fini(struct home *h)
{
	arena_free(h->mem);
	test_dir_fini(&h->dir);
}
#define auto_home CLEANUP(home_fini)

static struct home home_new(const char *global)
{
	struct home h = { .dir = test_dir_new(), .mem = arena_new() };

	h.files.global = str_printf(h.mem, "%s/conf/config.toml", h.dir.path).p;
	h.files.repo = str_printf(h.mem, "%s/state/repo/config.toml", h.dir.path).p;
	h.files.home = "/home/me";
	if (global)
		test_write(&h.dir, "conf/config.toml", str_from(global));
	return h;
}

static int edit(struct home *h, enum config_op op, enum config_layer layer, const char *key, const char *value,
	struct config_edited *out, struct err *err)
{
	struct config_change ch = { op, layer, str_from(key), str_from(value) };

	return config_edit(&h->files, &ch, 1, h->mem, out, err);
}

static mode_t mode_of(const struct home *h, const char *name)
{
	struct stat st = { 0 };

	CHECK(fstatat(h->dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
	return st.st_mode;
}

#define PROVIDER "[providers.a]\napi_format = \"openai\"\n"

static const struct {
	const char *why;
	enum config_op op;
	const char *before, *key, *value;
	const char *after; /* NULL: nothing to do; "!..." refused */
} rows[] = {
	{ "bare text is a string", CONFIG_SET, "# mine\n", "git.commit.name", "A. Person", "# mine\n\n[git.commit]\nname = \"A. Person\"\n" },
	{ "text in quotes is the text", CONFIG_SET, "", "git.commit.name", "\"x\\ty\"", "[git.commit]\nname = \"x\\ty\"\n" },
	{ "a number for a string", CONFIG_SET, "", "git.commit.name", "12", "[git.commit]\nname = \"12\"\n" },
	{ "a choice", CONFIG_SET, "[sandbox]\nprofile = \"auto\" # why\n", "sandbox.profile", "strict",
		"[sandbox]\nprofile = \"strict\" # why\n" },
	{ "a whole number where a real is meant", CONFIG_SET, "", "budget.max_usd", "-1", "[budget]\nmax_usd = -1.0\n" },
	{ "a boolean", CONFIG_SET, "", "sandbox.protect_git", "false", "[sandbox]\nprotect_git = false\n" },
	{ "a list", CONFIG_SET, "", "workflow.verify_command", "[ 'make' , \"test\" ]",
		"[workflow]\nverify_command = [\"make\", \"test\"]\n" },
	{ "an object", CONFIG_SET, PROVIDER, "providers.a.extra_body", "{ top_k = 4 }",
		PROVIDER "extra_body = { top_k = 4 }\n" },
	{ "the home", CONFIG_ADD, "", "sandbox.extra_read_paths", "~/x", "[sandbox]\nextra_read_paths = [\"/home/me/x\"]\n" },
	{ "one more item", CONFIG_ADD, "[sandbox]\nallow_urls = [\n  \"a.example\", # a\n]\n", "sandbox.allow_urls", "b.example",
		"[sandbox]\nallow_urls = [\n  \"a.example\", # a\n  \"b.example\",\n]\n" },
	{ "an item that is there", CONFIG_ADD, "[sandbox]\nallow_urls = ['a.example']\n", "sandbox.allow_urls", "a.example", NULL },
	{ "an item less", CONFIG_REMOVE, "[sandbox]\nallow_urls = ['a.example', 'b.example']\n", "sandbox.allow_urls", "a.example",
		"[sandbox]\nallow_urls = ['b.example']\n" },
	{ "an item that is not there", CONFIG_REMOVE, "[sandbox]\nallow_urls = []\n", "sandbox.allow_urls", "a.example", NULL },
	{ "a key less", CONFIG_UNSET, "[budget]\nmax_usd = 1 # one\n# two\n", "budget.max_usd", "", "[budget]\n# two\n" },
	{ "the last key, and the header that says nothing then", CONFIG_UNSET, "[budget]\nmax_usd = 1 # one\n", "budget.max_usd", "", "" },
	{ "a key that is not set", CONFIG_UNSET, "[budget]\n", "budget.max_usd", "", NULL },
	{ "byte order mark and CRLF", CONFIG_SET, "\xEF\xBB\xBF[budget]\r\nmax_usd = 1\r\n", "budget.max_input_tokens", "5",
		"\xEF\xBB\xBF[budget]\r\nmax_usd = 1\r\nmax_input_tokens = 5\r\n" },

	{ "an unknown key", CONFIG_SET, "", "sandbox.profil", "x", "!sandbox.profil: unknown key; did you mean sandbox.profile?" },
	{ "no key at all", CONFIG_SET, "", "a b", "x", "!the key \"a b\": expected '.' or the end of the key" },
	{ "a wrong choice", CONFIG_SET, "", "sandbox.profile", "x",
		"!sandbox.profile: \"x\" is not one of auto, strict, hardened, none" },
	{ "a wrong number", CONFIG_SET, "", "workflow.max_iterations", "many",
		"!workflow.max_iterations: expected an integer, got \"many\"" },
	{ "a list that is text", CONFIG_SET, "", "workflow.verify_command", "make test",
		"!workflow.verify_command: expected a list of strings, got a string" },
	{ "half a list", CONFIG_SET, "", "workflow.verify_command", "['make'", "!the value: the list that starts here is not closed" },
	{ "an item of no list", CONFIG_ADD, "", "budget.max_usd", "1", "!budget.max_usd is a number, not a list; use \"agent6 config set\"" },
	{ "a relative path", CONFIG_ADD, "", "sandbox.hide_paths", "x",
		"!sandbox.hide_paths: \"x\" is not an absolute path without \"..\", \"//\" or an end in '/'" },
	{ "a table is not a key", CONFIG_UNSET, PROVIDER, "providers.a", "", "!providers.a: unknown key" },
	{ "what another key needs", CONFIG_UNSET, PROVIDER "http_timeout_s = 5\n", "providers.a.api_format", "",
		"!providers.a.api_format: required, one of anthropic, openai, responses" },
	{ "a model of nobody", CONFIG_SET, "", "models.worker.provider", "x", "!models.worker.provider: \"x\" is not a configured provider" },
	{ "a file that does not parse", CONFIG_SET, "[broken\n", "budget.max_usd", "1", "!expected ']' at the end of the table's name" },
};

TEST(config_edit_changes_one_key_or_nothing)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_home struct home h = home_new(rows[i].before);
		struct config_edited done = { 0 };
		struct err err = { 0 };
		int r = edit(&h, rows[i].op, CONFIG_GLOBAL, rows[i].key, rows[i].value, &done, &err);
		bool refused = rows[i].after && rows[i].after[0] == '!';
		const char *want = !rows[i].after || refused ? rows[i].before : rows[i].after;

		if (refused)
			CHECK_STR(str_from(err.msg), str_from(rows[i].after + 1));
		else
			CHECK_OK(r);
		CHECK_INT(r < 0, refused);
		CHECK_INT(done.changed, rows[i].after && !refused);
		CHECK(file_is(h.dir.fd, "conf/config.toml", str_from(want)));
	}
}

TEST(config_edit_makes_a_private_file_and_its_directories)
{
	auto_home struct home h = home_new(NULL);
	struct config_edited done = { 0 };
	struct err err = { 0 };

	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_REPO, "budget.max_usd", "2", &done, &err));
	CHECK(file_is(h.dir.fd, "state/repo/config.toml", STR("[budget]\nmax_usd = 2.0\n")));
	CHECK_INT(mode_of(&h, "state/repo/config.toml"), S_IFREG | 0600);
	CHECK_INT(mode_of(&h, "state/repo"), S_IFDIR | 0700);
	CHECK_STR(str_from(done.file), str_from(h.files.repo));
	CHECK_STR(done.value, STR("2.0"));
	CHECK_INT(edit(&h, CONFIG_UNSET, CONFIG_GLOBAL, "budget.max_usd", "", &done, &err), -ERR_NOENT);
}

TEST(config_edit_keeps_links_and_modes)
{
	auto_home struct home h = home_new(NULL);
	struct config_edited done = { 0 };
	struct err err = { 0 };

	test_write(&h.dir, "dot/real.toml", STR("[budget]\nmax_usd = 1\n"));
	CHECK(mkdirat(h.dir.fd, "conf", 0700) == 0);
	CHECK(fchmodat(h.dir.fd, "dot/real.toml", 0640, 0) == 0);
	CHECK(symlinkat("../dot/real.toml", h.dir.fd, "conf/config.toml") == 0);
	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "3", &done, &err));
	CHECK(S_ISLNK(mode_of(&h, "conf/config.toml")));
	CHECK_INT(mode_of(&h, "dot/real.toml"), S_IFREG | 0640);
	CHECK(file_is(h.dir.fd, "dot/real.toml", STR("[budget]\nmax_usd = 3.0\n")));

	CHECK(unlinkat(h.dir.fd, "dot/real.toml", 0) == 0);
	CHECK_INT(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "3", &done, &err), -ERR_NOENT);
	CHECK(strstr(err.msg, "is a link to nothing") != NULL);
	CHECK(unlinkat(h.dir.fd, "conf/config.toml", 0) == 0);
	CHECK(symlinkat("config.toml", h.dir.fd, "conf/config.toml") == 0);
	CHECK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "3", &done, &err) < 0);
	CHECK_INT(err.sys, ELOOP);
}

TEST(config_edit_of_a_list_starts_from_the_layers_below)
{
	auto_home struct home h = home_new("[sandbox]\nhide_paths = [\"/a\", \"/b\"]\n");
	struct config_edited done = { 0 };
	struct config c;
	struct err err = { 0 };

	CHECK_OK(edit(&h, CONFIG_ADD, CONFIG_REPO, "sandbox.hide_paths", "/c", &done, &err));
	CHECK_OK(edit(&h, CONFIG_REMOVE, CONFIG_REPO, "sandbox.hide_paths", "/a", &done, &err));
	CHECK_STR(done.value, STR("[\"/b\", \"/c\"]"));
	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK_INT(c.sandbox.hide_paths.n, 2);
	CHECK(file_is(h.dir.fd, "conf/config.toml", STR("[sandbox]\nhide_paths = [\"/a\", \"/b\"]\n")));
}

TEST(config_edit_keeps_its_change_when_something_else_was_wrong_before)
{
	auto_home struct home h = home_new("[sandbox]\nprofil = 1\n");
	struct config_edited done = { 0 };
	struct err err = { 0 };

	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_REPO, "budget.max_usd", "2", &done, &err));
	CHECK_INT(done.warning.code, ERR_INVALID);
	CHECK_STR(str_from(done.warning.msg), STR("sandbox.profil: unknown key; did you mean sandbox.profile?"));
	CHECK_STR(str_from(done.warning.at.file), str_from(h.files.global));
	CHECK_INT(done.warning.at.line, 2);
	/* A second fault is not hidden by the first. */
	CHECK_INT(edit(&h, CONFIG_SET, CONFIG_REPO, "models.worker.provider", "x", &done, &err), -ERR_INVALID);
}

TEST(config_edit_tells_when_it_loosens_and_when_a_named_file_wins)
{
	auto_home struct home h = home_new(NULL);
	struct config_edited done = { 0 };
	struct err err = { 0 };

	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "sandbox.run_commands", "yes", &done, &err));
	CHECK(done.loosens && !done.hidden_by_file);
	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "sandbox.run_commands", "ask", &done, &err));
	CHECK(!done.loosens);
	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "5", &done, &err));
	CHECK(!done.loosens);
	test_write(&h.dir, "file.toml", STR("[budget]\nmax_usd = 1\n"));
	h.files.file = str_printf(h.mem, "%s/file.toml", h.dir.path).p;
	CHECK_OK(edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "6", &done, &err));
	CHECK(done.hidden_by_file);
}

TEST(config_edit_of_several_keys_is_all_or_nothing)
{
	auto_home struct home h = home_new("# c\n");
	struct config_change good[] = {
		{ CONFIG_SET, CONFIG_GLOBAL, STR("providers.my.base_url"), STR("https://example.com/v1") },
		{ CONFIG_SET, CONFIG_GLOBAL, STR("providers.my.api_format"), STR("openai") },
	};
	struct config_change bad[] = {
		{ CONFIG_SET, CONFIG_GLOBAL, STR("providers.x.api_format"), STR("openai") },
		{ CONFIG_SET, CONFIG_GLOBAL, STR("providers.x.base_url"), STR("ftp://example.com") },
	};
	struct config_edited done[2];
	struct err err = { 0 };
	const char *want = "# c\n\n[providers.my]\nbase_url = \"https://example.com/v1\"\napi_format = \"openai\"\n";

	CHECK_OK(config_edit(&h.files, good, 2, h.mem, done, &err));
	CHECK(file_is(h.dir.fd, "conf/config.toml", str_from(want)));
	CHECK(config_edit(&h.files, bad, 2, h.mem, done, &err) < 0);
	CHECK(file_is(h.dir.fd, "conf/config.toml", str_from(want)));
}

static size_t entries(int dirfd)
{
	int fd = openat(dirfd, "conf", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	size_t n = 0;

	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST(config_edit_leaves_the_old_or_the_new_file_whatever_call_fails)
{
	int fired = 1;

	for (int nth = 1; fired; nth++) {
		auto_home struct home h = home_new("[budget]\nmax_usd = 1\n");
		struct config_edited done = { 0 };

		fault_arm(nth, EIO);
		int r = edit(&h, CONFIG_SET, CONFIG_GLOBAL, "budget.max_usd", "2", &done, ERR_DISCARD);
		fired = fault_disarm();
		CHECK(fired || r == 0);
		CHECK(file_is(h.dir.fd, "conf/config.toml", STR("[budget]\nmax_usd = 2.0\n")) ||
			(r < 0 && file_is(h.dir.fd, "conf/config.toml", STR("[budget]\nmax_usd = 1\n"))));
		CHECK_INT(entries(h.dir.fd), 3); /* ".", ".." and the file */
	}
}
