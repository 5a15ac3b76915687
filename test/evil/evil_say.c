/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "evil.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void evil_say(const struct evil *e, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
	line[n++] = '\n';
	BUG_IF(write(e->report, line, (size_t)n) != n);
}
