/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* start_priv: what app/run.c and app/start.c share: everything a run is made of while it is started. */
#ifndef APP_START_PRIV_H
#define APP_START_PRIV_H

#include "agent/params.h"
#include "app/egress.h"
#include "app/mode.h"
#include "app/place.h"
#include "app/run.h"
#include "config/config.h"
#include "fmt/endpoint.h"
#include "role/hooks.h"
#include "role/monitor.h"
#include "role/reader.h"
#include "role/spawner.h"
#include "sandbox/toolpath.h"
#include "sandbox/zygote.h"
#include "session/layout.h"

struct mounts;

struct start {
	struct arena *mem;
	const struct run_request *rq;
	const struct app_mode *mode;
	const struct config *config;
	struct str kept_preset;  /* to resume: what --preset was when the run was started, or empty */
	enum policy_profile profile;
	bool attended;

	struct str notices[128];  /* what the person must be told at the start */
	size_t nnotices;

	struct paths paths;
	struct toolpath tools;
	struct policy_list shown; /* of ours, by a place that every cell shows: each hides it; settings_tools knows it */
	const char *workspace;
	bool is_git;
	bool looks;              /* there are places where no repository may appear */
	struct discovered repo;
	struct peer reader;      /* the process that was asked about it, until it has answered */
	const struct repo_facts *repo_facts; /* NULL: not yet */
	struct peer record_reader; /* to resume: the same of the record */
	int record_fd;           /* to resume: of the record, which nobody else writes; -1: none */
	struct facts facts;      /* to resume: of the record, once settings_load has taken them */
	const char *state_dir, *config_dir, *repo_dir; /* repo_dir: <state>/<repo-id> */
	struct session_ref ref;
	int run_lock, repo_lock; /* held until the end */
	int notes_fd;            /* the repository's notes; -1: none */
	bool made;               /* its directory is there because of us ... */
	bool kept;               /* the run began: its directory is no longer ours to remove */

	struct hooks_spec hooks;
	struct crash_keep crashes; /* the file of crashes_path, open for all of the run */
	const char *crashes_path;
	struct run_params params;
	struct spawner_identity person; /* of the person's own git */
	bool identified;         /* person is known */
	struct str stash;        /* what was set aside before the run: a commit, or empty */
	struct endpoint_table endpoints;
	struct route_table allowed; /* sandbox.allow_urls */
	int secrets_fd;

	struct programs programs;
	struct egress egress;
	struct peer spawner, recorder, zygote, git, view;
	int agent_ends[AGENT_ENDS_MAX]; /* monitor, zygote, git zygote, client, recorder, servers: what the agent is given */
	struct start_server {
		const struct config_mcp *config;
		struct peer zygote;
	} servers[MCP_SERVERS_MAX]; /* MCP servers of this run that are programs */
	size_t nservers;
	struct zygote_server languages[ZYGOTE_SERVERS_MAX]; /* language servers, as params.languages names them */
	struct peer language;    /* the zygote of their cell; none: there are none */
	struct start_remote {
		const struct config_mcp *config;
		uint8_t endpoint;
	} remotes[MCP_SERVERS_MAX]; /* MCP servers over HTTP */
	size_t nremotes;
	struct secret *server_keys; /* of each in config->mcp, until its endpoint has it; NULL: not read yet */
	int agent_chan;          /* our end */
};

/* start.c: the processes. Each is started as early as it can be and told what it needs when that is known; then all are
 * waited for. On failure everything started is ended by start_fini. */
struct start start_new(struct arena *mem, const struct run_request *rq); /* nothing is started */
int start_client(struct start *s, struct err *err) CHECKED; /* before anything else: it loads longest, and needs nothing of the run for that */
int start_early(struct start *s, struct err *err) CHECKED;  /* who answers what the settings ask */
int start_cell(struct start *s, struct err *err) CHECKED;   /* the command cell; it needs the policy only */
int start_crew(struct start *s, struct err *err) CHECKED;   /* recorder, broker, view, who load and hold nothing yet; the git cell */
int start_processes(struct start *s, struct err *err) CHECKED;
void start_fini(struct start *s);
int start_manifest(struct start *s, struct err *err) CHECKED; /* start_manifest.c: what is noted of the run at its start */

/* settings.c: the configuration turned into what the others are told. */
int settings_workspace(struct start *s, struct err *err) CHECKED; /* workspace, is_git, repo */
int settings_paths(struct start *s, struct err *err) CHECKED;    /* paths, state_dir, config_dir, repo_dir */
int settings_load(struct start *s, struct err *err) CHECKED;     /* config, attended; to resume: facts */
int settings_owner(const struct start *s, struct err *err) CHECKED; /* the repository is the person's, or trusted */
int settings_apart(const struct start *s, struct err *err) CHECKED; /* what the model writes holds nothing we trust */
int settings_tools(struct start *s, struct err *err) CHECKED;    /* tools, shown */
int settings_policy(struct start *s, struct err *err) CHECKED;   /* run_commands */
int settings_profile(struct start *s, struct err *err) CHECKED;  /* profile, found by trying */
int settings_whose(struct start *s, struct err *err) CHECKED;    /* as whom commands run, where that is not plain; a notice */
int settings_identity(struct start *s, struct err *err) CHECKED; /* who the commits are by; waits for the spawner */
int settings_params(struct start *s, struct err *err) CHECKED;   /* params */
bool settings_git_open(const struct start *s); /* no mount keeps commands from writing a .git in what they may write */
int settings_model(struct start *s, struct err *err) CHECKED;    /* endpoints, model, prices */
/* Once the endpoints have them, keys leave the environment: what is started from here on has none, and nobody asks again. */
void settings_take_keys(struct start *s);
/* grants.c: refuses grants in what we trust, hides what we trust in grants. The path with the links followed in what there
 * is of it yet. */
int settings_grants(struct start *s, struct policy_list *hide, struct err *err) CHECKED;
/* Those of our own directories that a place which every cell shows, as /usr, would show by a name that a mount gives them: each cell
 * hides them. Refused where that cannot be. */
struct grants_own {
	const char *dir, *what, *variable;
};
struct grants_ask {
	const struct paths *paths;
	const struct mounts *mounts;
	enum policy_profile profile;
};
int grants_shown(const struct grants_ask *ask, struct arena *mem, struct policy_list *out, struct err *err) CHECKED;
const char *settings_resolve(const char *path, struct arena *mem);
/* Where the model may write outside of its jail's own places (app/apart.h). */
int settings_writable(const struct start *s, struct str_list *out, struct err *err) CHECKED;
int settings_hooks(const struct start *s, struct hooks_spec *out, struct err *err) CHECKED; /* [notify] */
/* What the files of the repository tell, which a process that holds nothing reads. Asked early it costs no time; taken once. */
int settings_ask_repo(struct start *s, struct err *err) CHECKED;
int settings_repo_facts(struct start *s, const struct repo_facts **out, struct err *err) CHECKED;
int settings_protect(struct start *s, struct zygote_spec *z, struct err *err) CHECKED; /* protect.c */
int settings_command_cell(struct start *s, struct zygote_spec *out, struct err *err) CHECKED;
/* The same for what one MCP server was granted; key: "mcp.NAME". */
int settings_server_grants(struct start *s, const char *key, const struct config_mcp *m, struct policy_list *hide, struct err *err)
	CHECKED;

/* servers.c: MCP servers. */
/* From our environment, where they are wiped: it is readable in /proc for as long as we live. */
void servers_take_keys(struct start *s);
void servers_forget_keys(struct start *s);
int servers_choose(struct start *s, struct err *err) CHECKED; /* servers, and what the agent is told of them */
int servers_cell(struct start *s, const struct config_mcp *m, struct zygote_spec *out, struct err *err) CHECKED;
int servers_launch(struct start *s, struct err *err) CHECKED;
/* Where the client sends what is said to one over HTTP: a row of endpoints, which have room for it. */
int servers_endpoint(struct start *s, const struct config_mcp *m, uint8_t *at, struct err *err) CHECKED;
void servers_await(struct start *s); /* one that cannot be had is a notice, and the run goes on without it */
bool servers_run(const struct start *s, const struct config_mcp *m); /* enabled, and this run calls tools */

/* language.c: language servers. One that cannot be had is a notice, and so is their cell. */
void language_choose(struct start *s);
int language_launch(struct start *s, int *agent_end, struct err *err) CHECKED;
void language_await(struct start *s);

/* settings_network.c: who may reach what, by the table of app/network.h. They want config and profile. */
int settings_networks(struct start *s, struct err *err) CHECKED; /* of commands: refusals, notices */
enum policy_network settings_jail_network(const struct start *s);
int settings_endpoint_network(struct start *s, struct endpoint *e, struct err *err) CHECKED; /* of one provider in use */
int settings_routes(struct start *s, struct err *err) CHECKED; /* allowed, and what agent_network means */
void start_notice(struct start *s, struct str text);

/* stash.c: what git.auto_stash wants before a run begins. The checkout is ours. */
int stash_before(struct start *s, struct err *err) CHECKED;

/* resume.c: what the record of the run that is to go on says is asked for; the same when it is locked; then it goes into params. */
int resume_hear(struct start *s, struct err *err) CHECKED;
int resume_lock(struct start *s, struct err *err) CHECKED;
int resume_session(struct start *s, struct err *err) CHECKED;

int settings_git_cell(struct start *s, struct zygote_spec *out, struct err *err) CHECKED;

#endif
