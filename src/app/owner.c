/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/owner.h"

#include "app/apart.h"
#include "git/owner.h"
#include "role/spawner.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define KEY         "safe.directory"
#define VALUES_MAX  (64 * 1024)
#define PAIRS_MAX   1000

static int add_value(struct buf *out, struct str value, struct err *err)
{
	const char *home = getenv("HOME");

	if (str_starts(value, STR("~/")) && home) {
		TRY(buf_addz(out, home, err));
		value = str_skip(value, 1);
	}
	TRY(buf_add(out, value, err));
	return buf_addc(out, '\0', err);
}

/* GIT_CONFIG_COUNT and its pairs, which git takes as it takes -c. */
static int add_of_env(struct buf *out, struct arena *mem, struct err *err)
{
	const char *count = getenv("GIT_CONFIG_COUNT");
	int64_t n = 0;

	if (!count || str_to_i64(str_from(count), &n, ERR_DISCARD) < 0 || n > PAIRS_MAX)
		return 0;
	for (int64_t i = 0; i < n; i++) {
		const char *key = getenv(str_printf(mem, "GIT_CONFIG_KEY_%lld", (long long)i).p);
		const char *value = getenv(str_printf(mem, "GIT_CONFIG_VALUE_%lld", (long long)i).p);

		if (key && value && strcasecmp(key, KEY) == 0)
			TRY(add_value(out, str_from(value), err));
	}
	return 0;
}

static int find_trusted(const struct discovered *d, const struct config *c, struct arena *mem, struct buf *out, struct err *err)
{
	auto_programs struct programs progs = PROGRAMS_NONE;
	struct peer spawner = PEER_NONE;
	struct str of_files = STR("");
	int r;

	TRY(programs_open(&progs, err));
	TRY(apart_places(c, d->top, mem, &progs.apart, err));
	TRY(apart_git(&progs.apart, mem, err));
	TRY(spawner_start(&progs, &spawner, err));
	r = spawner_trusted(spawner.chan, mem, &of_files, err);
	peer_close(&spawner);
	peer_kill(&spawner);
	TRY(r);
	TRY(buf_add(out, of_files, err));
	return add_of_env(out, mem, err);
}

int owner_check(const struct discovered *d, const struct config *c, struct arena *mem, struct err *err)
{
	auto_buf struct buf trusted = BUF_MAX(VALUES_MAX);
	const char *what;
	uid_t whose;

	what = owner_foreign(d, &whose);
	if (!what)
		return 0;
	TRY(find_trusted(d, c, mem, &trusted, err));
	if (owner_is_safe(buf_str(&trusted), d->top))
		return 0;
	err_set(err, ERR_DENIED, "%s belongs to user %u, and you are user %u: git trusts no repository of somebody else, and agent6 works where git would",
		what, (unsigned)whose, (unsigned)geteuid());
	err_hint(err, "when you trust what is in it: git config --global --add safe.directory '%s'", d->top);
	return -ERR_DENIED;
}

int owner_check_place(const struct place *place, const struct config *c, struct arena *mem, struct err *err)
{
	struct discovered d;

	if (!place->is_repo)
		return 0;
	TRY(discover_repo(place->workspace, mem, &d, err));
	return owner_check(&d, c, mem, err);
}
