/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/network.h"
#include "test/lib/test.h"

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

TEST(network_is_a_namespace_or_the_hosts)
{
	CHECK_INT(network_of_jail(REACH_RUN), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_ALONE), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_NOTHING), NETWORK_NONE);
	CHECK_INT(network_of_jail(REACH_HOST), NETWORK_HOST);
}
