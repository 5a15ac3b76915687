/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/metric.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX  1000000 /* a pattern that needs more finds nothing */
#define NUMBER_MAX 64

static void free_code(pcre2_code **c)
{
	pcre2_code_free(*c);
}
#define auto_code CLEANUP(free_code)

static void free_data(pcre2_match_data **d)
{
	pcre2_match_data_free(*d);
}
#define auto_data CLEANUP(free_data)

static void free_context(pcre2_match_context **c)
{
	pcre2_match_context_free(*c);
}
#define auto_context CLEANUP(free_context)

static pcre2_code *compile(struct str pattern, int *why, size_t *at)
{
	PCRE2_SIZE offset = 0;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, why, &offset, NULL);

	*at = offset;
	return code;
}

int metric_check(struct str pattern, struct err *err)
{
	uint32_t groups = 0;
	int why = 0;
	size_t at = 0;
	auto_code pcre2_code *code = compile(pattern, &why, &at);

	if (!code) {
		PCRE2_UCHAR text[128] = { 0 };

		pcre2_get_error_message(why, text, sizeof(text));
		return err_set(err, ERR_INVALID, "workflow.metric.pattern: %s, at character %zu", (const char *)text, at + 1);
	}
	pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups == 0)
		return err_set(err, ERR_INVALID, "workflow.metric.pattern has no group: the number is what stands in the first one, as in "
			"\"score: ([0-9.]+)\"");
	return 0;
}

static bool to_number(struct str text, double *out)
{
	char z[NUMBER_MAX], *end = NULL;

	if (text.n == 0 || text.n >= sizeof(z))
		return false;
	memcpy(z, text.p, text.n);
	z[text.n] = '\0';

	double v = strtod(z, &end);

	if (end != z + text.n || !isfinite(v))
		return false;
	*out = v;
	return true;
}

bool metric_score(struct str pattern, struct str text, double *out)
{
	int why = 0;
	size_t at = 0;
	auto_code pcre2_code *code = compile(pattern, &why, &at);
	auto_context pcre2_match_context *limits = pcre2_match_context_create(NULL);
	auto_data pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;

	if (!data || !limits || !utf8_valid(text))
		return false;
	pcre2_set_match_limit(limits, STEPS_MAX);
	if (pcre2_match(code, (PCRE2_SPTR)text.p, text.n, 0, 0, data, limits) < 2) /* no match, or the group took no part */
		return false;

	const PCRE2_SIZE *where = pcre2_get_ovector_pointer(data);

	return to_number(str_of(text.p + where[2], where[3] - where[2]), out);
}
