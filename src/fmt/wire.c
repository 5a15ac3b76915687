/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/wire.h"

struct rule {
	uint16_t type;
	enum wire_link link;
	enum wire_dir dir;
	size_t fds_min, fds_max, body_max;
	char name[24]; /* not its address, which would have to be written at each start of the program */
};

static const struct rule rules[] = {
#define X(type, value, link, dir, fmin, fmax, bmax) { type, link, dir, fmin, fmax, bmax, #type },
	WIRE_TYPES(X)
#undef X
};

static const struct rule *rule_of(uint16_t type)
{
	for (size_t i = 0; i < COUNT(rules); i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

static bool is_monitors(enum wire_link link)
{
	return link <= LINK_MONITOR_VIEW || (link >= LINK_MONITOR_FORKER && link < LINK_MONITOR_ANY);
}

_Static_assert(LINK_MONITOR_ZYGOTE == 0 && LINK_ZYGOTE_AGENT == LINK_MONITOR_VIEW + 1 && LINK_MONITOR_FORKER == LINK_RECORDER_AGENT + 1,
	"the monitor's links stand together");

int wire_check(enum wire_link link, enum wire_dir dir, uint16_t type, size_t body_n, size_t nfds,
	struct err *err)
{
	const struct rule *r = rule_of(type);

	if (!r)
		return err_set(err, ERR_PROTOCOL, "message type %u is unknown", (unsigned)type);
	if ((r->link != link && !(r->link == LINK_MONITOR_ANY && is_monitors(link))) || r->dir != dir)
		return err_set(err, ERR_PROTOCOL, "%s is not allowed here", r->name);
	if (body_n > r->body_max)
		return err_set(err, ERR_PROTOCOL, "%s has %zu bytes, at most %zu are allowed", r->name, body_n,
			r->body_max);
	if (nfds < r->fds_min || nfds > r->fds_max)
		return err_set(err, ERR_PROTOCOL, "%s carries %zu descriptors, not %zu to %zu", r->name, nfds,
			r->fds_min, r->fds_max);
	return 0;
}

const char *wire_name(uint16_t type)
{
	const struct rule *r = rule_of(type);

	return r ? r->name : "?";
}
