/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/fault.h"
#include "provider/fault_priv.h"

#include "fmt/jscan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RETRY_BASE_MS   2000
#define RETRY_MOST_MS   30000
#define RETRY_EMPTY_MS  1000
#define RETRY_HEADER_MS 120000 /* a server may ask for this much patience */
#define BODY_SHOWN      500    /* of an answer that is no error object */
#define PAGE_LOOKED_AT  1000   /* a comment may stand before what says that it is HTML */

static const struct {
	const char *word;
	bool retryable;
} kinds[FAULT_COUNT] = {
#define X(kind, word, again) [kind] = { word, again },
	PROVIDER_FAULTS(X)
#undef X
};

static const struct {
	enum provider_fault_kind kind;
	const char *hint;
} hints[] = {
	{ FAULT_AUTH, "check the key: agent6 connect, or [providers.<name>].api_key_env" },
	{ FAULT_PERMISSION, "check the key: agent6 connect, or [providers.<name>].api_key_env" },
	{ FAULT_BILLING, "the provider reports no credit or quota left; agent6 resume goes on when there is some" },
	{ FAULT_NOT_FOUND, "check the model name and base_url; agent6 model lists what the provider offers" },
	{ FAULT_OVERFLOW, "it is larger than the model's window and gets no shorter: agent6 model chooses one with a larger window; AGENTS.md and attached files count" },
	{ FAULT_TOO_LARGE, "the server takes no request this large and it gets no shorter: AGENTS.md and attached files count" },
	{ FAULT_FILTER, "the provider's filter refused it; agent6 resume --steer \"...\" goes on in other words" },
	{ FAULT_RATE_LIMIT, "the provider limits how much may be asked; agent6 resume goes on later" },
	{ FAULT_OVERLOADED, "the provider is overloaded; agent6 resume goes on later" },
	{ FAULT_SERVER, "the fault is the provider's; agent6 resume goes on later" },
	{ FAULT_TIMEOUT, "agent6 resume goes on; a slow server may need a smaller model" },
	{ FAULT_INCOMPLETE, "the connection or the server broke off; agent6 resume goes on" },
	{ FAULT_PAGE, "base_url is the address of the API itself, such as https://host/v1" },
	{ FAULT_UNREACHABLE, "base_url says where the provider is, ca_file whose certificates are trusted there" },
	{ FAULT_NETWORK, "agent6 resume goes on when the server can be reached; base_url says where it is" },
};

/* What servers write in error.code, error.type or error.status. `decides` beats the HTTP status, which
 * is often the general one (429 for an empty account, 400 for a full window). */
static const struct {
	const char *word;
	enum provider_fault_kind kind;
	bool decides;
} words[] = {
	{ "insufficient_quota", FAULT_BILLING, true },
	{ "exceeded_current_quota_error", FAULT_BILLING, true },
	{ "billing_hard_limit_reached", FAULT_BILLING, true },
	{ "billing_error", FAULT_BILLING, true },
	{ "usage_limit_reached", FAULT_BILLING, true },
	{ "usage_not_included", FAULT_BILLING, true },
	{ "context_length_exceeded", FAULT_OVERFLOW, true },
	{ "exceed_context_size_error", FAULT_OVERFLOW, true },
	{ "content_filter", FAULT_FILTER, true },
	{ "content_policy_violation", FAULT_FILTER, true },
	{ "cyber_policy", FAULT_FILTER, true },
	{ "bio_policy", FAULT_FILTER, true },
	{ "invalid_prompt", FAULT_INVALID, true },
	{ "invalid_encrypted_content", FAULT_INVALID, true },
	{ "tool_use_failed", FAULT_SERVER, true }, /* Groq: the model wrote a broken call, once more helps */
	{ "engine_overloaded_error", FAULT_OVERLOADED, true },
	{ "overloaded_error", FAULT_OVERLOADED, false },
	{ "server_is_overloaded", FAULT_OVERLOADED, false },
	{ "unavailable_error", FAULT_OVERLOADED, false },
	{ "insufficient_system_resource", FAULT_OVERLOADED, false },
	{ "UNAVAILABLE", FAULT_OVERLOADED, false },
	{ "rate_limit_error", FAULT_RATE_LIMIT, false },
	{ "rate_limit_exceeded", FAULT_RATE_LIMIT, false },
	{ "RESOURCE_EXHAUSTED", FAULT_RATE_LIMIT, false },
	{ "request_too_large", FAULT_TOO_LARGE, false },
	{ "timeout_error", FAULT_TIMEOUT, false },
	{ "DEADLINE_EXCEEDED", FAULT_TIMEOUT, false },
	{ "authentication_error", FAULT_AUTH, false },
	{ "invalid_api_key", FAULT_AUTH, false },
	{ "UNAUTHENTICATED", FAULT_AUTH, false },
	{ "permission_error", FAULT_PERMISSION, false },
	{ "PERMISSION_DENIED", FAULT_PERMISSION, false },
	{ "not_found_error", FAULT_NOT_FOUND, false },
	{ "model_not_found", FAULT_NOT_FOUND, false },
	{ "NOT_FOUND", FAULT_NOT_FOUND, false },
	{ "invalid_request_error", FAULT_INVALID, false },
	{ "INVALID_ARGUMENT", FAULT_INVALID, false },
	{ "api_error", FAULT_SERVER, false },
	{ "server_error", FAULT_SERVER, false },
};

static const struct {
	int first, last;
	enum provider_fault_kind kind;
} statuses[] = {
	{ 401, 401, FAULT_AUTH },
	{ 402, 402, FAULT_BILLING },
	{ 403, 403, FAULT_PERMISSION },
	{ 404, 404, FAULT_NOT_FOUND },
	{ 408, 408, FAULT_TIMEOUT },
	{ 409, 409, FAULT_SERVER },
	{ 413, 413, FAULT_TOO_LARGE },
	{ 425, 425, FAULT_OVERLOADED },
	{ 429, 429, FAULT_RATE_LIMIT },
	{ 498, 498, FAULT_OVERLOADED }, /* Groq: flex capacity */
	{ 400, 499, FAULT_INVALID },
	{ 503, 503, FAULT_OVERLOADED },
	{ 504, 504, FAULT_TIMEOUT },
	{ 529, 529, FAULT_OVERLOADED },
	{ 500, 599, FAULT_SERVER },
};

/* A full window is told in words more often than in codes, and so is an account without credit, which Anthropic tells as
 * an invalid request (observed for long). Where the status or the code says nothing more exact. */
static const struct {
	const char *text;
	enum provider_fault_kind kind;
} sentences[] = {
	{ "prompt is too long", FAULT_OVERFLOW },
	{ "maximum context length", FAULT_OVERFLOW },
	{ "context window", FAULT_OVERFLOW },
	{ "too many tokens", FAULT_OVERFLOW },
	{ "context length", FAULT_OVERFLOW },
	{ "available context size", FAULT_OVERFLOW },
	{ "credit balance is too low", FAULT_BILLING },
};

bool provider_text_holds(struct str text, const char *words_in_lower_case)
{
	size_t n = strlen(words_in_lower_case);

	for (size_t i = 0; i + n <= text.n; i++)
		if (strncasecmp(text.p + i, words_in_lower_case, n) == 0)
			return true;
	return false;
}

bool provider_is_page(struct str body)
{
	static const char *const marks[] = { "<!doctype html", "<html", "<head", "<body" };
	struct str t = str_trim(str_trim_prefix(body, STR("\xEF\xBB\xBF")));

	if (t.n == 0 || t.p[0] != '<')
		return false;
	for (size_t i = 0; i < COUNT(marks); i++)
		if (provider_text_holds(str_head(t, PAGE_LOOKED_AT), marks[i]))
			return true;
	return false;
}

bool provider_fault_may_be_page(enum provider_fault_kind kind)
{
	return kind == FAULT_AUTH || kind == FAULT_PERMISSION || kind == FAULT_NOT_FOUND || kind == FAULT_INVALID || kind == FAULT_PROTOCOL;
}

const char *provider_fault_name(enum provider_fault_kind kind)
{
	return kinds[kind].word;
}

static void copy_text(char *out, size_t size, struct str text)
{
	size_t n = utf8_head(text, size - 1);

	if (n > 0)
		memcpy(out, text.p, n);
	out[n] = '\0';
}

void provider_fault_set(struct provider_fault *f, enum provider_fault_kind kind, int status, struct str message)
{
	auto_buf struct buf clean = BUF_MAX(3 * message.n + 1);

	*f = (struct provider_fault){ .kind = kind, .status = status, .retryable = kinds[kind].retryable,
		.retry_after_ms = -1 };
	BUG_IF(buf_add_utf8(&clean, message, ERR_DISCARD) < 0);
	copy_text(f->message, sizeof(f->message), buf_str(&clean));
	for (size_t i = 0; i < COUNT(hints); i++)
		if (hints[i].kind == kind)
			copy_text(f->hint, sizeof(f->hint), str_from(hints[i].hint));
}

static bool read_number(struct str *s, double *out)
{
	size_t n = 0;

	while (n < s->n && n < 20 && ((s->p[n] >= '0' && s->p[n] <= '9') || s->p[n] == '.'))
		n++;
	if (str_to_f64(str_head(*s, n), out, ERR_DISCARD) < 0)
		return false;
	*s = str_skip(*s, n);
	return true;
}

/* "34s", "1.5 seconds", "250ms", "2m": milliseconds, or -1. */
static int64_t read_duration(struct str s)
{
	static const struct {
		struct str unit;
		double ms;
	} units[] = { { STR("ms"), 1 }, { STR("m"), 60000 }, { STR("s"), 1000 }, { STR("h"), 3600000 } };
	double v;

	if (!read_number(&s, &v) || v > 1e6)
		return -1;
	s = str_trim(s);
	for (size_t i = 0; i < COUNT(units); i++)
		if (str_starts(s, units[i].unit))
			return (int64_t)(v * units[i].ms + 0.5);
	return -1;
}

static int64_t wait_in_message(struct str text)
{
	static const char phrase[] = "try again in ";
	size_t n = sizeof(phrase) - 1;

	for (size_t i = 0; i + n < text.n; i++)
		if (strncasecmp(text.p + i, phrase, n) == 0)
			return read_duration(str_skip(text, i + n));
	return -1;
}

/* Google's RetryInfo: error.details[].retryDelay. */
static int64_t wait_in_details(struct jval error)
{
	struct jval details = jval_get(error, "details"), d;

	for (size_t pos = 0; jval_next(details, &pos, NULL, &d);) {
		struct jval delay = jval_get(d, "retryDelay");

		if (delay.type == JSCAN_STRING)
			return read_duration(str_head(str_skip(delay.text, 1), delay.text.n - 2));
	}
	return -1;
}

static int word_of(struct jval v)
{
	for (size_t i = 0; v.type == JSCAN_STRING && i < COUNT(words); i++)
		if (jval_is(v, words[i].word))
			return (int)i;
	return -1;
}

static int status_of(struct jval code)
{
	int64_t n = 0;

	if (code.type == JSCAN_STRING && code.text.n == 5 &&
		str_to_i64(str_head(str_skip(code.text, 1), 3), &n, ERR_DISCARD) < 0)
		return 0;
	if (code.type == JSCAN_NUMBER && !jval_to_i64(code, &n))
		return 0;
	return n >= 400 && n <= 599 ? (int)n : 0;
}

static bool add_message(struct buf *out, struct jval error)
{
	static const char *const keys[] = { "message", "msg", "detail", "error" };
	int r = -1;

	if (error.type == JSCAN_STRING)
		r = jval_add_text(out, error, NUL_REPLACE, ERR_DISCARD);
	for (size_t i = 0; i < COUNT(keys) && out->n == 0; i++) {
		struct jval v = jval_get(error, keys[i]);

		if (v.type == JSCAN_STRING)
			r = jval_add_text(out, v, NUL_REPLACE, ERR_DISCARD);
		else if (v.type == JSCAN_ARRAY || v.type == JSCAN_OBJECT)
			r = jval_add(out, v, NUL_REPLACE, ERR_DISCARD);
	}
	if (r == 0)
		jtext_repair(out, 0);
	return r == 0 && out->n > 0;
}

/* Google's endpoint puts the object into an array. */
static struct jval unwrap(struct jval body)
{
	struct jval first = { 0 };
	size_t pos = 0;

	if (body.type != JSCAN_ARRAY)
		return body;
	jval_next(body, &pos, NULL, &first);
	return first;
}

bool provider_has_error(struct jval body)
{
	struct jval inner = jval_get(unwrap(body), "error");

	return inner.type == JSCAN_OBJECT || (inner.type == JSCAN_STRING && inner.text.n > 2);
}

static enum provider_fault_kind kind_of(struct jval error, int status, struct str message)
{
	int found[] = { word_of(jval_get(error, "code")), word_of(jval_get(error, "type")),
		word_of(jval_get(error, "status")) };
	enum provider_fault_kind kind = FAULT_COUNT;

	for (size_t i = 0; i < COUNT(found); i++)
		if (found[i] >= 0 && words[found[i]].decides)
			return words[found[i]].kind;
	for (size_t i = 0; i < COUNT(statuses) && kind == FAULT_COUNT; i++)
		if (status >= statuses[i].first && status <= statuses[i].last)
			kind = statuses[i].kind;
	for (size_t i = 0; i < COUNT(found) && kind == FAULT_COUNT; i++)
		if (found[i] >= 0)
			kind = words[found[i]].kind;
	if (kind == FAULT_COUNT || kind == FAULT_INVALID || kind == FAULT_TOO_LARGE)
		for (size_t i = 0; i < COUNT(sentences); i++)
			if (provider_text_holds(message, sentences[i].text))
				return sentences[i].kind;
	return kind == FAULT_COUNT ? FAULT_SERVER : kind;
}

static void copy_request_id(struct provider_fault *f, struct jval body, struct jval error)
{
	auto_buf struct buf id = BUF_MAX(sizeof(f->request_id) - 1);
	struct jval v = jval_get(body, "request_id");

	if (v.type != JSCAN_STRING)
		v = jval_get(error, "request_id");
	if (jval_add_text(&id, v, NUL_REPLACE, ERR_DISCARD) == 0) {
		jtext_repair(&id, 0);
		copy_text(f->request_id, sizeof(f->request_id), buf_str(&id));
	}
}

void provider_fault_classify(struct provider_fault *f, int status, int64_t retry_after_ms, int should_retry,
	struct str text)
{
	struct jval body = unwrap(jval_from(text));
	struct jval error = provider_has_error(body) ? jval_get(body, "error") : body;
	auto_buf struct buf message = BUF_MAX(4 * text.n + 64);
	int inner = status_of(jval_get(error, "code"));

	if (!add_message(&message, error)) {
		buf_clear(&message);
		BUG_IF(buf_add(&message, str_head(str_trim(text), BODY_SHOWN), ERR_DISCARD) < 0);
	}
	if (message.n == 0)
		BUG_IF(buf_addf(&message, ERR_DISCARD, "status %d without a word", status) < 0);
	if (status < 400 && inner > 0)
		status = inner;
	provider_fault_set(f, kind_of(error, status, buf_str(&message)), status >= 400 ? status : 0,
		buf_str(&message));
	if (provider_text_holds(buf_str(&message), "/v1/responses"))
		copy_text(f->hint, sizeof(f->hint), STR("this model takes tools only through the Responses API"));
	f->retry_after_ms = retry_after_ms;
	if (f->retry_after_ms < 0)
		f->retry_after_ms = wait_in_details(error);
	if (f->retry_after_ms < 0)
		f->retry_after_ms = wait_in_message(buf_str(&message));
	if (should_retry >= 0)
		f->retryable = should_retry > 0;
	copy_request_id(f, body, error);
}

int64_t retry_delay_ms(const struct provider_fault *f, int attempt, double random)
{
	int64_t most = RETRY_BASE_MS;

	if (!f->retryable || attempt >= RETRY_ATTEMPTS)
		return -1;
	for (int i = 1; i < attempt && most < RETRY_MOST_MS; i++)
		most *= 2;
	if (most > RETRY_MOST_MS)
		most = RETRY_MOST_MS;
	if (f->kind == FAULT_EMPTY)
		most = RETRY_EMPTY_MS;

	int64_t delay = (int64_t)((double)most * (0.5 + 0.5 * random));
	int64_t told = f->retry_after_ms < RETRY_HEADER_MS ? f->retry_after_ms : RETRY_HEADER_MS;

	return told > delay ? told : delay;
}
