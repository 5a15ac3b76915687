/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/network.h"
#include "base/arena.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdlib.h>

static int settings_of(enum network_actor a)
{
	return a == NETWORK_OF_AGENT || a == NETWORK_OF_CLIENT ? AGENT_NETWORK_OPEN + 1 : TOOL_NETWORK_ALLOW + 1;
}

static bool fits(const struct network_row *r, enum network_actor a, int setting, int wish)
{
	return r->actor == a && (r->setting == NETWORK_ANY || r->setting == setting) &&
		(r->wish == NETWORK_ANY || r->wish == wish);
}

TEST(network_has_one_row_for_every_actor_setting_and_wish)
{
	for (enum network_actor a = 0; a < NETWORK_ACTORS; a++)
		for (int setting = 0; setting < settings_of(a); setting++)
			for (int wish = NETWISH_AUTO; wish <= NETWISH_ALLOW; wish++) {
				int n = 0;

				for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++)
					n += fits(r, a, setting, wish);
				CHECK_INT(n, 1);
				CHECK(fits(network_row(a, setting, (enum network_wish)wish), a, setting, wish));
			}
}

/* What is wider than the default is said aloud, and what is refused says what helps. */
TEST(network_says_what_is_loosened_and_what_helps_where_it_is_refused)
{
	for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++)
		for (enum policy_profile p = PROFILE_STRICT; p < PROFILE_NONE; p++) {
			enum network_reach reach = r->reach[p];
			struct err err = { 0 };

			CHECK((reach == REACH_HOST || reach == REACH_ANY) == (r->warning != NULL));
			CHECK((reach == REACH_REFUSED) == (r->refusal != NULL));
			CHECK(reach != REACH_UNENFORCED);
			if (reach != REACH_REFUSED) {
				CHECK_OK(network_judge(r, p, "state x", &err));
				continue;
			}
			CHECK_INT(network_judge(r, p, "state x", &err), -ERR_DENIED);
			CHECK(str_starts(str_from(err.msg), STR("state x asks for")));
			CHECK(err.hint[0] != '\0');
		}
}

/* The agent has no socket whatever is configured, and no setting opens the commands but the one that says so. */
TEST(network_never_gives_the_agent_a_socket)
{
	for (int setting = 0; setting <= AGENT_NETWORK_OPEN; setting++) {
		const struct network_row *r = network_row(NETWORK_OF_AGENT, setting, NETWISH_AUTO);

		CHECK_INT(r->reach[PROFILE_STRICT], REACH_NOTHING);
		CHECK_INT(r->reach[PROFILE_HARDENED], REACH_NOTHING);
	}
	for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++)
		for (enum policy_profile p = PROFILE_STRICT; p < PROFILE_NONE; p++)
			if (r->actor >= NETWORK_OF_COMMANDS && r->reach[p] == REACH_HOST)
				CHECK(r->wish == NETWISH_ALLOW || r->setting == TOOL_NETWORK_ALLOW);
}

/* settings_network.c decides about endpoints before the profile is known. */
TEST(network_of_the_client_is_the_same_under_every_profile)
{
	for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++)
		for (enum policy_profile p = PROFILE_STRICT; p <= PROFILE_NONE && r->actor == NETWORK_OF_CLIENT; p++)
			CHECK_INT(r->reach[p], r->reach[PROFILE_STRICT]);
}

TEST(network_is_a_namespace_or_the_hosts)
{
	CHECK_INT(network_of_jail(REACH_RUN), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_ALONE), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_NOTHING), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_HOST), NETWORK_HOST);
	CHECK_INT(network_of_jail(REACH_UNENFORCED), NETWORK_HOST);
}

/* Of every setting, wish and profile: what is refused, in which words, and that nothing else is. */
TEST(network_refuses_a_state_that_asks_for_what_is_blocked_and_says_what_to_set)
{
	for (int setting = TOOL_NETWORK_BLOCK; setting <= TOOL_NETWORK_ALLOW; setting++)
		for (int wish = NETWISH_AUTO; wish <= NETWISH_ALLOW; wish++)
			for (enum policy_profile p = PROFILE_STRICT; p <= PROFILE_NONE; p++) {
				const struct network_row *r = network_row(NETWORK_OF_STATE, setting, (enum network_wish)wish);
				struct err err = { 0 };

				if (setting != TOOL_NETWORK_BLOCK || wish != NETWISH_ALLOW || p == PROFILE_NONE) {
					CHECK_OK(network_judge(r, p, "state fetch", &err));
					continue;
				}
				CHECK_INT(network_judge(r, p, "state fetch", &err), -ERR_DENIED);
				CHECK_STR(str_from(err.msg), STR("state fetch asks for allow_network = \"allow\", and "
								 "sandbox.tool_network is \"block\""));
				CHECK_STR(str_from(err.hint), STR("agent6 config set sandbox.tool_network only_explicit_states, or "
								  "take allow_network out of the state"));
			}
	/* The word that helps is one of the key's. */
	CHECK_STR(str_from(config_word("sandbox.tool_network", TOOL_NETWORK_ONLY_EXPLICIT_STATES)), STR("only_explicit_states"));
}

static struct str setting_words(const struct network_row *r, struct arena *mem)
{
	static const char *const wishes[] = { "auto", "block", "allow" };
	bool of_client = r->actor == NETWORK_OF_AGENT || r->actor == NETWORK_OF_CLIENT;

	if (r->actor == NETWORK_OF_SERVER)
		return str_printf(mem, "`mcp.NAME.allow_network` %s", r->wish == NETWISH_AUTO ? "not set" : r->wish == NETWISH_BLOCK ? "= false" : "= true");
	const char *key = of_client ? "agent_network" : "tool_network";

	if (r->setting == NETWORK_ANY)
		return str_printf(mem, "any `%s`", key);
	const char *word = config_word(of_client ? "sandbox.agent_network" : "sandbox.tool_network", r->setting);

	return r->wish == NETWORK_ANY ? str_printf(mem, "`%s` = %s", key, word)
				      : str_printf(mem, "`%s` = %s, `allow_network` = %s", key, word, wishes[r->wish]);
}

TEST(network_is_documented_row_by_row)
{
	static const char *const actors[] = { "agent", "client", "commands", "MCP server", "tool state" };
	const char *source = getenv("AGENT6_SOURCE");
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf doc = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(file_read(AT_FDCWD, str_printf(mem, "%s/docs/sandbox.md", source ? source : ".").p, &doc, &err));
	for (const struct network_row *r = network_rows; r->actor != NETWORK_ACTORS; r++) {
		struct str want = str_printf(mem, "| %s | " STR_FMT " | %s | %s | %s |\n", actors[r->actor],
			STR_ARG(setting_words(r, mem)), network_words(r->reach[PROFILE_STRICT]),
			network_words(r->reach[PROFILE_HARDENED]), network_words(r->reach[PROFILE_NONE]));

		if (str_find(buf_str(&doc), want) == doc.n)
			CHECK_STR(want, STR("a line of docs/sandbox.md"));
	}
}
