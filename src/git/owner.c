/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/owner.h"

#include "sys/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(uid_t owner)
{
	const char *sudo = getenv("SUDO_UID");
	int64_t who = geteuid();

	if (who == 0 && owner != 0 && sudo && str_to_i64(str_from(sudo), &who, ERR_DISCARD) < 0)
		return false;
	return owner == geteuid() || (int64_t)owner == who;
}

const char *owner_foreign(const struct discovered *d, uid_t *whose)
{
	const char *const looked[] = { d->dot_git, d->top, d->is_file ? d->git_dir : NULL };

	for (size_t i = 0; i < COUNT(looked); i++) {
		struct stat st = { .st_uid = (uid_t)-1 };

		if (!looked[i] || (lstat(looked[i], &st) == 0 && is_ours(st.st_uid)))
			continue;
		*whose = st.st_uid;
		return looked[i];
	}
	return NULL;
}

static bool names(struct str value, const char *top)
{
	struct str dir = str_trim_suffix(value, STR("/*"));
	char text[PATH_MAX], real[PATH_MAX];

	if (str_eqz(value, "*"))
		return true;
	if (dir.n >= sizeof(text) || (!str_eqz(value, ".") && !str_starts(value, STR("/"))))
		return false;
	memcpy(text, dir.n > 0 ? dir.p : "/", dir.n > 0 ? dir.n : 1); /* of "/" and a star nothing is left */
	text[dir.n > 0 ? dir.n : 1] = '\0';
	if (!realpath(text, real))
		return false;
	return strcmp(top, real) == 0 ? dir.n == value.n : dir.n < value.n && path_is_within(top, real);
}

bool owner_is_safe(struct str values, const char *top)
{
	bool safe = false;

	while (values.n > 0) {
		struct str value = str_cut(&values, '\0');

		safe = value.n > 0 && (safe || names(value, top));
	}
	return safe;
}
