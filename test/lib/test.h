/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* test: unit tests that register themselves.
 *
 * Shape    TEST(name_is_a_claim) { CHECK(...); CHECK_STR(got, want); }  One binary runs them all:
 *          unit [PATTERN] runs those whose name holds PATTERN. cmocka does the reporting.
 *          TEST_SKIP("why") says loudly why a test cannot run; AGENT6_TEST_STRICT=1 makes it fail.
 */
#ifndef TEST_LIB_TEST_H
#define TEST_LIB_TEST_H

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

struct test_entry {
	const char *name;
	void (*run)(void **state);
};

#define TEST(claim)                                                                                          \
	static void test_##claim(void **state);                                                              \
	__attribute__((used, section("agent6_tests"), aligned(8)))                                           \
	static const struct test_entry entry_##claim = { #claim, test_##claim };                             \
	static void test_##claim(__attribute__((unused)) void **state)

#define CHECK(cond) assert_true(cond)
#define CHECK_INT(got, want) test_check_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) test_check_str((got), (want), #got, __FILE__, __LINE__)
#define CHECK_OK(call)       test_check_ok((call), &err, #call, __FILE__, __LINE__) /* needs a `struct err err` */

void test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line);
void test_check_str(struct str got, struct str want, const char *what, const char *file, int line);
void test_check_ok(int r, const struct err *err, const char *what, const char *file, int line);
#define TEST_SKIP(why)                                                                                       \
	do {                                                                                                 \
		test_skip(why, __FILE__, __LINE__);                                                          \
		return;                                                                                      \
	} while (0)
void test_skip(const char *why, const char *file, int line);

bool test_exists(struct str name); /* a registered test of exactly this name */

/* A scratch directory, removed with everything in it; fd is open on it. */
struct test_dir {
	char path[128];
	int fd;
};
struct test_dir test_dir_new(void);
void test_dir_fini(struct test_dir *d);
#define auto_dir CLEANUP(test_dir_fini)
void test_write(const struct test_dir *d, const char *name, struct str bytes); /* makes parents */
bool file_is(int dirfd, const char *name, struct str want);                    /* whole content equals */

#endif
