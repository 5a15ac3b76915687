/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/command.h"

#include "app/place.h"
#include "app/servers.h"
#include "config/edit.h"
#include "fmt/endpoint.h"
#include "fmt/json.h"
#include "fmt/mcp.h"
#include "sys/file.h"
#include "sys/term.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ABOUT_MAX  160
#define JSON_MAX   ((size_t)16 * 1024 * 1024)
#define KEYS_MAX   8

/* What a server says of itself, on one line. */
static struct str clean(struct arena *mem, struct str s, size_t max)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, utf8_head(s, max)), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static struct str why_not(struct arena *mem, const struct found_server *f)
{
	struct str why = clean(mem, f->why.n > 0 ? f->why : STR("it is not there"), 600);

	if (f->stderr_tail.n == 0)
		return why;
	return str_printf(mem, STR_FMT "; its last words: " STR_FMT, STR_ARG(why), STR_ARG(clean(mem, str_tail(f->stderr_tail, 300), 300)));
}

static void show(struct arena *mem, const struct server_view *v)
{
	const struct found_server *f = &v->found;

	if (!v->looked || !f->ready) {
		cli_out(STR_FMT "  %s" STR_FMT "\n", STR_ARG(v->config->name), v->looked ? "not there: " : "", STR_ARG(why_not(mem, f)));
		return;
	}
	cli_out(STR_FMT "  ready, %zu tools, protocol " STR_FMT ", %s\n", STR_ARG(v->config->name), f->ntools,
		STR_ARG(clean(mem, f->protocol, 40)), v->asks ? "each call is asked about" : "calls are made without a question");
	for (size_t i = 0; i < f->ntools; i++)
		cli_out("  " STR_FMT "  " STR_FMT "\n", STR_ARG(clean(mem, f->tools[i].shown, 80)), STR_ARG(clean(mem, f->tools[i].help, ABOUT_MAX)));
	for (size_t i = 0; i < f->left_out.n; i++)
		cli_out("  left out: " STR_FMT "\n", STR_ARG(clean(mem, f->left_out.p[i], 300)));
}

static void say_notices(const struct server_views *views)
{
	for (size_t i = 0; i < views->notices.n; i++)
		cli_note(STR_FMT, STR_ARG(views->notices.p[i]));
}

/* ------------------------------------------------------------------ mcp list */

struct list_args {
	bool json;
};

static const struct field list_fields[] = {
	{ "json", &field_bool, offsetof(struct list_args, json), .help = "Print JSON." },
};

static int add_json(struct arena *mem, const struct server_view *v, struct buf *b, struct err *err)
{
	const struct found_server *f = &v->found;

	TRY(buf_addc(b, '{', err));
	TRY(json_add_member(b, "name", v->config->name, err));
	TRY(json_add_member(b, "status", f->ready ? STR("ready") : v->looked ? STR("not there") : STR("not started"), err));
	TRY(json_add_member(b, "approval", str_from(config_word("approval", v->config->approval)), err));
	if (f->ready)
		TRY(json_add_member(b, "protocol", f->protocol, err));
	else
		TRY(json_add_member(b, "error", why_not(mem, f), err));
	TRY(buf_addz(b, ",\"tools\":[", err));
	for (size_t i = 0; i < f->ntools; i++) {
		TRY(buf_addz(b, i > 0 ? ",{" : "{", err));
		TRY(json_add_member(b, "name", f->tools[i].name, err));
		TRY(json_add_member(b, "as", f->tools[i].shown, err));
		TRY(json_add_member(b, "description", f->tools[i].help, err));
		TRY(buf_addc(b, '}', err));
	}
	TRY(buf_addz(b, "],\"left_out\":[", err));
	for (size_t i = 0; i < f->left_out.n; i++) {
		TRY(buf_addz(b, i > 0 ? "," : "", err));
		TRY(json_add_quoted(b, f->left_out.p[i], err));
	}
	return buf_addz(b, "]}", err);
}

static int run_list(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct list_args *args = decoded;
	auto_buf struct buf b = BUF_MAX(JSON_MAX);
	struct server_views views = { 0 };

	TRY(servers_look(ctx->config, NULL, ctx->mem, &views, err));
	if (args->json) {
		TRY(buf_addc(&b, '[', err));
		for (size_t i = 0; i < views.n; i++) {
			TRY(buf_addz(&b, i > 0 ? "," : "", err));
			TRY(add_json(ctx->mem, &views.p[i], &b, err));
		}
		cli_json(buf_str(&b));
		cli_out("]\n");
		return 0;
	}
	if (views.n == 0)
		cli_note("no server is configured; `agent6 mcp connect NAME -- COMMAND...` does it");
	for (size_t i = 0; i < views.n; i++)
		show(ctx->mem, &views.p[i]);
	say_notices(&views);
	return 0;
}

/* ------------------------------------------------------------------ mcp connect */

struct connect_args {
	struct str name, url, token_env, ca_file;
	struct str_list env, read, write;
	bool allow_network, repo, no_verify;
};

static const struct field connect_fields[] = {
	{ "name", &field_str, offsetof(struct connect_args, name), .flags = FIELD_POSITIONAL | FIELD_REQUIRED, .max = MCP_NAME_MAX,
		.help = "What it is called: its tools are mcp__NAME__TOOL." },
	{ "url", &field_str, offsetof(struct connect_args, url), .max = 2000, .help = "Address of a server over HTTP, in place of a command." },
	{ "token-env", &field_str, offsetof(struct connect_args, token_env), .max = 200, .help = "Variable that holds the token for --url." },
	{ "ca-file", &field_str, offsetof(struct connect_args, ca_file), .flags = FIELD_LOOSENS, .max = 4096,
		.help = "PEM certificates to trust for --url instead of the system's." },
	{ "env", &field_strs, offsetof(struct connect_args, env), .max = 32, .help = "Name of a variable that it gets; may be repeated." },
	{ "read", &field_strs, offsetof(struct connect_args, read), .max = 32, .help = "Path that it may read; may be repeated." },
	{ "write", &field_strs, offsetof(struct connect_args, write), .max = 32, .help = "Path that it may change; may be repeated." },
	{ "allow-network", &field_bool, offsetof(struct connect_args, allow_network), .flags = FIELD_LOOSENS, .help = "Give it the host's network." },
	{ "repo", &field_bool, offsetof(struct connect_args, repo), .help = "For this repository only." },
	{ "no-verify", &field_bool, offsetof(struct connect_args, no_verify), .help = "Do not try whether it works." },
};

static int absolute(struct str_list *paths, struct arena *mem, struct err *err)
{
	for (size_t i = 0; i < paths->n; i++) {
		char real[PATH_MAX];
		const char *path = str_dupz(mem, paths->p[i]);

		if (!realpath(path, real))
			return err_set(err, ERR_NOENT, "%s is not there", path);
		paths->p[i] = str_dup(mem, str_from(real));
	}
	return 0;
}

static int add_list(struct str_list l, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(256 * 1024);

	TRY(buf_addc(&b, '[', err));
	for (size_t i = 0; i < l.n; i++) {
		TRY(buf_addz(&b, i > 0 ? ", " : "", err));
		TRY(json_add_quoted(&b, l.p[i], err)); /* also how TOML writes a string */
	}
	TRY(buf_addc(&b, ']', err));
	*out = str_dup(mem, buf_str(&b));
	return 0;
}

static int set_key(struct config_change *changes, size_t *n, const struct connect_args *args, struct arena *mem, const char *key,
	struct str value)
{
	changes[(*n)++] = (struct config_change){ .op = CONFIG_SET, .layer = args->repo ? CONFIG_REPO : CONFIG_GLOBAL,
		.key = str_printf(mem, "mcp." STR_FMT ".%s", STR_ARG(args->name), key), .value = value };
	return 0;
}

static int write_down(struct command_ctx *ctx, const struct connect_args *args, struct err *err)
{
	const struct {
		const char *key;
		struct str_list list;
	} lists[] = { { "command", ctx->rest }, { "env", args->env }, { "extra_read_paths", args->read }, { "extra_write_paths", args->write } };
	struct config_change changes[KEYS_MAX];
	struct config_edited done[KEYS_MAX];
	struct place place;
	size_t n = 0;

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct str value;

		if (lists[i].list.n == 0)
			continue;
		TRY(add_list(lists[i].list, ctx->mem, &value, err));
		TRY(set_key(changes, &n, args, ctx->mem, lists[i].key, value));
	}
	if (args->url.n > 0)
		TRY(set_key(changes, &n, args, ctx->mem, "url", args->url));
	if (args->token_env.n > 0)
		TRY(set_key(changes, &n, args, ctx->mem, "api_key_env", args->token_env));
	if (args->ca_file.n > 0)
		TRY(set_key(changes, &n, args, ctx->mem, "ca_file", args->ca_file));
	if (args->allow_network)
		TRY(set_key(changes, &n, args, ctx->mem, "allow_network", STR("true")));
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_edit(&place.files, changes, n, ctx->mem, done, err));
	cli_note("mcp." STR_FMT " is in %s; each call of its tools is asked about: agent6 config set mcp." STR_FMT ".approval yes changes that",
		STR_ARG(args->name), done[0].file, STR_ARG(args->name));
	return 0;
}

static int check_url(struct str url, struct arena *mem, struct err *err)
{
	struct endpoint e;

	endpoint_init(&e);
	if (endpoint_set_url(&e, url, mem, err) < 0)
		return err_wrap(err, "--url");
	if (!e.tls && !host_is_loopback(e.host))
		return err_set(err, ERR_INVALID, "--url: plain http leaves this machine for nobody: https://" STR_FMT "...", STR_ARG(e.host));
	return 0;
}

static int check_words(const struct command_ctx *ctx, const struct connect_args *args, struct err *err)
{
	int r = 0;

	if (!mcp_name_ok(args->name))
		r = err_set(err, ERR_INVALID, "\"" STR_FMT "\" is no name of a server: letters, digits, '-' and '_', without \"__\", at most %d",
			STR_ARG(args->name), MCP_NAME_MAX);
	else if (args->url.n > 0 && (ctx->rest.n > 0 || args->env.n + args->read.n + args->write.n > 0 || args->allow_network))
		r = err_set(err, ERR_INVALID, "a server has a command or a --url; grants are for a command");
	else if (args->url.n == 0 && args->token_env.n + args->ca_file.n > 0)
		r = err_set(err, ERR_INVALID, "--token-env and --ca-file are for a --url");
	else if (args->url.n == 0 && (ctx->rest.n == 0 || str_trim(ctx->rest.p[0]).n == 0))
		r = err_set(err, ERR_INVALID, "the command of the server is missing");
	else if (args->url.n > 0)
		return check_url(args->url, ctx->mem, err);
	if (r < 0)
		err_hint(err, "agent6 mcp connect NAME -- PROGRAM ARGUMENTS..., or agent6 mcp connect NAME --url URL");
	return r;
}

static int run_connect(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	struct connect_args args = *(const struct connect_args *)decoded;
	struct server_views views = { 0 };
	struct config_mcp m;

	TRY(check_words(ctx, &args, err));
	TRY(absolute(&args.read, ctx->mem, err));
	TRY(absolute(&args.write, ctx->mem, err));
	if (args.ca_file.n > 0)
		TRY(absolute(&(struct str_list){ &args.ca_file, 1 }, ctx->mem, err));
	config_mcp_default(&m, ctx->mem); /* as a run will have it */
	m.name = args.name;
	m.command = ctx->rest;
	m.env = args.env;
	m.extra_read_paths = args.read;
	m.extra_write_paths = args.write;
	m.allow_network = args.allow_network;
	m.url = args.url;
	m.api_key_env = args.token_env;
	m.ca_file = args.ca_file;
	if (!args.no_verify) {
		TRY(servers_look(ctx->config, &m, ctx->mem, &views, err));
		show(ctx->mem, &views.p[0]);
		say_notices(&views);
		if (!views.p[0].found.ready || views.p[0].found.ntools == 0) {
			int r = err_set(err, ERR_REMOTE, STR_FMT " offers no tool and was not written down", STR_ARG(args.name));

			err_hint(err, args.url.n > 0 ? "is it a server of the Model Context Protocol over streamable HTTP, and does it want a "
						       "token (--token-env)? --no-verify writes it down all the same"
						     : "it sees no file but the system's and what --read and --write name, and no network; "
						       "--no-verify writes it down all the same");
			return r;
		}
	}
	return write_down(ctx, &args, err);
}

#define FIELDS(f, type) .fields = (f), .nfields = COUNT(f), .size = sizeof(struct type)

static const struct command mcp_commands[] = {
	{ .name = "mcp list", .help = "start each MCP server in its jail, or ask at its address, and list its tools", FIELDS(list_fields, list_args), .run = run_list,
		.starts_commands = true },
	{ .name = "mcp connect", .help = "try an MCP server in its jail and write it into the configuration",
		.about = "  agent6 mcp connect NAME -- PROGRAM ARGUMENTS...\n"
			 "  agent6 mcp connect NAME --url URL [--token-env VARIABLE]\n\n"
			 "The server is started as a run would start it: in a jail of its own, with nothing of the workspace, no file\n"
			 "but the system's and those of --read and --write, and no network. One at a URL is asked as a run would ask it.\n"
			 "When it lists its tools it is written down; when it does not, why is said and nothing is written.",
		FIELDS(connect_fields, connect_args), .takes_rest = true, .run = run_connect, .starts_commands = true },
};

const struct command_group commands_mcp = { mcp_commands, COUNT(mcp_commands), "mcp list" };
