/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as what the reader answers, which may have been taken over: what is taken of them has its shape. And any bytes as
 * what a command wrote that it reads. */
#include "git/gitop.h"
#include "memory/notes.h"
#include "role/reader.h"
#include "sys/file.h"
#include "tool/denial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Links of any kind: a path is one by its last letter. */
static enum denial_look look(struct str path, struct arena *mem, struct str *target)
{
	static const char *const to[] = { "/opt/x", "..", "../../../y", "/", "a/b", "", "/w/l", "/usr/\xff" };
	unsigned char last = (unsigned char)path.p[path.n - 1];

	(void)mem;
	if (last % 3 != 0)
		return last % 3 == 1 ? DENIAL_LOOK_DIR : DENIAL_LOOK_NONE;
	*target = str_from(to[last % COUNT(to)]);
	return DENIAL_LOOK_LINK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct discovered here = { .top = "/w", .dot_git = "/w/.git", .git_dir = "/w/.git", .common_dir = "/w/.git" };
	auto_arena struct arena *mem = arena_new();
	struct str bytes = str_of(data, size);
	struct repo_facts repo;
	struct str_list notes;
	struct facts f;

	if (facts_unpack(bytes, mem, &f, ERR_DISCARD) == 0)
		BUG_IF(f.manifest.base_sha.n > 0 && !git_sha_ok(f.manifest.base_sha));
	if (reader_unpack_notes(bytes, mem, &notes, ERR_DISCARD) == 0)
		for (size_t i = 0; i < notes.n; i += READER_NOTE_PARTS)
			BUG_IF(!note_id_ok(notes.p[i]) || !note_scope_ok(notes.p[i + 1]) || notes.p[i + 2].n > NOTE_TEXT_MAX);
	if (reader_unpack_repo(bytes, &here, mem, &repo, ERR_DISCARD) == 0)
		for (size_t i = 0; i < repo.inner.n; i++)
			BUG_IF(!path_is_within(repo.inner.dirs[i], "/w"));
	static const struct tool_root roots[] = { { -1, { "/w", 2 }, true } };
	struct str hidden = STR("/w/secret");
	const struct denial_jail jail = { .roots = roots, .nroots = COUNT(roots), .cwd = STR("/w/sub"), .hide_paths = { &hidden, 1 },
		.no_namespaces = size & 1, .memory_each = size & 2, .looks = size & 4, .commands = str_head(bytes, size / 2),
		.look = look, .looks_outside = size & 8 };
	const struct job_result job = { .why = JOB_EXITED, .code = 1, .errs = bytes };
	struct denial d;

	if (reader_unpack_denial(bytes, mem, &d, ERR_DISCARD) == 0)
		BUG_IF(d.path.n > DENIAL_PATH_MAX || !utf8_valid(d.path) || denial_has_path(d.rule) != (d.path.n > 0));
	denial_explain(&jail, &job, mem, &d);
	BUG_IF(d.link.n > DENIAL_PATH_MAX || d.grant > d.path.n || (d.link.n > 0 && d.cut) || (d.grant > 0 && d.link.n == 0));
	BUG_IF(d.path.n > DENIAL_PATH_MAX || denial_has_path(d.rule) != (d.path.n > 0) || (d.rule == DENIAL_NONE) != (d.note.n == 0));
	return 0;
}
