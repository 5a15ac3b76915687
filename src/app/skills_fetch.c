/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/skills_fetch.h"

#include "app/egress.h"
#include "app/profile.h"
#include "fmt/json.h"
#include "sandbox/policy.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FETCH_MS    30000
#define CLONE_S     120
#define RESULT_MAX  ((size_t)4 * 1024 * 1024)
#define ENTRIES_MAX 2000

void skills_fetched_fini(struct skills_fetched *f)
{
	for (size_t i = 0; i < f->n; i++)
		close(f->p[i].dirfd);
	if (f->scratch && dir_remove_tree(AT_FDCWD, f->scratch, ERR_DISCARD) == 0)
		f->scratch = NULL;
}

static void add(struct skills_fetched *f, struct arena *mem, struct str name, int fd)
{
	if (!f->p)
		f->p = arena_array(mem, SKILLS_MAX, sizeof(*f->p));
	f->p[f->n++] = (struct skill_source){ str_dup(mem, name), fd };
}

static bool has_skill(int dirfd)
{
	return faccessat(dirfd, "SKILL.md", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directory itself, or the ones below its skills/. A link in a checkout leads nowhere. */
static int look_in(int dirfd, struct str name, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	const uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	autoclose int skills = -1;
	struct dir_entry *e;
	size_t n;

	if (has_skill(dirfd)) {
		int own = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);

		if (own < 0)
			return err_sys(err, errno, "dup");
		add(out, mem, name, own);
		return 0;
	}
	skills = file_openat2(dirfd, "skills", flags, 0, beneath);
	if (skills < 0)
		return err_set(err, ERR_NOENT, STR_FMT ": there is neither a SKILL.md nor a directory skills/ in it", STR_ARG(name));
	TRY(dir_list(skills, mem, ENTRIES_MAX, &e, &n, err));
	for (size_t i = 0; i < n && out->n < SKILLS_MAX; i++) {
		int sub = skill_name_ok(e[i].name) ? file_openat2(skills, str_dupz(mem, e[i].name), flags, 0, beneath) : -1;

		if (sub >= 0 && has_skill(sub))
			add(out, mem, e[i].name, sub);
		else if (sub >= 0)
			close(sub);
	}
	return out->n > 0 ? 0 : err_set(err, ERR_NOENT, STR_FMT ": no directory below skills/ has a SKILL.md", STR_ARG(name));
}

static struct str last_part(struct str path)
{
	path = str_trim_suffix(path, STR("/"));
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

static int open_and_look(const char *dir, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	autoclose int fd = -1;

	TRY(dir_open(AT_FDCWD, dir, &fd, err));
	return look_in(fd, last_part(str_from(dir)), mem, out, err);
}

static int from_path(struct str source, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	autofree char *real = realpath(str_dupz(mem, source), NULL);

	if (!real)
		return err_sys(err, errno, STR_FMT, STR_ARG(source));
	if (str_ends(str_from(real), STR("/SKILL.md")))
		*strrchr(real, '/') = '\0';
	out->origin = str_dup(mem, str_from(real));
	return open_and_look(real, mem, out, err);
}

static int make_scratch(struct arena *mem, struct skills_fetched *out, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = str_dupz(mem, str_printf(mem, "%s/agent6-skills-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp"));

	if (!mkdtemp(dir))
		return err_sys(err, errno, "make %s", dir);
	out->scratch = dir;
	return 0;
}

/* ------------------------------------------------------------------ one file, through the client */

static int get(struct str url, const struct skills_how *how, struct arena *mem, struct buf *text, struct err *err)
{
	auto_programs struct programs programs = PROGRAMS_NONE;
	struct egress_reply reply = { 0 };
	struct endpoint e;

	endpoint_init(&e);
	TRY(endpoint_set_url(&e, url, mem, err));
	e.name = STR("skills");
	e.auth = AUTH_NONE;
	e.key_from = KEY_NONE;
	e.ca_file = how->ca_file;
	e.models_path = e.prefix;
	e.prefix = STR("");
	TRY(programs_open(&programs, err));
	TRY(egress_get(&programs, &e, ROUTE_MODELS, STR(""), -1, FETCH_MS, text, &reply, err));
	if (reply.status == 200)
		return 0;
	return err_set(err, ERR_REMOTE, "the server answered HTTP %d%s", reply.status,
		reply.status / 100 == 3 ? ", a redirect, which is not followed: name the address it leads to" : "");
}

static int from_file_url(struct str url, const struct skills_how *how, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(SKILL_FILE_MAX);
	struct str dir = str_head(url, str_rfind(url, '/')), name = last_part(dir);
	autoclose int fd = -1;

	TRY(get(url, how, mem, &text, err));
	TRY(make_scratch(mem, out, err));
	if (!skill_name_ok(name))
		return err_set(err, ERR_INVALID, "the skill's name comes from the directory before SKILL.md, and \"" STR_FMT "\" is none",
			STR_ARG(str_head(name, 80)));
	const char *path = str_printf(mem, "%s/" STR_FMT, out->scratch, STR_ARG(name)).p;
	TRY(dir_make(path, 0700, err));
	TRY(dir_open(AT_FDCWD, path, &fd, err));
	TRY(file_replace(fd, "SKILL.md", buf_str(&text), 0600, err));
	return look_in(fd, name, mem, out, err);
}

/* ------------------------------------------------------------------ a repository, by git in a jail */

static int clone_policy(struct str url, struct str name, const struct skills_how *how, struct arena *mem, struct skills_fetched *f,
	struct buf *out, struct err *err)
{
	const enum probe_wish wish = how->wish;
	const struct str ca = how->ca_file.n > 0 ? str_printf(mem, "http.sslCAInfo=" STR_FMT, STR_ARG(how->ca_file)) : STR("http.sslVerify=true");
	const struct str argv[] = { STR("git"), STR("-c"), STR("protocol.allow=never"), STR("-c"), STR("protocol.https.allow=always"),
		STR("-c"), STR("http.followRedirects=false"), STR("-c"), ca,
		STR("clone"), STR("--quiet"), STR("--depth"), STR("1"), STR("--no-tags"), STR("--"), url, name };
	auto_buf struct buf notice = BUF_MAX(1024);
	enum policy_profile profile;
	struct probe host;

	TRY(profile_probe(&host, err));
	/* Whoever lets the model's commands run unconfined did not mean a server's bytes. */
	TRY(probe_resolve(&host, wish == WISH_NONE ? WISH_AUTO : wish, &profile, &notice, err));
	f->notice = str_dup(mem, buf_str(&notice));
	TRY(buf_addf(out, err, "{\"profile\":\"%s\",\"network\":\"host\",\"timeout_s\":%d,\"env\":[[\"PATH\",\"/usr/local/bin:/usr/bin:/bin\"],"
			       "[\"HOME\",\"/tmp\"],[\"GIT_TERMINAL_PROMPT\",\"0\"],[\"GIT_CONFIG_NOSYSTEM\",\"1\"]]",
		policy_profile_name(profile), CLONE_S));
	TRY(json_add_member(out, "cwd", str_from(f->scratch), err));
	if (how->ca_file.n > 0) {
		TRY(buf_addz(out, ",\"extra_ro_paths\":[", err));
		TRY(json_add_quoted(out, how->ca_file, err));
		TRY(buf_addz(out, "]", err));
	}
	TRY(buf_addz(out, ",\"argv\":[", err));
	for (size_t i = 0; i < COUNT(argv); i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, argv[i], err));
	}
	return buf_addz(out, "]}", err);
}

/* What git said is the server's text in part: its last line, without what a terminal would obey. */
static int clone_failed(struct str result, struct err *err)
{
	auto_json json_t *j = NULL;
	struct str said, line;

	if (json_decode(result, JSON_EXACT, &j, ERR_DISCARD) < 0)
		return err_set(err, ERR_SYS, "agent6-jail gave no result");
	if (json_integer_value(json_object_get(j, "returncode")) == 0 && json_is_integer(json_object_get(j, "returncode")))
		return 0;
	said = str_trim(json_get_str(j, "stderr"));
	line = str_skip(said, str_rfind(said, '\n') < said.n ? str_rfind(said, '\n') + 1 : 0);
	return err_set(err, ERR_REMOTE, "git could not clone it: " STR_FMT, STR_ARG(str_head(line, 200)));
}

/* What git left is a server's work: the name must be a directory and no link. */
static int look_in_clone(const char *scratch, struct str name, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	autoclose int top = -1, fd = -1;

	TRY(dir_open(AT_FDCWD, scratch, &top, err));
	fd = openat(top, str_dupz(mem, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open the clone of " STR_FMT, STR_ARG(name));
	return look_in(fd, name, mem, out, err);
}

static int from_git(struct str url, const struct skills_how *how, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	auto_programs struct programs programs = PROGRAMS_NONE;
	auto_buf struct buf policy = BUF_MAX(16 * 1024), result = BUF_MAX(RESULT_MAX), said = BUF_MAX(4096);
	struct str name = str_trim_suffix(last_part(url), STR(".git"));
	const char *const argv[] = { "agent6-jail", NULL };
	struct proc_status st;

	if (!skill_name_ok(name))
		return err_set(err, ERR_INVALID, STR_FMT ": the last part of the address is no name of a skill", STR_ARG(str_head(url, 200)));
	struct str host = str_skip(url, strlen("https://"));
	if (str_find(str_head(host, str_find(host, STR("/"))), STR("@")) < str_find(host, STR("/")))
		return err_set(err, ERR_INVALID, "an address with a name or a password in it is not fetched: it would be kept to fetch it again");
	TRY(make_scratch(mem, out, err));
	TRY(programs_open(&programs, err));
	TRY(clone_policy(url, name, how, mem, out, &policy, err));
	TRY(proc_run(&(struct proc_spec){ .argv = argv, .exe_fd = programs.jail }, buf_str(&policy), (CLONE_S + 10) * 1000, &result,
		&said, &st, err));
	if (st.code != 0)
		return err_set(err, ERR_SYS, "agent6-jail: " STR_FMT, STR_ARG(str_head(str_trim(buf_str(&said)), 300)));
	TRY(clone_failed(buf_str(&result), err));
	return look_in_clone(out->scratch, name, mem, out, err);
}

int skills_fetch(struct str source, const struct skills_how *how, struct arena *mem, struct skills_fetched *out, struct err *err)
{
	struct str colon = str_skip(source, str_find(source, STR("://")));
	int r;

	*out = (struct skills_fetched){ .origin = source };
	if (str_starts(source, STR("https://")))
		r = str_ends(source, STR("/SKILL.md")) ? from_file_url(source, how, mem, out, err) : from_git(source, how, mem, out, err);
	else if (colon.n > 0 || (str_find(source, STR("@")) < source.n && str_find(source, STR(":")) < source.n)) {
		r = err_set(err, ERR_INVALID, STR_FMT ": skills are fetched by https only", STR_ARG(str_head(source, 200)));
		err_hint(err, "clone it yourself and name the directory");
	} else
		r = from_path(source, mem, out, err);
	if (r < 0) {
		skills_fetched_fini(out);
		*out = (struct skills_fetched){ 0 };
	}
	return r;
}
