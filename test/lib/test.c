/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

extern const struct test_entry __start_agent6_tests[], __stop_agent6_tests[];

void test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	if (got == want)
		return;
	print_error("%s is %lld, not %lld\n", what, (long long)got, (long long)want);
	_fail(file, line);
}

void test_check_str(struct str got, struct str want, const char *what, const char *file, int line)
{
	if (str_eq(got, want))
		return;
	print_error("%s is\n  \"" STR_FMT "\"\nnot\n  \"" STR_FMT "\"\n", what, STR_ARG(got), STR_ARG(want));
	_fail(file, line);
}

void test_check_ok(int r, const struct err *err, const char *what, const char *file, int line)
{
	if (r >= 0)
		return;
	print_error("%s failed: %s\n", what, err->msg);
	_fail(file, line);
}

void test_skip(const char *why, const char *file, int line)
{
	const char *strict = getenv("AGENT6_TEST_STRICT");

	print_message("SKIPPED: %s (%s:%d)\n", why, file, line);
	if (strict && strcmp(strict, "1") == 0)
		_fail(file, line);
	skip();
}

struct test_dir test_dir_new(void)
{
	struct test_dir d;

	snprintf(d.path, sizeof(d.path), "/tmp/agent6-test-XXXXXX");
	BUG_IF(!mkdtemp(d.path));
	d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BUG_IF(d.fd < 0);
	return d;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void test_dir_fini(struct test_dir *d)
{
	close(d->fd);
	nftw(d->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void test_write(const struct test_dir *d, const char *name, struct str bytes)
{
	autofree char *path = mem_strdup(name);
	autoclose int fd = -1;

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdirat(d->fd, path, 0755);
		*slash = '/';
	}
	fd = openat(d->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	BUG_IF(fd < 0);
	BUG_IF(write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n);
}

bool file_is(int dirfd, const char *name, struct str want)
{
	autofree char *got = mem_alloc(want.n + 1);
	autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, got, want.n + 1);
	return n >= 0 && str_eq(str_of(got, (size_t)n), want);
}

bool test_exists(struct str name)
{
	for (const struct test_entry *e = __start_agent6_tests; e < __stop_agent6_tests; e++)
		if (str_eqz(name, e->name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	size_t all = (size_t)(__stop_agent6_tests - __start_agent6_tests), n = 0;
	struct CMUnitTest *tests = mem_alloc(all * sizeof(*tests));
	int r;

	for (size_t i = 0; i < all; i++) {
		const struct test_entry *e = &__start_agent6_tests[i];

		if (argc < 2 || strstr(e->name, argv[1]))
			tests[n++] = (struct CMUnitTest){ .name = e->name, .test_func = e->run };
	}
	if (n == 0) {
		print_error("no test has \"%s\" in its name\n", argc > 1 ? argv[1] : "");
		return 2;
	}
	r = _cmocka_run_group_tests("unit", tests, n, NULL, NULL);
	free(tests);
	return r == 0 ? 0 : 1;
}
