/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "sandbox/zygote_priv.h"

#include <fcntl.h>
#include <string.h>

/* What an asker may set on top of the ceiling's environment: nothing that chooses what is run. */
static const char *const env_names[] = { "CI", "COLUMNS", "FORCE_COLOR", "LANG", "LC_ALL", "LINES", "NO_COLOR", "TERM" };

const struct zygote_limit *zygote_limit_of(const struct zygote_spec *s, enum job_class class)
{
	for (size_t i = 0; i < s->nlimits; i++)
		if (s->limits[i].class == class)
			return &s->limits[i];
	return NULL;
}

static bool holds_nul(struct str s)
{
	return s.n > 0 && memchr(s.p, '\0', s.n);
}

static int words(struct arena *mem, const struct str *list, size_t n, const char *what, const char *const **out,
	struct err *err)
{
	const char **p = arena_array(mem, n + 1, sizeof(*p));

	for (size_t i = 0; i < n; i++) {
		if (holds_nul(list[i]))
			return err_set(err, ERR_INVALID, "%s %zu holds a NUL byte", what, i + 1);
		p[i] = str_dupz(mem, list[i]);
	}
	*out = p;
	return 0;
}

static bool env_allowed(struct str kv)
{
	struct str name = str_cut(&kv, '=');

	for (size_t i = 0; i < COUNT(env_names); i++)
		if (str_eqz(name, env_names[i]))
			return true;
	return false;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The ceiling's environment, then what was asked for; of two with one name the later one stays. */
static int make_env(const struct policy_list *base, const struct str *list, size_t n, struct arena *mem,
	const char *const **out, struct err *err)
{
	const char **env = arena_array(mem, base->n + n + 1, sizeof(*env));
	size_t count = 0;

	for (size_t i = 0; i < base->n; i++)
		env[count++] = base->p[i];
	for (size_t i = 0; i < n; i++) {
		const char *kv;
		size_t at = 0;

		if (holds_nul(list[i]) || !env_allowed(list[i]))
			return err_set(err, ERR_INVALID, "the variable \"" STR_FMT "\" may not be set",
				STR_ARG(str_head(list[i], str_find(list[i], STR("=")))));
		kv = str_dupz(mem, list[i]);
		while (at < count && !same_name(kv, env[at]))
			at++;
		env[at] = kv;
		count += at == count;
	}
	*out = env;
	return 0;
}

/* "" or a path below the workspace, relative to it or absolute. */
static int resolve_cwd(const char *workspace, struct str cwd, struct arena *mem, const char **out, struct err *err)
{
	struct str top = str_from(workspace);
	struct str rest;
	bool clean = !holds_nul(cwd) && cwd.n < 4096;

	if (str_starts(cwd, top) && (cwd.n == top.n || cwd.p[top.n] == '/'))
		cwd = str_trim_prefix(str_skip(cwd, top.n), STR("/"));
	if (str_eqz(cwd, "."))
		cwd = STR("");
	clean = clean && !str_starts(cwd, STR("/"));
	for (rest = cwd; rest.n > 0;)
		clean = !str_eqz(str_cut(&rest, '/'), "..") && clean;
	if (!clean)
		return err_set(err, ERR_INVALID, "the directory of a command must be below the workspace %s", workspace);
	*out = cwd.n == 0 ? workspace : str_printf(mem, "%s/" STR_FMT, workspace, STR_ARG(cwd)).p;
	return 0;
}

/* A sealed memfd and nothing else: reading it can neither block nor change under the reader. */
static int take_stdin(struct chan_msg *m, struct request *rq, struct err *err)
{
	if (m->nfds == 0)
		return 0;
	int seals = fcntl(m->fds[0], F_GET_SEALS);

	if (seals < 0 || (seals & (F_SEAL_WRITE | F_SEAL_SHRINK)) != (F_SEAL_WRITE | F_SEAL_SHRINK))
		return err_set(err, ERR_INVALID, "the input of a job must be a sealed memfd");
	rq->in_fd = chan_take_fd(m, 0);
	return lseek(rq->in_fd, 0, SEEK_SET) < 0 ? err_set(err, ERR_INVALID, "the input of a job cannot be read") : 0;
}

/* A job gets what it asks for, never more than its class may have. */
static int apply_limit(const struct zygote_spec *spec, struct request *rq, struct err *err)
{
	const struct zygote_limit *l = zygote_limit_of(spec, rq->class);

	if (!l)
		return err_set(err, ERR_DENIED, "jobs of class %d are not started here", (int)rq->class);
	if (l->timeout_ms > 0 && (rq->timeout_ms == 0 || rq->timeout_ms > l->timeout_ms))
		rq->timeout_ms = l->timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)l->timeout_ms;
	return 0;
}

static void index_words(struct request *rq)
{
	static const char *const argv[] = { "agent6-index", NULL };

	rq->argv = argv;
	rq->own_program = true;
}

int request_read_run(const struct zygote_spec *spec, struct chan_msg *m, struct request *rq, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	size_t argc, envc;

	*rq = (struct request){ .mem = arena_new(), .in_fd = -1 };
	rq->job = unpack_u32(&u);
	rq->class = (enum job_class)unpack_u8(&u);
	rq->timeout_ms = unpack_u32(&u);
	struct str cwd = unpack_str(&u);
	const struct str *argv = unpack_strs(&u, rq->mem, PACK_STRS_MAX, &argc);
	const struct str *env = unpack_strs(&u, rq->mem, PACK_STRS_MAX, &envc);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_RUN does not decode");
	if (spec->kind != ZYGOTE_COMMAND || rq->class < JOB_COMMAND || (rq->class > JOB_INDEX && rq->class != JOB_BACKGROUND))
		return err_set(err, ERR_INVALID, "class %d cannot be asked for here", (int)rq->class);
	if ((argc == 0) != (rq->class == JOB_INDEX))
		return err_set(err, ERR_INVALID, argc == 0 ? "a command needs at least one word"
							   : "the index worker takes no words");
	if (argc > 0 && argv[0].n == 0)
		return err_set(err, ERR_INVALID, "the first word of a command is empty");
	TRY(apply_limit(spec, rq, err));
	TRY(words(rq->mem, argv, argc, "word", &rq->argv, err));
	TRY(make_env(&spec->policy.env, env, envc, rq->mem, &rq->env, err));
	TRY(resolve_cwd(spec->policy.cwd, cwd, rq->mem, &rq->cwd, err));
	/* The operator is shown the words. What comes in on standard input could be a script that nobody saw. */
	if (m->nfds > 0 && zygote_limit_of(spec, rq->class)->ask)
		return err_set(err, ERR_INVALID, "a command that has to be allowed takes no input");
	TRY(take_stdin(m, rq, err));
	if (rq->class == JOB_INDEX)
		index_words(rq);
	return 0;
}

/* What runs was fixed by the ceiling; the asker names its place there. An MCP server stands in its own HOME. */
int request_read_serve(const struct zygote_spec *spec, struct chan_msg *m, struct request *rq, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	const struct policy_list *base = &spec->policy.env;
	size_t n = 0;

	*rq = (struct request){ .mem = arena_new(), .in_fd = -1, .cwd = spec->policy.cwd,
		.class = spec->kind == ZYGOTE_SERVER ? JOB_MCP : JOB_LANGUAGE };
	rq->job = unpack_u32(&u);
	uint8_t at = unpack_u8(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_SERVE does not decode");
	if (at >= spec->nservers)
		return err_set(err, ERR_INVALID, "this cell has no server %d", (int)at);
	TRY(apply_limit(spec, rq, err));
	rq->server = &spec->servers[at];
	rq->argv = rq->server->argv.p;
	const char **env = arena_array(rq->mem, base->n + rq->server->env.n + 1, sizeof(*env));

	for (size_t i = 0; i < base->n + rq->server->env.n; i++) {
		const char *kv = i < base->n ? base->p[i] : rq->server->env.p[i - base->n];
		size_t k = 0;

		while (k < n && !same_name(kv, env[k]))
			k++;
		env[k] = kv;
		n += k == n;
		if (spec->kind == ZYGOTE_SERVER && strncmp(kv, "HOME=", 5) == 0)
			rq->cwd = kv + 5;
	}
	rq->env = env;
	return 0;
}

int request_read_git(const struct zygote_spec *spec, const struct git_place *git, struct chan_msg *m,
	struct request *rq, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	struct zygote_git_request ask = { .has_stdin = m->nfds > 0, .work_tree = spec->policy.cwd,
		.git_dir = spec->git_dir, .common_dir = spec->common_dir, .index = git->index,
		.config = spec->git_config && spec->git_config[0] ? git->config : NULL,
		.run_id = spec->run_id, .may_merge = spec->may_merge };
	struct zygote_words w;
	size_t n = 0, base = 0;

	*rq = (struct request){ .mem = arena_new(), .in_fd = -1, .class = JOB_GIT, .cwd = spec->policy.cwd };
	rq->job = unpack_u32(&u);
	ask.op = unpack_u8(&u);
	ask.args = unpack_strs(&u, rq->mem, PACK_STRS_MAX, &ask.nargs);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_GIT does not decode");
	if (spec->kind != ZYGOTE_GIT)
		return err_set(err, ERR_INVALID, "git does not run in this cell");
	TRY(apply_limit(spec, rq, err));
	TRY(git->words(&ask, rq->mem, &w, err));
	TRY(take_stdin(m, rq, err));
	rq->argv = w.argv;
	rq->leaves = w.leaves;
	while (w.env[base])
		base++;
	const char **env = arena_array(rq->mem, base + spec->policy.env.n + 1, sizeof(*env));

	for (; n < base; n++)
		env[n] = w.env[n];
	for (size_t i = 0; i < spec->policy.env.n; i++)
		env[n++] = spec->policy.env.p[i];
	rq->env = env;
	return 0;
}

void request_fini(struct request *rq)
{
	arena_free(rq->mem);
	base_close_fd(&rq->in_fd);
	*rq = (struct request){ .in_fd = -1 };
}
