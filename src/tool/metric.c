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

	if (pattern.n == 0)
		return err_set(err, ERR_INVALID, "workflow.metric.command is set and workflow.metric.pattern is not: the number is what stands "
			"in its first group, as in \"score: ([0-9.]+)\"");

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

/* "/12" behind a 12. */
static bool is_full(struct str rest, double score)
{
	double all;
	size_t n = 0;

	rest = str_trim_prefix(rest, STR(" "));
	if (!str_starts(rest, STR("/")) || score <= 0)
		return false;
	rest = str_trim_prefix(str_skip(rest, 1), STR(" "));
	while (n < rest.n && strchr("0123456789.", rest.p[n]))
		n++;
	return to_number(str_head(rest, n), &all) && all == score;
}

bool metric_score(struct str pattern, struct str text, double *out, bool *full)
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

	if (!to_number(str_of(text.p + where[2], where[3] - where[2]), out))
		return false;
	if (full)
		*full = is_full(str_skip(text, where[3]), *out);
	return true;
}

/* The number that a text begins with; 0 bytes: none. */
static size_t leading_number(struct str s, double *out)
{
	size_t n = 0;

	if (n < s.n && s.p[n] == '-')
		n++;
	while (n < s.n && n < NUMBER_MAX - 1 && strchr("0123456789.", s.p[n]))
		n++;
	while (n > 0 && s.p[n - 1] == '.') /* the end of a sentence */
		n--;
	return n > 0 && to_number(str_head(s, n), out) ? n : 0;
}

size_t metric_targets(struct str task, double out[METRIC_TARGETS])
{
	size_t n = 0;

	for (size_t i = 0; i < task.n && n < METRIC_TARGETS; i++) {
		bool arrow = i > 0 && strchr("-=", task.p[i - 1]) && task.p[i] == '>';
		size_t at = i + 1;

		if (!strchr("<>=", task.p[i]) || arrow || task.p[i] == '\0')
			continue;
		if (at < task.n && task.p[at] == '=')
			at++;
		while (at < task.n && task.p[at] == ' ')
			at++;
		if (leading_number(str_skip(task, at), &out[n]) > 0)
			n++;
		i = at - 1;
	}
	return n;
}
