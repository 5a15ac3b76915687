/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The table of what servers do, docs/servers.md: each row says where it comes from and which test shows it. */
#include "base/arena.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static bool is_file(const char *dir, struct str name, const char *end)
{
	auto_buf struct buf path = BUF_MAX(4096);

	CHECK(buf_addf(&path, ERR_DISCARD, "%s/" STR_FMT "%s", dir, STR_ARG(name), end) == 0);
	return access(path.p, R_OK) == 0;
}

static bool is_defined(const char *source, struct str name)
{
	static const char *const files[] = { "test_providers.py", "test_scenarios.py", "test_mcp.py", "test_failures.py" };
	auto_buf struct buf want = BUF_MAX(300);

	CHECK(buf_addf(&want, ERR_DISCARD, "\ndef " STR_FMT "(", STR_ARG(name)) == 0);
	for (size_t i = 0; i < COUNT(files); i++) {
		auto_buf struct buf text = BUF_MAX(1 << 20);
		char path[1024];

		snprintf(path, sizeof(path), "%s/test/e2e/%s", source, files[i]);
		CHECK(file_read(AT_FDCWD, path, &text, ERR_DISCARD) == 0);
		if (str_find(buf_str(&text), buf_str(&want)) < text.n)
			return true;
	}
	return false;
}

/* A test of any kind has this name. Recorded answers are looked for where they are. */
static bool is_test(const char *source, const char *fixtures, struct str name)
{
	char stories[1024];

	snprintf(stories, sizeof(stories), "%s/test/e2e/stories", source);
	if (str_ends(name, STR(".story")))
		return is_file(stories, name, "");
	if (name.n > 4 && name.p[3] == '-' && name.p[1] >= '0' && name.p[1] <= '9')
		return access(fixtures, R_OK) != 0 || is_file(fixtures, name, ".expect.json");
	return str_starts(name, STR("test_")) ? is_defined(source, name) : test_exists(name);
}

TEST(servers_table_names_a_test_for_each_row)
{
	const char *source = getenv("AGENT6_SOURCE") ? getenv("AGENT6_SOURCE") : ".", *shared = getenv("AGENT6_SHARED");
	auto_buf struct buf text = BUF_MAX(1 << 20);
	char path[1024], fixtures[1024];
	size_t rows = 0;

	snprintf(path, sizeof(path), "%s/docs/servers.md", source);
	snprintf(fixtures, sizeof(fixtures), "%s%s/protocols/fixtures", shared ? "" : source, shared ? shared : "/../shared");
	if (file_read(AT_FDCWD, path, &text, ERR_DISCARD) < 0)
		TEST_SKIP("the source tree (AGENT6_SOURCE) is not here");
	for (struct str rest = buf_str(&text); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest)), cell[6];
		size_t named = 0;

		if (!str_starts(line, STR("| ")) || str_starts(line, STR("| who ")))
			continue;
		line = str_skip(line, 1);
		for (size_t i = 0; i < 5; i++)
			cell[i] = str_trim(str_cut(&line, '|'));
		for (size_t i = 0; i < 5; i++)
			CHECK(cell[i].n > 0);
		for (struct str tests = cell[3]; tests.n > 0; named++) {
			struct str name = str_trim(str_cut(&tests, ','));

			CHECK(name.n > 2 && name.p[0] == '`' && name.p[name.n - 1] == '`');
			name = str_head(str_skip(name, 1), name.n - 2);
			if (!is_test(source, fixtures, name))
				print_error("no test is called " STR_FMT "\n", STR_ARG(name));
			CHECK(is_test(source, fixtures, name));
		}
		CHECK(named > 0);
		rows++;
	}
	CHECK(rows >= 40);
}
