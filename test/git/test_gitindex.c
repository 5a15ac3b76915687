/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/buf.h"
#include "git/gitindex.h"
#include "test/lib/test.h"

#include <string.h>

static int keep(void *self, struct str path, struct err *err)
{
	return buf_addf(self, err, STR_FMT ";", STR_ARG(path));
}

/* An index of version 2 with one entry. */
static size_t make(char *out, unsigned mode, const char *name)
{
	size_t n = strlen(name), at = 12 + 62 + n, end = 12 + ((62 + n + 8) & ~(size_t)7) + 20;

	memset(out, 0, end);
	memcpy(out, "DIRC\0\0\0\2\0\0\0\1", 12);
	out[12 + 26] = (char)(mode >> 8);
	out[12 + 27] = (char)mode;
	out[12 + 61] = (char)n;
	memcpy(out + at - n, name, n);
	return end;
}

TEST(gitindex_refuses_what_is_no_whole_index)
{
	static const struct {
		const char *name;
		unsigned mode;
		int r;
		const char *says;
	} cases[] = {
		{ "sub", 0160000, 0, "sub;" },
		{ "a/sub", 0160000, 0, "a/sub;" },
		{ "file", 0100644, 0, "" },
		{ "dir/", 0040000, -ERR_INVALID, "" },
		{ "", 0100644, -ERR_INVALID, "" },
		{ "../x", 0160000, -ERR_INVALID, "" },
		{ "/x", 0160000, -ERR_INVALID, "" },
		{ "a//x", 0160000, -ERR_INVALID, "" },
	};
	char bytes[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf said = BUF_MAX(256);
		size_t n = make(bytes, cases[i].mode, cases[i].name);
		struct err err = { 0 };

		CHECK_INT(gitindex_links((struct str){ bytes, n }, keep, &said, &err), cases[i].r);
		CHECK_STR(buf_str(&said), str_from(cases[i].says));
		for (size_t k = 0; k < n; k++) {
			autofree char *part = mem_alloc(k + 1); /* its own, so that a byte too far is seen */

			memcpy(part, bytes, k);
			CHECK(gitindex_links((struct str){ part, k }, keep, &said, &err) < 0);
		}
	}
}

TEST(gitindex_believes_no_length_nor_cut)
{
	char bytes[256];
	size_t n = make(bytes, 0160000, "sub");
	struct err err = { 0 };

	for (size_t i = 0; i < n - 20; i++) { /* every byte but the checksum, to the largest and to the next */
		char was = bytes[i];
		auto_buf struct buf said = BUF_MAX(4096);

		bytes[i] = (char)0xff;
		(void)!gitindex_links((struct str){ bytes, n }, keep, &said, &err);
		bytes[i] = (char)(was + 2);
		(void)!gitindex_links((struct str){ bytes, n }, keep, &said, &err);
		bytes[i] = was;
	}
	auto_buf struct buf said = BUF_MAX(4096);

	bytes[12 + 61] = 4; /* a length that is not the name's */
	CHECK_INT(gitindex_links((struct str){ bytes, n }, keep, &said, &err), -ERR_INVALID);
	bytes[12 + 61] = 3;
	bytes[7] = 4; /* version 4 begins with a cut of what is not there: 's' of 0 */
	CHECK_INT(gitindex_links((struct str){ bytes, n }, keep, &said, &err), -ERR_INVALID);
	bytes[7] = 5;
	CHECK_INT(gitindex_links((struct str){ bytes, n }, keep, &said, &err), -ERR_INVALID);
}
