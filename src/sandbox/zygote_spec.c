/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jsonr.h"
#include "sandbox/newgit.h"
#include "sandbox/zygote.h"
#include "sys/file.h"

#include <string.h>

/* Two lines: what is ours, then the policy. */

#define WORDS_MAX      256
#define TIMEOUT_MS_MAX (10000000LL * 1000)
#define MEMORY_MB_MAX  (1 << 24)

static const char *const kind_words[] = { [ZYGOTE_COMMAND] = "command", [ZYGOTE_GIT] = "git", [ZYGOTE_SERVER] = "server" };

static int encode_limits(const struct zygote_spec *s, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "\"limits\":[", err));
	for (size_t i = 0; i < s->nlimits; i++)
		TRY(buf_addf(out, err, "%s{\"class\":%d,\"timeout_ms\":%lld,\"ask\":%s}", i > 0 ? "," : "",
			(int)s->limits[i].class, (long long)s->limits[i].timeout_ms,
			s->limits[i].ask ? "true" : "false"));
	return buf_addz(out, "]", err);
}

static int encode_list(const char *key, const struct policy_list *l, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, ",\"%s\":[", key));
	for (size_t i = 0; i < l->n; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(jsonw_quoted(out, str_from(l->p[i]), err));
	}
	return buf_addz(out, "]", err);
}

static int encode_servers(const struct zygote_spec *s, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, ",\"servers\":[", err));
	for (size_t i = 0; i < s->nservers; i++) {
		const struct zygote_server *v = &s->servers[i];

		TRY(buf_addf(out, err, "%s{\"composed\":%s,\"ask\":%s,\"name\":", i > 0 ? "," : "", v->composed ? "true" : "false",
			v->ask ? "true" : "false"));
		TRY(jsonw_quoted(out, str_from(v->name), err));
		TRY(encode_list("argv", &v->argv, out, err));
		TRY(encode_list("env", &v->env, out, err));
		TRY(encode_list("tools", &v->tools, out, err));
		TRY(buf_addz(out, "}", err));
	}
	return buf_addz(out, "]", err);
}

int zygote_spec_encode(const struct zygote_spec *s, struct buf *out, struct err *err)
{
	const struct {
		const char *key, *value;
	} texts[] = { { "git_dir", s->git_dir }, { "common_dir", s->common_dir }, { "run_id", s->run_id },
		{ "git_config", s->git_config ? s->git_config : "" } };

	BUG_IF(s->nlimits > COUNT(s->limits) || s->nservers > COUNT(s->servers));
	TRY(buf_addf(out, err, "{\"kind\":\"%s\",\"may_merge\":%s,\"memory_max_mb\":%lld,", kind_words[s->kind],
		s->may_merge ? "true" : "false", (long long)s->memory_max_mb));
	for (size_t i = 0; i < COUNT(texts); i++) {
		TRY(buf_addf(out, err, "\"%s\":", texts[i].key));
		TRY(jsonw_quoted(out, str_from(texts[i].value), err));
		TRY(buf_addz(out, ",", err));
	}
	TRY(encode_limits(s, out, err));
	TRY(encode_list("no_git", &s->no_git, out, err));
	TRY(encode_list("inner_git", &s->inner_git, out, err));
	TRY(encode_servers(s, out, err));
	TRY(buf_addz(out, "}\n", err));
	return policy_encode(&s->policy, out, err);
}

static int decode_limit(struct jsonr *r, struct zygote_limit *l)
{
	int64_t class = 0;
	struct str key;

	TRY(jsonr_object(r));
	while (jsonr_key(r, &key) > 0)
		if (str_eqz(key, "class"))
			TRY(jsonr_int(r, &class));
		else if (str_eqz(key, "timeout_ms"))
			TRY(jsonr_int(r, &l->timeout_ms));
		else if (str_eqz(key, "ask"))
			TRY(jsonr_bool(r, &l->ask));
		else
			return jsonr_fail(r, ERR_INVALID, "\"" STR_FMT "\" is not a field of a limit", STR_ARG(key));
	if (r->failed)
		return r->failed;
	if (class < JOB_COMMAND || class > JOB_MCP || class == JOB_AGENT)
		return jsonr_fail(r, ERR_INVALID, "class must be %d to %d, and not %d", JOB_COMMAND, JOB_MCP, JOB_AGENT);
	if (l->timeout_ms < 0 || l->timeout_ms > TIMEOUT_MS_MAX)
		return jsonr_fail(r, ERR_INVALID, "timeout_ms must be 0 to %lld", TIMEOUT_MS_MAX);
	l->class = (enum job_class)class;
	return 0;
}

static int decode_limits(struct jsonr *r, struct zygote_spec *s)
{
	TRY(jsonr_array(r));
	while (jsonr_item(r) > 0) {
		if (s->nlimits >= COUNT(s->limits))
			return jsonr_fail(r, ERR_LIMIT, "at most %zu limits", COUNT(s->limits));
		TRY(decode_limit(r, &s->limits[s->nlimits++]));
	}
	return r->failed;
}

static int decode_paths(struct jsonr *r, const char *key, struct policy_list *l)
{
	struct str dir;

	TRY(jsonr_array(r));
	while (jsonr_item(r) > 0) {
		TRY(jsonr_string(r, &dir));
		if (!path_is_clean(dir) || l->n >= NEWGIT_DIRS_MAX)
			return jsonr_fail(r, ERR_INVALID, "%s must be at most %d absolute paths without \"..\"", key,
				NEWGIT_DIRS_MAX);
		policy_list_add(l, r->mem, dir.p);
	}
	return r->failed;
}

static int decode_kind(struct jsonr *r, enum zygote_kind *kind)
{
	struct str word;

	TRY(jsonr_string(r, &word));
	for (size_t i = 0; i < COUNT(kind_words); i++)
		if (str_eqz(word, kind_words[i])) {
			*kind = (enum zygote_kind)i;
			return 0;
		}
	return jsonr_fail(r, ERR_INVALID, "kind must be \"command\", \"git\" or \"server\"");
}

static int decode_words(struct jsonr *r, struct policy_list *to)
{
	struct str word;

	TRY(jsonr_array(r));
	while (jsonr_item(r) > 0) {
		TRY(jsonr_string(r, &word));
		if (to->n >= WORDS_MAX)
			return jsonr_fail(r, ERR_LIMIT, "a server has at most %d words, variables and tools", WORDS_MAX);
		policy_list_add(to, r->mem, word.p);
	}
	return r->failed;
}

static int decode_server(struct jsonr *r, struct zygote_server *s)
{
	struct str key, name;

	TRY(jsonr_object(r));
	while (jsonr_key(r, &key) > 0)
		if (str_eqz(key, "name")) {
			TRY(jsonr_string(r, &name));
			s->name = name.p;
		} else if (str_eqz(key, "argv"))
			TRY(decode_words(r, &s->argv));
		else if (str_eqz(key, "env"))
			TRY(decode_words(r, &s->env));
		else if (str_eqz(key, "tools"))
			TRY(decode_words(r, &s->tools));
		else if (str_eqz(key, "composed"))
			TRY(jsonr_bool(r, &s->composed));
		else if (str_eqz(key, "ask"))
			TRY(jsonr_bool(r, &s->ask));
		else
			return jsonr_fail(r, ERR_INVALID, "\"" STR_FMT "\" is not a field of a server", STR_ARG(key));
	if (r->failed)
		return r->failed;
	if (!s->name || s->argv.n == 0 || s->argv.p[0][0] == '\0')
		return jsonr_fail(r, ERR_INVALID, "a server needs a name and a program");
	if ((s->ask || s->tools.n > 0) && !s->composed)
		return jsonr_fail(r, ERR_INVALID, "what a server is told can only be asked about, or limited, where it is composed");
	return 0;
}

static int decode_servers(struct jsonr *r, struct zygote_spec *s)
{
	TRY(jsonr_array(r));
	while (jsonr_item(r) > 0) {
		if (s->nservers >= COUNT(s->servers))
			return jsonr_fail(r, ERR_LIMIT, "at most %zu servers", COUNT(s->servers));
		TRY(decode_server(r, &s->servers[s->nservers++]));
	}
	return r->failed;
}

static int decode_text(struct jsonr *r, const char **to)
{
	struct str s;

	TRY(jsonr_string(r, &s));
	*to = s.p;
	return 0;
}

static int decode_head(struct jsonr *r, struct zygote_spec *s)
{
	struct str key;

	TRY(jsonr_object(r));
	while (jsonr_key(r, &key) > 0)
		if (str_eqz(key, "kind"))
			TRY(decode_kind(r, &s->kind));
		else if (str_eqz(key, "may_merge"))
			TRY(jsonr_bool(r, &s->may_merge));
		else if (str_eqz(key, "memory_max_mb"))
			TRY(jsonr_int(r, &s->memory_max_mb));
		else if (str_eqz(key, "git_dir"))
			TRY(decode_text(r, &s->git_dir));
		else if (str_eqz(key, "common_dir"))
			TRY(decode_text(r, &s->common_dir));
		else if (str_eqz(key, "run_id"))
			TRY(decode_text(r, &s->run_id));
		else if (str_eqz(key, "git_config"))
			TRY(decode_text(r, &s->git_config));
		else if (str_eqz(key, "limits"))
			TRY(decode_limits(r, s));
		else if (str_eqz(key, "no_git"))
			TRY(decode_paths(r, "no_git", &s->no_git));
		else if (str_eqz(key, "inner_git"))
			TRY(decode_paths(r, "inner_git", &s->inner_git));
		else if (str_eqz(key, "servers"))
			TRY(decode_servers(r, s));
		else
			return jsonr_fail(r, ERR_INVALID, "\"" STR_FMT "\" is not a field of a cell", STR_ARG(key));
	return jsonr_end(r);
}

static bool run_id_ok(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return id[n] == '\0' && n <= 64;
}

/* granted: what else may hold it; or NULL. */
static int check_inside(const char *key, const struct policy_list *l, const char *workspace, const struct policy_list *granted,
	struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		bool inside = path_is_within(l->p[i], workspace);

		for (size_t k = 0; granted && k < granted->n; k++)
			inside |= path_is_within(l->p[i], granted->p[k]);
		if (!inside)
			return err_set(err, ERR_INVALID, "cell: %s: %s is not in the workspace%s", key, l->p[i],
				granted ? ", nor granted for writing" : "");
	}
	return 0;
}

int zygote_spec_decode(struct str text, struct arena *mem, struct zygote_spec *out, struct err *err)
{
	struct jsonr *r = arena_alloc(mem, sizeof(*r));
	struct zygote_spec s = { .git_dir = "", .common_dir = "", .run_id = "", .git_config = "" };

	jsonr_init(r, str_line(&text), POLICY_BYTES_MAX, mem, err);
	if (decode_head(r, &s) < 0)
		return err_wrap(err, "cell");
	if (policy_decode(text, POLICY_CELL, mem, &s.policy, err) < 0)
		return err_wrap(err, "cell policy");
	if (s.kind == ZYGOTE_GIT && (s.git_dir[0] != '/' || s.common_dir[0] != '/'))
		return err_set(err, ERR_INVALID, "cell: git_dir and common_dir must be absolute paths");
	if (s.kind != ZYGOTE_GIT && (s.git_dir[0] != s.common_dir[0] || (s.git_dir[0] != '\0' && s.git_dir[0] != '/')))
		return err_set(err, ERR_INVALID, "cell: git_dir and common_dir must be absolute paths, or both empty");
	if (s.memory_max_mb < 0 || s.memory_max_mb > MEMORY_MB_MAX)
		return err_set(err, ERR_INVALID, "cell: memory_max_mb must be 0 to %d", MEMORY_MB_MAX);
	if (!run_id_ok(s.run_id))
		return err_set(err, ERR_INVALID, "cell: run_id must be letters, digits, '-' and '_'");
	if ((s.kind == ZYGOTE_GIT) != s.policy.git_cell)
		return err_set(err, ERR_INVALID, "cell: kind and git_cell disagree");
	if ((s.kind == ZYGOTE_SERVER) != s.policy.bare || (s.kind == ZYGOTE_GIT && s.nservers > 0))
		return err_set(err, ERR_INVALID, "cell: kind and bare disagree, or servers in a git cell");
	TRY(check_inside("no_git", &s.no_git, s.policy.cwd, NULL, err));
	TRY(check_inside("inner_git", &s.inner_git, s.policy.cwd, &s.policy.extra_rw_paths, err));
	*out = s;
	return 0;
}
