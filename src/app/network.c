/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/network.h"

#define SAME(r) { [PROFILE_STRICT] = r, [PROFILE_HARDENED] = r, [PROFILE_NONE] = r }
#define EACH(strict, hardened, none) \
	{ [PROFILE_STRICT] = strict, [PROFILE_HARDENED] = hardened, [PROFILE_NONE] = none }

const struct network_row network_rows[] = {
	{ NETWORK_OF_AGENT, NETWORK_ANY, NETWORK_ANY, EACH(REACH_NOTHING, REACH_NOTHING, REACH_UNENFORCED) },

	{ NETWORK_OF_CLIENT, AGENT_NETWORK_PROVIDERS, NETWORK_ANY, SAME(REACH_TABLE) },
	{ NETWORK_OF_CLIENT, AGENT_NETWORK_LOCAL, NETWORK_ANY, SAME(REACH_LOCAL) },
	{ NETWORK_OF_CLIENT, AGENT_NETWORK_OPEN, NETWORK_ANY, SAME(REACH_ANY),
		.warning = "sandbox.agent_network is \"open\": the client dials by itself and is not held to the providers' hosts" },

	{ NETWORK_OF_COMMANDS, TOOL_NETWORK_BLOCK, NETWORK_ANY, EACH(REACH_RUN, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_COMMANDS, TOOL_NETWORK_ONLY_EXPLICIT_STATES, NETWORK_ANY,
		EACH(REACH_RUN, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_COMMANDS, TOOL_NETWORK_ALLOW, NETWORK_ANY, EACH(REACH_HOST, REACH_HOST, REACH_UNENFORCED),
		.warning = "sandbox.tool_network is \"allow\": the model's commands reach the host's network, servers on this "
			   "machine's loopback included, and can send away whatever they can read" },

	{ NETWORK_OF_SERVER, NETWORK_ANY, NETWISH_AUTO, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_SERVER, NETWORK_ANY, NETWISH_BLOCK, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_SERVER, NETWORK_ANY, NETWISH_ALLOW, EACH(REACH_HOST, REACH_HOST, REACH_UNENFORCED),
		.warning = "has allow_network = true: it reaches the host's network, and can send away what its tools are told" },

	{ NETWORK_OF_STATE, TOOL_NETWORK_BLOCK, NETWISH_AUTO, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_BLOCK, NETWISH_BLOCK, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_BLOCK, NETWISH_ALLOW, EACH(REACH_REFUSED, REACH_REFUSED, REACH_UNENFORCED),
		.refusal = "asks for allow_network = \"allow\", and sandbox.tool_network is \"block\"",
		.remedy = "agent6 config set sandbox.tool_network only_explicit_states, or take allow_network out of the state" },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ONLY_EXPLICIT_STATES, NETWISH_AUTO,
		EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ONLY_EXPLICIT_STATES, NETWISH_BLOCK,
		EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ONLY_EXPLICIT_STATES, NETWISH_ALLOW,
		EACH(REACH_HOST, REACH_HOST, REACH_UNENFORCED),
		.warning = "this state has allow_network = \"allow\": it reaches the host's network" },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ALLOW, NETWISH_AUTO, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ALLOW, NETWISH_BLOCK, EACH(REACH_ALONE, REACH_NOTHING, REACH_UNENFORCED) },
	{ NETWORK_OF_STATE, TOOL_NETWORK_ALLOW, NETWISH_ALLOW, EACH(REACH_HOST, REACH_HOST, REACH_UNENFORCED),
		.warning = "this state has allow_network = \"allow\": it reaches the host's network" },
	{ .actor = NETWORK_ACTORS },
};

static const char *const words[] = {
	[REACH_NOTHING] = "nothing: no socket can be made",
	[REACH_TABLE] = "the hosts of the broker's table: providers in use, MCP servers by url, allow_urls",
	[REACH_LOCAL] = "the hosts of the broker's table: providers and MCP servers on this machine",
	[REACH_ANY] = "any host, through a proxy where one is named",
	[REACH_RUN] = "a loopback that the run's commands share, and nothing else",
	[REACH_ALONE] = "a loopback of its own, and nothing else",
	[REACH_HOST] = "the host's network, and no unix socket outside",
	[REACH_UNENFORCED] = "the host's network: nothing is enforced",
	[REACH_REFUSED] = "refused: it does not start",
};
_Static_assert(COUNT(words) == REACH_COUNT, "words for each reach");

const struct network_row *network_row(enum network_actor actor, int setting, enum network_wish wish)
{
	for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++)
		if (r->actor == actor && (r->setting == NETWORK_ANY || r->setting == setting) &&
			(r->wish == NETWORK_ANY || r->wish == (int)wish))
			return r;
	BUG_IF(true); /* the table is total: a test asks for every combination */
}

const char *network_words(enum network_reach reach)
{
	return words[reach];
}

enum policy_network network_of_jail(enum network_reach reach)
{
	return reach == REACH_HOST || reach == REACH_UNENFORCED ? NETWORK_HOST : NETWORK_NONE;
}

int network_judge(const struct network_row *row, enum policy_profile profile, const char *who, struct err *err)
{
	int r;

	if (row->reach[profile] != REACH_REFUSED)
		return 0;
	r = err_set(err, ERR_DENIED, "%s %s", who, row->refusal);
	err_hint(err, "%s", row->remedy);
	return r;
}
