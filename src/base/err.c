/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(code, word) [code] = (word),
	ERR_CODES(X)
#undef X
};
_Static_assert(COUNT(names) == ERR_COUNT, "every error code has a name");

static const struct {
	int sys;
	enum err_code code;
} sys_codes[] = {
	{ ENOENT, ERR_NOENT },   { ENOTDIR, ERR_NOENT },         { EEXIST, ERR_EXIST },
	{ EACCES, ERR_PERM },    { EPERM, ERR_PERM },            { EROFS, ERR_PERM },
	{ EBUSY, ERR_BUSY },     { EWOULDBLOCK, ERR_BUSY },      { EFBIG, ERR_LIMIT },
	{ ENAMETOOLONG, ERR_LIMIT }, { ENOSYS, ERR_UNSUPPORTED }, { EOPNOTSUPP, ERR_UNSUPPORTED },
	{ EPIPE, ERR_CLOSED },   { ECONNRESET, ERR_CLOSED },     { ETIMEDOUT, ERR_TIMEOUT },
};

static enum err_code code_of(int sys)
{
	for (size_t i = 0; i < COUNT(sys_codes); i++)
		if (sys_codes[i].sys == sys)
			return sys_codes[i].code;
	return ERR_SYS;
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	BUG_IF(code == ERR_NONE);
	*err = (struct err){ .code = code };
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -(int)code;
}

int err_sys(struct err *err, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	*err = (struct err){ .code = code_of(sys), .sys = sys };
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(sys));
	if (sys == EMFILE)
		err_hint(err, "the limit of open files is too low here; \"ulimit -n 1024\", in the shell that starts agent6, raises it");
	return -(int)err->code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	va_list ap;
	size_t n;

	BUG_IF(err->code == ERR_NONE);
	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %.*s", (int)(sizeof(err->msg) - n), inner);
	return -(int)err->code;
}

void err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

void err_at(struct err *err, const char *file, int line, int col)
{
	snprintf(err->at.file, sizeof(err->at.file), "%s", file);
	err->at.line = line;
	err->at.col = col;
}

const char *err_code_name(enum err_code code)
{
	BUG_IF(code >= ERR_COUNT);
	return names[code];
}
