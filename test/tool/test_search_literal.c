/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "test/lib/test.h"
#include "tool/search_priv.h"

#include <pcre2.h>
#include <string.h>

static const struct {
	const char *pattern, *literal;
} patterns[] = {
	{ "plain_words", "plain_words" },
	{ "[a-z]+_zz[0-9]{3}\\b", "_zz" },
	{ "struct \\w+ \\*next", "struct " },
	{ "\\bfoo\\.bar\\(", ".bar" }, /* an escaped character begins a run of its own */
	{ "a\\.bcd", ".bcd" },
	{ "abc?de", "ab" },
	{ "abc*de", "ab" },
	{ "abc+de", "abc" },
	{ "abc+?de", "abc" },
	{ "ab{2}cde", "cde" },
	{ "x{0}", "" },
	{ "ab{2", "" }, /* a brace that is none: not worth the thought */
	{ "{|ab}cd", "" },
	{ "ab{1, 2}cde", "cde" },
	{ "(abc)?de", "de" },
	{ "(a|b)cd", "cd" },
	{ "((ab)|c[)d])ef", "ef" },
	{ "ab|cd", "" },
	{ "(?i)abc", "" },
	{ "a(?=b)c", "" },
	{ "(*UCP)abc", "" },
	{ "[]abc]def", "def" },
	{ "[^]abc]def", "def" },
	{ "[[:alpha:]]def", "def" },
	{ "[[:alpha:](]x(a)?", "x" },
	{ "[a[.b]def", "" },
	{ "[\\]a]def", "def" },
	{ "[\\Qa]b\\E]def", "" },
	{ "\\Qa.b\\E", "" },
	{ "a\\x62c", "" },
	{ "(a)\\1bc", "" },
	{ "^abc$", "abc" },
	{ "a.bc", "bc" },
	{ "caf\xc3\xa9?x", "caf" },
	{ "", "" },
};

TEST(search_literal_is_what_every_match_holds)
{
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct str got = search_literal(str_from(patterns[i].pattern));

		if (!str_eqz(got, patterns[i].literal))
			print_error("of %s\n", patterns[i].pattern);
		CHECK_STR(got, str_from(patterns[i].literal));
	}
}

static uint32_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* Patterns put together from what is hard to read, and texts of the same letters: what PCRE2 finds holds the literal. */
TEST(search_literal_stands_in_whatever_is_matched)
{
	static const char *const parts[] = { "a", "b", "c", "ab", "a", "bc", "?", "*", "+", "{2}", "{0,1}", "{", "}", "(", ")", "|", "[", "]",
		"^", "$", ".", "\\b", "\\w", "\\.", "\\(", "\\]", "\\", "\\Q", "\\E", "-", "[:alpha:]", "[^", "[]", "(?:", "(?i)", ":", ",", "\\K",
		"\xc3\xa9" };
	static const char letters[] = "abcabcab.()[]{}-:,\\\xc3\xa9 A";
	uint64_t seed = 7;
	size_t compiled = 0, matched = 0, known = 0;

	for (size_t n = 0; n < 40000; n++) {
		auto_buf struct buf p = BUF_MAX(256);
		struct err err = { 0 };
		PCRE2_SIZE at;
		int why;

		for (uint32_t k = 1 + next(&seed) % 8; k > 0; k--)
			CHECK_OK(buf_addz(&p, parts[next(&seed) % COUNT(parts)], &err));

		pcre2_code *code = pcre2_compile((PCRE2_SPTR)p.p, p.n, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
			&why, &at, NULL);

		if (!code)
			continue;
		compiled++;
		struct str literal = search_literal(buf_str(&p));
		pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);

		for (size_t t = 0; t < 40 && literal.n > 0; t++) {
			char text[24];
			size_t len = next(&seed) % sizeof(text);

			for (size_t i = 0; i < len; i++)
				text[i] = letters[next(&seed) % (sizeof(letters) - 1)];
			if (pcre2_match(code, (PCRE2_SPTR)text, len, 0, 0, data, NULL) < 0)
				continue;
			const PCRE2_SIZE *v = pcre2_get_ovector_pointer(data);
			struct str hit = str_of(text + v[0], v[1] - v[0]);

			matched++;
			if (str_find(hit, literal) == hit.n)
				print_error("%s matches without " STR_FMT "\n", p.p, STR_ARG(literal));
			CHECK(str_find(hit, literal) < hit.n);
		}
		known += literal.n > 0;
		pcre2_match_data_free(data);
		pcre2_code_free(code);
	}
	CHECK(compiled > 5000 && known > 1000 && matched > 1000); /* that something was looked at */
}

TEST(a_needle_is_found_wherever_it_stands_and_nowhere_else)
{
	static const char *const needles[] = { "a", "ab", "ba", "aab", "zab", "b\xc3", "aaaa" };
	uint64_t seed = 3;

	for (size_t n = 0; n < 20000; n++) {
		struct str needle = str_from(needles[n % COUNT(needles)]);
		autofree char *text = mem_alloc(40); /* of the size, so that the sanitizer sees */
		size_t len = next(&seed) % 40, from = len > 0 ? next(&seed) % (len + 1) : 0;
		struct search_needle s;

		for (size_t i = 0; i < len; i++)
			text[i] = "aabz\xc3"[next(&seed) % 5];
		search_needle_set(&s, needle);
		CHECK_INT(search_needle_find(&s, str_of(text, len), from), from + str_find(str_of(text + from, len - from), needle));
	}
}
