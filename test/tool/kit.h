/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* kit: a scratch workspace, a host that answers from the test, and calls as the model makes them. */
#ifndef TEST_TOOL_KIT_H
#define TEST_TOOL_KIT_H

#include "test/lib/test.h"

#include "tool/tool.h"

struct kit {
	struct test_dir dir; /* its ws/ is the workspace, everything else is outside */
	int ws;
	struct arena *mem;
	struct tool_root roots[2];
	struct tool_host host;
	struct str_list hide;
	struct tool_ctx ctx;
	struct tool_outcome oc;
	struct buf out;
	/* what the host answers, and what it was asked */
	struct job_result job;
	int job_fails; /* the error it returns instead */
	struct job_request asked;
	struct str_list answers;
	struct background_report report;
	bool nobody;
};

void kit_init(struct kit *k);
void kit_fini(struct kit *k);
#define auto_kit CLEANUP(kit_fini)

/* The result of a call, checked to be JSON, UTF-8 and within bounds. '`' in args stands for '"'. */
struct str kit_call(struct kit *k, const char *name, const char *args);
bool kit_holds(struct kit *k, const char *text); /* the last result holds it */
void kit_put(struct kit *k, const char *name, const char *text);
bool kit_is(struct kit *k, const char *name, const char *text);
bool kit_exists(struct kit *k, const char *name);
size_t kit_count(struct kit *k); /* entries of the workspace, temporary ones included */

#define CHECK_HOLDS(k, text) kit_check_holds((k), (text), true, __FILE__, __LINE__)
#define CHECK_LACKS(k, text) kit_check_holds((k), (text), false, __FILE__, __LINE__)
void kit_check_holds(struct kit *k, const char *text, bool want, const char *file, int line);

#endif
