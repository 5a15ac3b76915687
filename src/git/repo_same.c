/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/repo_priv.h"

int repo_differs(struct repo *r, struct str commit, struct arena *mem, struct str_list *out, struct err *err)
{
	struct name_list differ = { 0 };
	struct repo_head unused = { 0 };
	struct status_entry e;
	struct git_result res;

	if (!git_sha_ok(commit))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a commit", STR_ARG(commit));
	r->index_known = false;
	/* Empty first: what an index remembers of a file's times and size is believed instead of reading the file. */
	TRY(repo_must(r, "set our own index", GIT_INDEX_EMPTY, NULL, 0, STR(""), mem, &res, err));
	TRY(repo_must(r, "set our own index", GIT_INDEX_RESET, &commit, 1, STR(""), mem, &res, err));
	TRY(repo_must(r, "compare files", GIT_INDEX_SCAN, NULL, 0, STR(""), mem, &res, err));
	for (struct str rest = res.out; status_next(&rest, &e, &unused);)
		if (e.kind != '?' && e.disk != '.')
			*vec_new(&differ) = e.name;
	*out = names_take(&differ, mem);
	return 0;
}
