/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* netprobe TARGETS: what a command can reach, one line for each way. */
#include "netprobe.h"

#include <stdio.h>

static void print(void *self, const char *line)
{
	(void)self;
	puts(line);
}

int main(int argc, char **argv)
{
	netprobe_run(argc > 1 ? argv[1] : "", print, NULL);
	return fflush(stdout) == 0 ? 0 : 1;
}
