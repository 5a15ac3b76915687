/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/talk.h"

#include "session/chain.h"

void talk_fini(struct talk *t)
{
	vec_fini(&t->now);
	vec_fini(&t->aside);
}

/* head, an object or null, '}' */
static bool member_after(struct str line, struct str head, struct str *value)
{
	if (!str_starts(line, head) || !str_ends(line, STR("}")) || line.n < head.n + 3)
		return false;
	*value = str_head(str_skip(line, head.n), line.n - head.n - 1);
	return str_eqz(*value, "null") || (value->p[0] == '{' && str_ends(*value, STR("}")));
}

static bool number_after(struct str line, struct str head, uint32_t *out, struct str *rest)
{
	size_t n = 0;
	int64_t v;

	if (!str_starts(line, head))
		return false;
	*rest = str_skip(line, head.n);
	while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
		n++;
	if (str_to_i64(str_head(*rest, n), &v, ERR_DISCARD) < 0 || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	*rest = str_skip(*rest, n);
	return true;
}

bool talk_checkpoint(struct str line, uint32_t *turn, struct str *state)
{
	struct str rest;

	return number_after(line, STR("{\"turn\":"), turn, &rest) && member_after(rest, STR(",\"state\":"), state);
}

bool talk_witness(struct str line, struct talk_witness *out)
{
	struct str rest;
	uint32_t n;

	if (!number_after(line, STR("{\"journal\":"), &n, &rest) || n == 0 || !str_starts(rest, STR(",\"h\":\"")))
		return false;
	rest = str_skip(rest, strlen(",\"h\":\""));
	if (rest.n != CHAIN_HEX + 2 || !str_ends(rest, STR("\"}")) || !chain_is_hash(str_head(rest, CHAIN_HEX)))
		return false;
	*out = (struct talk_witness){ n, str_head(rest, CHAIN_HEX) };
	return true;
}

static bool talk_cut(struct talk *t, uint32_t n)
{
	if (n > t->now.n)
		return false;
	if (t->found && !t->is_aside && n < t->kept) {
		for (uint32_t i = 0; i < t->kept; i++)
			*vec_new(&t->aside) = t->now.p[i];
		t->is_aside = true;
	}
	t->now.n = n;
	t->hole = false;
	return true;
}

/* The writer loaded the checkpoint, the newest at that time, and goes on from it. */
static bool talk_back(struct talk *t, uint32_t turn)
{
	if (!t->found || turn != t->turn)
		return false;
	t->now.n = t->is_aside ? 0 : t->kept;
	for (uint32_t i = 0; t->is_aside && i < t->kept; i++)
		*vec_new(&t->now) = t->aside.p[i];
	t->is_aside = t->hole = false;
	return true;
}

static void talk_state(struct talk *t, uint32_t turn, struct str state)
{
	if (t->hole)
		return;
	t->state = state;
	t->in_flight = STR(""); /* all that was called before it is in it */
	t->turn = turn;
	t->found = true;
	t->kept = (uint32_t)t->now.n;
	t->is_aside = false;
	t->aside.n = 0;
}

/* False for a line that is none of ours: it is left out, and the journal says that something is damaged. */
bool talk_line(struct talk *t, struct str line)
{
	struct str rest, value;
	uint32_t n;

	if (number_after(line, STR("{\"i\":"), &n, &rest) && member_after(rest, STR(",\"message\":"), &value)) {
		t->hole = t->hole || n != t->now.n;
		if (!t->hole)
			*vec_new(&t->now) = value;
		return !t->hole;
	}
	if (number_after(line, STR("{\"cut\":"), &n, &rest) && str_eqz(rest, "}"))
		return talk_cut(t, n);
	if (number_after(line, STR("{\"back\":"), &n, &rest) && str_eqz(rest, "}"))
		return talk_back(t, n);
	if (talk_witness(line, &t->seen))
		return true;
	if (member_after(line, STR("{\"in_flight\":"), &value)) {
		t->in_flight = value;
		return true;
	}
	if (!talk_checkpoint(line, &n, &value))
		return false;
	talk_state(t, n, value);
	return true;
}

int64_t talk_all(struct talk *t, struct str text)
{
	int64_t bad = 0;

	while (text.n > 0)
		bad += !talk_line(t, str_trim_suffix(str_line(&text), STR("\n")));
	return bad;
}

/* Up to the last checkpoint of that turn; the empty view when there is none. */
struct str talk_until(struct str text, uint32_t turn)
{
	const char *end = text.p;

	for (struct str all = text; all.n > 0;) {
		struct str line = str_line(&all), rest;
		uint32_t n;

		if (number_after(line, STR("{\"turn\":"), &n, &rest) && n == turn)
			end = line.p + line.n;
	}
	return str_head(text, (size_t)(end - text.p));
}

struct str talk_message(const struct talk *t, uint32_t i)
{
	BUG_IF(i >= t->kept);
	return t->is_aside ? t->aside.p[i] : t->now.p[i];
}
