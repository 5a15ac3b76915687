/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* check boundaries: what each process of a run here could read, write, reach and call. Everything is taken from what a
 * run would be started with: the cells' specs, the classes of jails, the endpoint table and the compiled filters. */
#include "app/check.h"

#include "app/network.h"
#include "fmt/lsp_table.h"
#include "app/start_priv.h"
#include "sandbox/group.h"
#include "sandbox/jail.h"
#include "sandbox/landlock.h"
#include "sandbox/resolver_files.h"
#include "sandbox/root.h"
#include "sandbox/seccomp.h"

#include <linux/audit.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

struct bounds {
	const struct check *k;
	struct start *s;
	struct zygote_spec commands, git;
};

static void row(const struct bounds *b, const char *name, struct str detail)
{
	b->k->row(b->k->self, CHECK_INFO, name, "", str_dupz(b->k->mem, detail));
}

/* ---- words ---- */

static void add_word(struct buf *to, const char *word)
{
	if (to->n > 0)
		(void)!buf_addz(to, ", ", ERR_DISCARD);
	(void)!buf_addz(to, word, ERR_DISCARD);
}

static void add_list(struct buf *to, const struct policy_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		add_word(to, l->p[i]);
}

static struct str text(const struct bounds *b, const struct buf *words)
{
	return words->n > 0 ? str_dup(b->k->mem, buf_str(words)) : STR("nothing");
}

static const char *rights(uint64_t access)
{
	bool write = access & LL_WRITE_FILE, run = access & LL_EXECUTE, read = access & LL_READ_FILE;

	return write ? (run ? "read, write, execute" : "read, write") : run ? "read, execute" : read ? "read" : "not seen";
}

/* What a filter answers to the calls that matter most, asked of the filter itself. */
static struct str calls(const struct bounds *b, enum seccomp_profile profile)
{
	static const struct {
		const char *what;
		int nr;
		uint64_t first;
	} asked[] = {
		{ "execute a program", __NR_execve, 0 },
		{ "open files", __NR_openat, 0 },
		{ "make network sockets", __NR_socket, AF_INET },
		{ "make unix sockets", __NR_socket, AF_UNIX },
		{ "mount", __NR_mount, 0 },
		{ "trace processes", __NR_ptrace, 0 },
	};
	autofree struct seccomp_filter *f = mem_alloc(sizeof(*f));
	auto_buf struct buf yes = BUF_MAX(1024), no = BUF_MAX(1024);

	if (seccomp_build(profile, f, ERR_DISCARD) < 0)
		return STR("this machine has no table of system calls");
	for (size_t i = 0; i < COUNT(asked); i++) {
		const uint64_t args[6] = { asked[i].first, SOCK_STREAM };

		add_word(seccomp_judge(f, ARCH, asked[i].nr, args) == 0 ? &yes : &no, asked[i].what);
	}
	return str_printf(b->k->mem, "filter \"%s\": may " STR_FMT "; may not " STR_FMT, seccomp_name(profile),
		STR_ARG(text(b, &yes)), STR_ARG(text(b, &no)));
}

/* What the table of app/network.h says of an actor here, its setting before it where one decides. */
static void reach_row(const struct bounds *b, const char *name, enum network_actor actor, enum network_wish wish)
{
	const struct config_sandbox *c = &b->s->config->sandbox;
	bool of_client = actor == NETWORK_OF_AGENT || actor == NETWORK_OF_CLIENT;
	int setting = of_client ? c->agent_network : c->tool_network;
	const struct network_row *r = network_row(actor, setting, wish);
	const char *key = of_client ? "sandbox.agent_network" : "sandbox.tool_network";
	const char *reach = network_words(r->reach[b->s->profile]);

	row(b, name, r->setting == NETWORK_ANY ? str_from(reach)
					       : str_printf(b->k->mem, "%s = \"%s\": %s", key, config_word(key, setting), reach));
}

/* ---- the jails ---- */

static enum seccomp_profile filter_of(const struct bounds *b, enum job_class id, const struct sandbox_policy *p)
{
	const struct jail_class *c = jail_class_find(id);

	if (b->s->profile != PROFILE_HARDENED)
		return c->filter;
	return p && p->network == NETWORK_HOST ? SECCOMP_COMMAND_HOSTNET : c->hardened;
}

static void class_row(const struct bounds *b, const char *name, enum job_class id)
{
	const struct jail_class *c = jail_class_find(id);

	row(b, name, str_printf(b->k->mem, "workspace: %s; grants: %s; system: %s; tools: %s; /tmp of its own kind: %s",
		rights(c->workspace_noexec ? c->workspace & ~LL_EXECUTE : c->workspace), rights(c->grants), rights(c->system),
		rights(c->tools), rights(c->tmp)));
}

static void memory_row(const struct bounds *b)
{
	const struct group_host host = GROUP_HOST;
	struct group_place place;
	long long all = b->commands.memory_max_mb, each = b->commands.policy.memory_limit_mb;
	bool group = b->s->profile != PROFILE_NONE && all > 0 && group_find(&host, b->k->mem, &place, ERR_DISCARD) == 0;

	if (group && each > 0)
		row(b, "commands.memory", str_printf(b->k->mem, "%lld MiB all together, and each process", all));
	else if (group || each > 0)
		row(b, "commands.memory", str_printf(b->k->mem, "%lld MiB %s", group ? all : each, group ? "all together" : "each process"));
	else
		row(b, "commands.memory", STR("no limit of ours"));
}

static struct str sockets_of_the_host(const struct bounds *b)
{
	if (b->s->profile == PROFILE_NONE)
		return STR("every one: nothing is enforced");
	if (b->s->profile == PROFILE_HARDENED)
		return STR("none");
	if (landlock_abi() >= LL_UNIX_ABI)
		return STR("none in what may be read; in what may be written, those that are bound there after the cell was built, by a relative "
			   "name or in another network namespace");
	return STR("none of those that are bound when the cell is built; in what is listed here, those that are bound there later, by a "
		   "relative name or in another network namespace (this kernel's Landlock knows no sockets on paths)");
}

static void command_rows(const struct bounds *b)
{
	const struct sandbox_policy *p = &b->commands.policy;
	const struct config_sandbox *c = &b->s->config->sandbox;
	auto_buf struct buf read = BUF_MAX(1024 * 1024), write = BUF_MAX(1024 * 1024), hidden = BUF_MAX(1024 * 1024),
			    protect = BUF_MAX(1024 * 1024);

	for (size_t i = 0; root_system_paths[i]; i++)
		if (access(root_system_paths[i], F_OK) == 0)
			add_word(&read, root_system_paths[i]);
	add_word(&read, "a part of /etc");
	add_list(&read, &p->tool_paths);
	add_list(&read, &p->extra_ro_paths);
	add_word(&write, p->cwd);
	add_list(&write, &p->extra_rw_paths);
	add_word(&write, b->s->profile == PROFILE_HARDENED ? "a private directory, TMPDIR" : "/tmp and /dev/shm of the run");
	add_list(&hidden, &p->hide_paths);
	add_word(&hidden, b->s->profile == PROFILE_HARDENED ? "the content of whatever is not listed here (names stay visible)"
								 : "whatever is not listed here");
	add_list(&protect, &p->extra_protect_paths);
	row(b, "commands.approval", str_printf(b->k->mem, "sandbox.run_commands = \"%s\"",
		config_word("sandbox.run_commands", c->run_commands)));
	row(b, "commands.read", text(b, &read));
	row(b, "commands.write", text(b, &write));
	if (b->s->profile == PROFILE_HARDENED && b->s->is_git)
		row(b, "commands.protected", b->commands.git_dir[0] ? STR(".git is not protected: a change of its configuration, hooks "
									  "or refs ends the run")
								    : STR(".git is not protected"));
	else
		row(b, "commands.protected", text(b, &protect));
	row(b, "commands.hidden", text(b, &hidden));
	reach_row(b, "commands.network", NETWORK_OF_COMMANDS, NETWISH_AUTO);
	row(b, "commands.sockets", sockets_of_the_host(b));
	memory_row(b);
	for (size_t i = 0; i < b->commands.nlimits; i++)
		row(b, str_printf(b->k->mem, "commands.time.%s", jail_class_find(b->commands.limits[i].class)->name).p,
			str_printf(b->k->mem, "%s, %s", b->commands.limits[i].timeout_ms == 0 ? "no time limit"
				: str_printf(b->k->mem, "%lld s at most", (long long)b->commands.limits[i].timeout_ms / 1000).p,
				b->commands.limits[i].ask ? "the monitor is asked before each" : "nobody is asked"));
	class_row(b, "commands.rights", JOB_COMMAND);
	row(b, "commands.calls", calls(b, filter_of(b, JOB_COMMAND, p)));
}

static void agent_rows(const struct bounds *b)
{
	reach_row(b, "agent.network", NETWORK_OF_AGENT, NETWISH_AUTO);
	class_row(b, "file_tools.rights", JOB_AGENT);
	row(b, "file_tools.calls", calls(b, SECCOMP_AGENT));
	class_row(b, "grep.rights", JOB_INDEX);
	row(b, "grep.calls", calls(b, filter_of(b, JOB_INDEX, NULL)));
}

static void git_rows(const struct bounds *b)
{
	auto_buf struct buf write = BUF_MAX(1024 * 1024);

	if (!b->s->is_git) {
		row(b, "git", STR("this is no repository: there is no git process"));
		return;
	}
	add_word(&write, b->git.policy.cwd);
	add_list(&write, &b->git.policy.extra_rw_paths);
	row(b, "git.write", text(b, &write));
	row(b, "git.limits", b->s->profile == PROFILE_NONE
		? str_printf(b->k->mem, "%lld s; memory is not limited", (long long)b->git.limits[0].timeout_ms / 1000)
		: str_printf(b->k->mem, "%lld s and %lld MiB for each", (long long)b->git.limits[0].timeout_ms / 1000,
			(long long)b->git.policy.memory_limit_mb));
	class_row(b, "git.rights", JOB_GIT);
	row(b, "git.calls", calls(b, filter_of(b, JOB_GIT, NULL)));
}

/* What each MCP server's cell would show, and whether its calls are asked about. */
static void server_rows(const struct bounds *b)
{
	for (size_t i = 0; i < b->s->config->nmcp; i++) {
		const struct config_mcp *m = b->s->config->mcp[i];
		const char *name = str_printf(b->k->mem, "mcp." STR_FMT, STR_ARG(m->name)).p;
		auto_buf struct buf read = BUF_MAX(1024 * 1024), write = BUF_MAX(1024 * 1024);
		struct zygote_spec cell;
		struct err why = { 0 };

		if (m->url.n > 0 || !servers_run(b->s, m)) {
			row(b, name, !servers_run(b->s, m) ? STR("not started: disabled, or its approval is \"no\"")
				: str_printf(b->k->mem, "over HTTP, by the client: " STR_FMT "; %s", STR_ARG(m->url), m->approval == APPROVAL_ASK
					? "the monitor is asked before each call" : "nobody is asked"));
			continue;
		}
		if (servers_cell(b->s, m, &cell, &why) < 0) {
			b->k->row(b->k->self, CHECK_FAIL, name, "P2", why.msg);
			continue;
		}
		add_list(&read, &cell.policy.extra_ro_paths);
		add_list(&write, &cell.policy.extra_rw_paths);
		row(b, name, str_printf(b->k->mem, "reads the system set and " STR_FMT "; writes " STR_FMT "; network: %s; %s", STR_ARG(text(b, &read)),
			STR_ARG(text(b, &write)), network_words(network_row(NETWORK_OF_SERVER, NETWORK_ANY,
				m->allow_network ? NETWISH_ALLOW : NETWISH_BLOCK)->reach[b->s->profile]), cell.servers[0].ask
				? "the monitor is asked before each call" : "nobody is asked"));
	}
	if (b->s->config->nmcp == 0)
		return;
	class_row(b, "mcp.rights", JOB_MCP);
	row(b, "mcp.calls", calls(b, filter_of(b, JOB_MCP, NULL)));
}

/* Language servers see what commands see, to read; nobody is asked about them. */
static void language_rows(const struct bounds *b)
{
	auto_buf struct buf names = BUF_MAX(1024);

	language_choose(b->s);
	for (size_t i = 0; i < b->s->params.languages.n; i++)
		add_word(&names, lsp_server_find(b->s->params.languages.p[i])->name);
	if (names.n == 0) {
		row(b, "language_servers", b->s->config->lsp.enabled ? STR("none is started here") : STR("not started: lsp.enabled is false"));
		return;
	}
	row(b, "language_servers", str_printf(b->k->mem, STR_FMT ": read what commands read; write nothing but a HOME of their own; "
		"no network; nobody is asked", STR_ARG(text(b, &names))));
	class_row(b, "language_servers.rights", JOB_LANGUAGE);
	row(b, "language_servers.calls", calls(b, filter_of(b, JOB_LANGUAGE, NULL)));
}

/* ---- the others ---- */

static void route_row(const struct bounds *b, const char *name, const struct route *r, const char *what)
{
	const struct {
		bool ok;
		const char *where;
	} ranges[] = { { r->loopback_ok, "this machine" }, { r->private_ok, "a private network" },
		{ r->local_ok, "a link-local address (cloud metadata)" } };
	auto_buf struct buf refused = BUF_MAX(256);

	for (size_t i = 0; i < COUNT(ranges) && host_range(r->host) == HOST_NAME; i++)
		if (!ranges[i].ok)
			add_word(&refused, ranges[i].where);
	row(b, name, str_printf(b->k->mem, STR_FMT ":%u, %s%s" STR_FMT, STR_ARG(r->host), (unsigned)r->port, what,
		refused.n > 0 ? "; not where the name leads to " : "", STR_ARG(buf_str(&refused))));
}

/* One socket serves all endpoints of a host. */
static bool leads_where_another_does(const struct endpoint_table *t, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (t->p[k].kind == t->p[i].kind && t->p[k].port == t->p[i].port && str_eq(t->p[k].host, t->p[i].host) &&
			str_eq(t->p[k].name, t->p[i].name))
			return true;
	return false;
}

static void endpoint_row(const struct bounds *b, const struct endpoint *e)
{
	struct route r;

	if (e->kind != ENDPOINT_NETWORK || e->host.n == 0)
		return;
	route_set_host(&r, e->host, e->port);
	if (e->direct)
		row(b, "client.reach", str_printf(b->k->mem, STR_FMT ":%u%s, dialled by the client itself", STR_ARG(e->host),
			(unsigned)e->port, e->tls ? " by TLS" : ""));
	else
		route_row(b, "broker.reach", &r, str_printf(b->k->mem, "for provider " STR_FMT "%s", STR_ARG(e->name),
			e->tls ? ", by TLS" : "").p);
}

/* Who is asked for the names among them, where there are any. */
static void resolver_rows(const struct bounds *b)
{
	auto_buf struct buf read = BUF_MAX(4096);

	for (size_t i = 0; i < RESOLVER_RULES; i++)
		if (access(resolver_rules[i].path, F_OK) == 0)
			add_word(&read, resolver_rules[i].path);
	row(b, "resolver.reach", STR("name servers, about the names of broker.reach; started only where there is one"));
	row(b, "resolver.read", text(b, &read));
	row(b, "resolver.calls", calls(b, SECCOMP_RESOLVER));
}

/* The hosts that the two processes with a network would be told, from what they would be told them with. */
static void dial_rows(const struct bounds *b, struct err *err)
{
	struct start *s = b->s;

	if (settings_model(s, err) < 0) {
		row(b, "broker.reach", str_printf(b->k->mem, "no provider yet: %s", err->msg));
		*err = (struct err){ 0 };
	}
	if (settings_routes(s, err) < 0) {
		b->k->row(b->k->self, CHECK_FAIL, "broker.reach", "P3", err->msg);
		*err = (struct err){ 0 };
	}
	reach_row(b, "client.network", NETWORK_OF_CLIENT, NETWISH_AUTO);
	for (size_t i = 0; i < s->endpoints.n; i++)
		if (!leads_where_another_does(&s->endpoints, i))
			endpoint_row(b, &s->endpoints.p[i]);
	for (size_t i = 0; i < s->allowed.n; i++)
		route_row(b, "broker.reach", &s->allowed.p[i], "by sandbox.allow_urls, for nobody in this version");
	if (s->endpoints.proxy.n > 0)
		row(b, "client.proxy", s->endpoints.proxy);
	row(b, "client.keys", str_printf(b->k->mem, "%s, read at its start", s->paths.secrets_file));
	row(b, "client.calls", calls(b, s->config->sandbox.agent_network == AGENT_NETWORK_OPEN ? SECCOMP_CLIENT_OPEN
												 : SECCOMP_CLIENT));
	row(b, "broker.calls", calls(b, SECCOMP_BROKER));
	resolver_rows(b);
}

static void record_rows(const struct bounds *b)
{
	const char *run = str_printf(b->k->mem, "%s/%s/ID", b->s->repo_dir, session_bucket(SESSION_RUN)).p;

	row(b, "recorder.write", str_printf(b->k->mem, "%s/record", run));
	row(b, "recorder.calls", calls(b, SECCOMP_RECORDER));
	row(b, "monitor.write", str_printf(b->k->mem, "%s/answers", run));
	row(b, "monitor.calls", calls(b, SECCOMP_MONITOR));
	row(b, "view.read", str_printf(b->k->mem, "%s/record", run));
	row(b, "view.write", str_printf(b->k->mem, "%s/answers, the terminal", run));
	row(b, "view.calls", calls(b, SECCOMP_VIEW));
}

static int load(struct bounds *b, struct err *err)
{
	TRY(settings_workspace(b->s, err));
	TRY(settings_paths(b->s, err));
	TRY(settings_load(b->s, err));
	TRY(settings_profile(b->s, err));
	TRY(settings_params(b->s, err));
	TRY(settings_command_cell(b->s, &b->commands, err));
	return b->s->is_git ? settings_git_cell(b->s, &b->git, err) : 0;
}

int check_boundaries(const struct check *k, const struct place *place, struct err *err)
{
	struct run_request rq = run_request_new();
	CLEANUP(start_fini) struct start s = start_new(k->mem, &rq);
	struct bounds b = { .k = k, .s = &s };

	rq.config = str_from(place->files.file);
	if (load(&b, err) < 0) {
		k->row(k->self, CHECK_FAIL, "boundaries", "", str_printf(k->mem, "%s", err->msg).p);
		return 0;
	}
	row(&b, "profile", str_printf(k->mem, "%s%s", policy_profile_name(s.profile),
		s.profile == PROFILE_NONE ? ": nothing below is enforced" : ""));
	command_rows(&b);
	agent_rows(&b);
	git_rows(&b);
	server_rows(&b);
	language_rows(&b);
	dial_rows(&b, err);
	record_rows(&b);
	return 0;
}
