/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/root_priv.h"
#include "test/lib/test.h"

#define HEAD "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define ROW  "0000000000000000: 00000002 00000000 00010000 0001 01 "

TEST(sockets_reads_what_the_kernel_writes_whatever_a_name_holds)
{
	static const struct {
		const char *why, *text, *want;
	} cases[] = {
		{ "nothing", "", "" },
		{ "the head alone", HEAD, "" },
		{ "no name", HEAD ROW "12345\n", "" },
		{ "a path", HEAD ROW "12345 /run/s\n", "/run/s;" },
		{ "a short inode", HEAD ROW "   45 /run/s\n", "/run/s;" },
		{ "an abstract name", HEAD ROW "12345 @/run/s\n", "" },
		{ "a relative name", HEAD ROW "12345 run/s\n", "" },
		{ "each connection has the name", HEAD ROW "1 /s\n" ROW "2 /s\n" ROW "3 /t\n", "/s;/t;" },
		{ "spaces in a name", HEAD ROW "1 /a b  c \n", "/a b  c ;" },
		{ "an end of line in a name", HEAD ROW "1 /a\nb\n\nc\n" ROW "2 /d\n", "/a\nb\n\nc;/d;" },
		{ "no end", HEAD ROW "1 /a", "/a;" },
		{ "what is none", "x\n0: 1\n: :\n", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(256);
		struct err err = { 0 };
		const struct socket_names found = sockets_decode(str_from(cases[i].text), mem);

		for (size_t k = 0; k < found.n; k++)
			CHECK_OK(buf_addf(&got, &err, STR_FMT ";", STR_ARG(found.p[k])));
		if (!str_eqz(buf_str(&got), cases[i].want))
			print_error("%s\n", cases[i].why);
		CHECK_STR(buf_str(&got), str_from(cases[i].want));
	}
}
