/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/secrets.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct home {
	struct test_dir dir;
	char path[200];
};

static void home_fini(struct home *h)
{
	test_dir_fini(&h->dir);
}
#define auto_home CLEANUP(home_fini)

static struct home home_new(const char *text)
{
	struct home h = { .dir = test_dir_new() };

	snprintf(h.path, sizeof(h.path), "%s/c/secrets.toml", h.dir.path);
	if (text) {
		test_write(&h.dir, "c/secrets.toml", str_from(text));
		CHECK(chmod(h.path, 0600) == 0);
	}
	return h;
}

static int put(struct home *h, const char *provider, const char *key, struct err *err)
{
	auto_secret struct secret s = { 0 };

	secret_set(&s, str_from(key));
	return secrets_put(h->path, str_from(provider), &s, err);
}

TEST(secrets_are_stored_privately_and_read_back_through_a_descriptor)
{
	auto_home struct home h = home_new(NULL);
	auto_secret struct secret key = { 0 };
	autoclose int fd = -1;
	struct stat st;
	struct err err = { 0 };

	CHECK_INT(secrets_open(h.path, &fd, &err), -ERR_NOENT);
	CHECK_OK(put(&h, "a", "sk-1", &err));
	CHECK_OK(put(&h, "b-2", "k\"\\y", &err));
	CHECK(stat(h.path, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(file_is(h.dir.fd, "c/secrets.toml", STR("[providers.a]\napi_key = \"sk-1\"\n\n[providers.b-2]\napi_key = \"k\\\"\\\\y\"\n")));
	CHECK_OK(secrets_open(h.path, &fd, &err));
	for (int again = 0; again < 2; again++) { /* the offset does not matter */
		CHECK_OK(secrets_get(fd, STR("b-2"), &key, &err));
		CHECK_STR(secret_reveal(&key), STR("k\"\\y"));
	}
	CHECK_INT(secrets_has(fd, STR("a"), &err), 1);
	CHECK_INT(secrets_has(fd, STR("c"), &err), 0);
	CHECK_INT(secrets_get(fd, STR("c"), &key, &err), -ERR_NOENT);
}

TEST(secrets_keep_the_rest_of_the_file)
{
	auto_home struct home h = home_new("# mine\n[providers.a]\napi_key = 'old' # one\noauth = 'x'\n");
	struct err err = { 0 };

	CHECK_OK(put(&h, "a", "new", &err));
	CHECK(file_is(h.dir.fd, "c/secrets.toml", STR("# mine\n[providers.a]\napi_key = \"new\" # one\noauth = 'x'\n")));
	CHECK_INT(secrets_drop(h.path, STR("a"), &err), 1);
	CHECK(file_is(h.dir.fd, "c/secrets.toml", STR("# mine\n[providers.a]\noauth = 'x'\n")));
	CHECK_INT(secrets_drop(h.path, STR("a"), &err), 0);
}

TEST(secrets_that_others_can_read_are_refused_and_left_alone)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601 };
	static const char text[] = "[providers.a]\napi_key = 'k'\n";

	for (size_t i = 0; i < COUNT(modes); i++) {
		auto_home struct home h = home_new(text);
		autoclose int fd = -1;
		struct err err = { 0 };

		CHECK(chmod(h.path, modes[i]) == 0);
		CHECK_INT(secrets_open(h.path, &fd, &err), -ERR_DENIED);
		CHECK(strstr(err.hint, "chmod 600") != NULL);
		CHECK_INT(put(&h, "a", "new", &err), -ERR_DENIED);
		CHECK_INT(secrets_drop(h.path, STR("a"), &err), -ERR_DENIED);
		CHECK(file_is(h.dir.fd, "c/secrets.toml", str_from(text)));
	}
}

TEST(secrets_of_somebody_else_are_refused)
{
	auto_home struct home h = home_new("[providers.a]\napi_key = 'k'\n");
	autoclose int fd = -1;
	struct err err = { 0 };

	if (geteuid() != 0)
		return; /* only root can give a file away; the tests run as root too */
	CHECK(chown(h.path, 12345, 12345) == 0);
	CHECK_INT(secrets_open(h.path, &fd, &err), -ERR_DENIED);
	CHECK(strstr(err.hint, "start agent6 as that user") != NULL && strstr(err.hint, "sudo chown 0 ") != NULL);
	CHECK(chown(h.path, 0, 0) == 0);
	CHECK(symlinkat("secrets.toml", h.dir.fd, "c/link.toml") == 0);
	CHECK(fchownat(h.dir.fd, "c/link.toml", 12345, 12345, AT_SYMLINK_NOFOLLOW) == 0);
	snprintf(h.path, sizeof(h.path), "%s/c/link.toml", h.dir.path);
	CHECK_INT(secrets_open(h.path, &fd, &err), -ERR_DENIED);
	CHECK(strstr(err.msg, "is a link that somebody else made (user 12345)") != NULL);
	CHECK(strstr(err.hint, "remove it, and make it anew") != NULL);
}

TEST(secrets_behind_a_link_of_ours_stay_behind_it)
{
	auto_home struct home h = home_new(NULL);
	struct stat st;
	struct err err = { 0 };

	test_write(&h.dir, "dot/s.toml", STR(""));
	CHECK(fchmodat(h.dir.fd, "dot/s.toml", 0600, 0) == 0);
	CHECK(mkdirat(h.dir.fd, "c", 0700) == 0 && symlinkat("../dot/s.toml", h.dir.fd, "c/secrets.toml") == 0);
	CHECK_OK(put(&h, "a", "k", &err));
	CHECK(lstat(h.path, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(file_is(h.dir.fd, "dot/s.toml", STR("[providers.a]\napi_key = \"k\"\n")));
}

TEST(secrets_errors_never_repeat_what_the_file_holds)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{ "[providers.a]\napi_key = sk-hush-1234\n", -ERR_SYNTAX },
		{ "[providers.a]\napi_key = \"sk-hush-1234\\q\"\n", -ERR_SYNTAX },
		{ "sk-hush-1234\n", -ERR_SYNTAX },
		{ "[providers.a]\napi_key = \"sk-hush-1234 x\"\n", -ERR_INVALID },
		{ "[providers.a]\napi_key = [\"sk-hush-1234\"]\n", -ERR_INVALID },
		{ "[providers.a]\napi_key = \"\"\n", -ERR_INVALID },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_home struct home h = home_new(rows[i].text);
		auto_secret struct secret key = { 0 };
		autoclose int fd = -1;
		struct err err = { 0 };

		CHECK_OK(secrets_open(h.path, &fd, &err));
		CHECK_INT(secrets_get(fd, STR("a"), &key, &err), rows[i].want);
		CHECK(strstr(err.msg, "hush") == NULL && strstr(err.hint, "hush") == NULL);
		CHECK(err.at.line == 0); /* whoever reports a place shows the line */
		CHECK(secret_is_empty(&key));
	}
}

TEST(secrets_that_nobody_reads_are_told_by_their_line)
{
	static const struct {
		const char *text;
		int line;
	} rows[] = {
		{ "", 0 },
		{ "# mine\n[providers.b]\napi_key = \"k\"\noauth = \"x\"\n", 0 },
		{ "[providers.b]\napi_key = \"k\"\n\n[provider.a]\napi_key = \"hush\"\n", 4 },
		{ "\nhush = \"hush\"\n[providers.b]\napi_key = \"k\"\n", 2 },
		{ "[providers]\na = \"hush\"\n", 2 },
		{ "providers = \"hush\"\n", 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_home struct home h = home_new(rows[i].text);
		auto_secret struct secret key = { 0 };
		autoclose int fd = -1;
		struct err err = { 0 };

		CHECK_OK(secrets_open(h.path, &fd, &err));
		CHECK_INT(secrets_stray(fd, &err), rows[i].line);
		CHECK_INT(secrets_get(fd, STR("a"), &key, &err), -ERR_NOENT);
		CHECK((err.hint[0] != '\0') == (rows[i].line > 0));
		CHECK(strstr(err.msg, "hush") == NULL && strstr(err.hint, "hush") == NULL);
	}
}

TEST(secrets_put_refuses_what_is_no_key)
{
	static const char *const bad[] = { "", "two words", "line\nbreak", "caf\xc3\xa9", "tab\t" };
	auto_home struct home h = home_new(NULL);
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(bad); i++)
		CHECK_INT(put(&h, "a", bad[i], &err), -ERR_INVALID);
	CHECK(access(h.path, F_OK) != 0);
}
