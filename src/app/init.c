/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/init.h"

#include "agent/gate.h"
#include "app/owner.h"
#include "config/edit.h"
#include "fmt/json.h"
#include "fmt/pack.h"
#include "fmt/shellword.h"
#include "sandbox/caps.h"
#include "sandbox/confine.h"
#include "sandbox/toolpath.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX   ((size_t)4 * 1024 * 1024)
#define ANSWER_MAX ((size_t)64 * 1024)
#define WORDS_MAX  64

const char *const init_ecosystems[] = { "py", "rust", "node", NULL };

/* Files that should never be committed, wherever; then what each ecosystem makes. */
static const char *const ignore[4][6] = {
	[INIT_OTHER] = { ".env", ".env.*", ".envrc", "secrets/", "*.pem", "*.key" },
	[INIT_PY] = { "__pycache__/", "*.pyc", ".pytest_cache/" },
	[INIT_RUST] = { "target/" },
	[INIT_NODE] = { "node_modules/" },
};

static const struct {
	const char *file;
	enum init_ecosystem what;
} marks[] = {
	{ "Cargo.toml", INIT_RUST }, { "package.json", INIT_NODE }, { "pyproject.toml", INIT_PY }, { "setup.py", INIT_PY },
	{ "requirements.txt", INIT_PY },
};

struct work {
	const struct place *place;
	struct arena *mem;
	struct init_done *done;
	int root;
	bool in_agents; /* AGENTS.md tells the verify command already */
};

static void note(struct work *w, struct str text)
{
	struct str *bigger = arena_array(w->mem, w->done->notes.n + 1, sizeof(*bigger));

	if (w->done->notes.n > 0)
		memcpy(bigger, w->done->notes.p, w->done->notes.n * sizeof(*bigger));
	bigger[w->done->notes.n++] = text;
	w->done->notes.p = bigger;
}

static enum init_ecosystem find_ecosystem(int root)
{
	for (size_t i = 0; i < COUNT(marks); i++)
		if (faccessat(root, marks[i].file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return marks[i].what;
	return INIT_OTHER;
}

/* What the file holds and its mode; an absent one is empty. False, with a note, when it is nothing we add to. */
static bool read_own(struct work *w, const char *name, struct buf *out, mode_t *mode)
{
	autoclose int fd = file_openat2(w->root, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	struct err why = { 0 };
	struct stat st;

	*mode = 0644;
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0 && errno == EACCES) {
		note(w, str_printf(w->mem, "%s is left alone: this user may not read it", name));
		return false;
	}
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || file_read_fd(fd, out, &why) < 0) {
		note(w, str_printf(w->mem, "%s is left alone: it is no regular file of this directory, or larger than %zu MiB", name,
				FILE_MAX >> 20));
		return false;
	}
	*mode = st.st_mode & 07777;
	return true;
}

static bool has_line(struct str text, struct str line)
{
	while (text.n > 0)
		if (str_eq(str_trim(str_cut(&text, '\n')), line))
			return true;
	return false;
}

static int add_ignored(struct work *w, enum init_ecosystem ecosystem, struct err *err)
{
	const enum init_ecosystem which[] = { INIT_OTHER, ecosystem };
	auto_buf struct buf text = BUF_MAX(FILE_MAX);
	mode_t mode;

	if (!read_own(w, ".gitignore", &text, &mode))
		return 0;
	if (text.n > 0 && text.p[text.n - 1] != '\n')
		TRY(buf_addc(&text, '\n', err));
	for (size_t k = 0; k < (ecosystem == INIT_OTHER ? 1 : COUNT(which)); k++)
		for (size_t i = 0; i < COUNT(ignore[0]) && ignore[which[k]][i]; i++) {
			if (has_line(buf_str(&text), str_from(ignore[which[k]][i])))
				continue;
			TRY(buf_addf(&text, err, "%s\n", ignore[which[k]][i]));
			w->done->ignored++;
		}
	return w->done->ignored > 0 ? file_replace(w->root, ".gitignore", buf_str(&text), mode, err) : 0;
}

static struct str toml_list(struct arena *mem, const struct str_list *list, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);
	int r = buf_addc(&b, '[', err);

	for (size_t i = 0; i < list->n && r == 0; i++) {
		r = i > 0 ? buf_addz(&b, ", ", err) : 0;
		r = r < 0 ? r : json_add_quoted(&b, list->p[i], err);
	}
	return r < 0 || buf_addc(&b, ']', err) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

/* In the child: reads the repository's files and can write nothing but its answer. */
static int infer_and_tell(int root, const struct str_list *path, struct arena *mem, int answer, struct err *err)
{
	const struct ll_rule rules[] = { { .kind = LL_FD, .fd = root, .access = LL_RO } };
	auto_buf struct buf b = BUF_MAX(ANSWER_MAX);
	struct gate_found found;

	TRY(caps_become_owner(root, err));
	TRY(confine_self(SECCOMP_VIEW, rules, COUNT(rules), err));
	gate_infer(root, path, mem, &found); /* AGENTS.md is looked at first */
	pack_strs(&b, found.command.p, found.command.n);
	pack_str(&b, str_from(found.source));
	TRY(pack_ok(&b, err));
	return file_write_fd(answer, buf_str(&b), err);
}

static bool is_text(struct str s)
{
	return utf8_valid(s) && !memchr(s.p ? s.p : "", '\0', s.n);
}

static int take_inferred(struct work *w, struct str bytes, struct gate_found *out, struct err *err)
{
	struct unpack u = unpack_from(str_dup(w->mem, bytes));
	struct str_list words = { 0 };
	struct str source;
	bool ok;

	words.p = unpack_strs(&u, w->mem, WORDS_MAX, &words.n);
	source = unpack_str(&u);
	ok = unpack_done(&u) && is_text(source);
	for (size_t i = 0; ok && i < words.n; i++)
		ok = is_text(words.p[i]);
	if (!ok)
		return err_set(err, ERR_SYS, "the verify command could not be looked for: the process that looks died");
	*out = (struct gate_found){ words, str_dupz(w->mem, source) };
	return 0;
}

static int infer(struct work *w, const struct str_list *path, struct gate_found *out, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(ANSWER_MAX);
	struct proc_status st;
	struct proc child;
	int pair[2], r;

	TRY(landlock_needed(err)); /* the child would die of it */
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int from = pair[0], to = pair[1];
	TRY(r = proc_fork(&child, err));
	if (r == 1)
		_exit(infer_and_tell(w->root, path, w->mem, to, err) < 0);
	base_close_fd(&to);
	r = file_read_fd(from, &bytes, err);
	TRY(proc_wait(&child, &st, err));
	return r < 0 ? r : take_inferred(w, buf_str(&bytes), out, err);
}

/* Before this process confines itself: it writes the configuration, and reads nothing of the repository. */
static int set_verify(struct work *w, const struct config *c, const struct str_list *path, struct err *err)
{
	struct config_edited edited;
	struct gate_found found;

	TRY(infer(w, path, &found, err));
	w->in_agents = str_eqz(str_from(found.source), "agents_md");
	if (c->workflow.verify_command.n > 0) {
		w->done->verify = c->workflow.verify_command;
		w->done->verify_from = "configured";
		return 0;
	}
	w->done->verify = found.command;
	w->done->verify_from = found.source;
	if (found.command.n == 0)
		return 0;
	const struct config_change change = { CONFIG_SET, CONFIG_REPO, STR("workflow.verify_command"),
		toml_list(w->mem, &found.command, err) };
	if (change.value.n == 0)
		return -(int)err->code;
	TRY(config_edit(&w->place->files, &change, 1, w->mem, &edited, err));
	w->done->verify_set = edited.changed;
	return 0;
}

static int add_agents(struct work *w, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(FILE_MAX);
	mode_t mode;

	if (w->in_agents || !read_own(w, "AGENTS.md", &text, &mode))
		return 0;
	w->done->agents_made = text.n == 0;
	w->done->agents_added = w->done->verify.n > 0;
	if (!w->done->agents_made && !w->done->agents_added)
		return 0;
	if (w->done->agents_made)
		TRY(buf_addz(&text, "# Notes for agents\n\nWhat this project is, how it is built, and what to leave alone.\n", err));
	else if (text.p[text.n - 1] != '\n')
		TRY(buf_addc(&text, '\n', err));
	if (w->done->agents_added) {
		TRY(buf_addz(&text, "\n## Verify\n\n```sh\n", err));
		for (size_t i = 0; i < w->done->verify.n; i++) {
			TRY(buf_addz(&text, i > 0 ? " " : "", err));
			TRY(shellword_add(&text, w->done->verify.p[i], err));
		}
		TRY(buf_addz(&text, "\n```\n", err));
	}
	return file_replace(w->root, "AGENTS.md", buf_str(&text), mode, err);
}

/* From here on lines of the repository's files are read, and only they can be changed. */
static int confine(const struct work *w, struct err *err)
{
	const struct ll_rule rules[] = { { .kind = LL_FD, .fd = w->root, .access = LL_RW } };

	TRY(caps_become_owner(w->root, err)); /* the files shall be theirs whose the repository is, too */
	return confine_self(SECCOMP_RECORDER, rules, COUNT(rules), err);
}

static int add_files(struct work *w, enum init_ecosystem ecosystem, struct err *err)
{
	TRY(add_ignored(w, ecosystem == INIT_OTHER ? find_ecosystem(w->root) : ecosystem, err));
	return add_agents(w, err);
}

/* A repository that this user trusts need not be theirs to write. */
static void say_whose(int root, struct err *err)
{
	struct stat st;

	if ((err->sys == EACCES || err->sys == EPERM) && fstat(root, &st) == 0)
		err_hint(err, "agent6 init adds to .gitignore and AGENTS.md: run it as user %u, whose directory that is, or as one who may write there",
			(unsigned)st.st_uid);
}

int app_init(const struct place *place, enum init_ecosystem ecosystem, struct arena *mem, struct init_done *out,
	struct err *err)
{
	struct toolpath_ask ask = { .home = place->paths.home, .env = (const char *const *)environ };
	struct config *c = arena_alloc(mem, sizeof(*c));
	autoclose int root = -1;
	struct work w = { .place = place, .mem = mem, .done = out };
	struct toolpath found;
	struct str_list path = { 0 };

	*out = (struct init_done){ 0 };
	TRY(config_load(&place->files, mem, c, err));
	TRY(owner_check_place(place, c, mem, err));
	TRY(toolpath_derive(&ask, mem, &found, err));
	path.p = arena_array(mem, 256, sizeof(*path.p));
	for (struct str rest = str_from(found.path); rest.n > 0 && path.n < 256;)
		path.p[path.n++] = str_cut(&rest, ':');
	TRY(dir_make(place->repo_dir, 0700, err));
	TRY(dir_open(AT_FDCWD, place->workspace, &root, err));
	w.root = root;
	TRY(set_verify(&w, c, &path, err));
	TRY(confine(&w, err));
	int r = add_files(&w, ecosystem, err);

	if (r < 0)
		say_whose(root, err);
	return r;
}
