/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent6-index: reads the files of the workspace for grep and for the symbol tools, in a jail of the run's cell. The
 * only program that links tree-sitter and its grammars. */
#include "index/ctags.h"
#include "index/tree.h"
#include "index/worker.h"

#include <stdio.h>
#include <string.h>

#ifdef AGENT6_SANITIZED
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		struct ctags *ctags = ctags_new();

		printf("agent6-index %s, tree-sitter: %s; ctags: %s\n", AGENT6_VERSION, tree_version(),
			ctags_there(ctags) ? "installed" : "not installed");
		ctags_free(ctags);
		return 0;
	}
	if (argc > 1) {
		fprintf(stderr, "agent6-index takes no words but --version: agent6 starts it\n");
		return 2;
	}
	return index_worker_main();
}
