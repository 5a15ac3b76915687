/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* config: what the operator decided, from one table of keys.
 *
 * Shape    config_load reads the layers, lowest first: built-in defaults, the global file, the file of
 *          the repository (in the state directory, never in the workspace), --config FILE. A preset, when one is
 *          chosen, stands just above the layer that chose it. Single flags come last, with config_override. The
 *          result is a plain struct.
 * Memory   Everything lives in the arena that is passed in.
 * Errors   With file, line and column. All faults of the files are found (config_faults lists them);
 *          config_load tells the first one and how many more there are. Nothing is half used.
 * Source   docs/config.md is printed from the same table.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "fmt/field.h"
#include "fmt/toml.h"

/* Indices into the choices of the keys; the words are the same. */
enum config_profile { CONFIG_PROFILE_AUTO, CONFIG_PROFILE_STRICT, CONFIG_PROFILE_HARDENED, CONFIG_PROFILE_NONE };
enum config_agent_network { AGENT_NETWORK_PROVIDERS, AGENT_NETWORK_LOCAL, AGENT_NETWORK_OPEN };
enum config_tool_network { TOOL_NETWORK_BLOCK, TOOL_NETWORK_ONLY_EXPLICIT_STATES, TOOL_NETWORK_ALLOW };
enum config_run_commands { RUN_COMMANDS_ASK, RUN_COMMANDS_YES, RUN_COMMANDS_NO };
enum config_workflow { WORKFLOW_LOOP, WORKFLOW_IMPLEMENT };
enum config_trigger { REVIEW_OFF, REVIEW_ON_VERIFY_FAIL, REVIEW_BEFORE_FINISH, REVIEW_PERIODIC };
enum config_decision { REVIEW_ADVISORY, REVIEW_VETO, REVIEW_QUORUM, REVIEW_ALL };
enum config_api { CONFIG_API_ANTHROPIC, CONFIG_API_OPENAI, CONFIG_API_RESPONSES };
enum config_deployment { DEPLOYMENT_DIRECT, DEPLOYMENT_VERTEX, DEPLOYMENT_AZURE };
enum config_auth { CONFIG_AUTH_AUTO, CONFIG_AUTH_BEARER, CONFIG_AUTH_X_API_KEY, CONFIG_AUTH_API_KEY_HEADER,
	CONFIG_AUTH_NONE };
enum config_effort { CONFIG_EFFORT_UNSET, CONFIG_EFFORT_OFF, CONFIG_EFFORT_LOW, CONFIG_EFFORT_MEDIUM, CONFIG_EFFORT_HIGH,
	CONFIG_EFFORT_XHIGH, CONFIG_EFFORT_MAX };
enum config_role { CONFIG_WORKER, CONFIG_PLANNER, CONFIG_CRITIC, CONFIG_REVIEWER, CONFIG_SUMMARIZER, CONFIG_ROLES };

/* The layers, lowest first; a preset's keys stand just above the layer that chose it. */
enum config_layer { CONFIG_DEFAULT, CONFIG_GLOBAL, CONFIG_REPO, CONFIG_FILE, CONFIG_FLAG, CONFIG_PRESET, CONFIG_LAYERS };

/* Where a value came from. */
struct config_origin {
	enum config_layer layer;
	const char *file; /* path, or the flag's name; NULL for a default */
	int line, col;
	const char *preset; /* of layer CONFIG_PRESET: its name; then file is NULL for one that is built in */
};

#define CONFIG_KEYS_MAX    96 /* of the table of all; a static assertion holds it */
#define CONFIG_SUBKEYS_MAX 16 /* of a provider's, a server's, a model's */

struct config_sandbox {
	int profile, agent_network, tool_network, run_commands;
	bool protect_git;
	struct str_list allow_urls, extra_read_paths, extra_write_paths, hide_paths; /* paths are absolute */
	int64_t memory_limit_mb; /* see config_is_set: an rlimit is used only when somebody set it */
	int64_t root_as_uid;
};

enum config_merge { CONFIG_MERGE_SQUASH, CONFIG_MERGE_MERGE, CONFIG_MERGE_FF };
enum config_squash { CONFIG_SQUASH_AGENT6, CONFIG_SQUASH_CONVENTIONAL, CONFIG_SQUASH_COMBINE, CONFIG_SQUASH_MODEL };
enum config_checkpoint { CONFIG_CHECKPOINT_AGENT6, CONFIG_CHECKPOINT_CONVENTIONAL, CONFIG_CHECKPOINT_MODEL };
struct config_git {
	bool require_clean_worktree, auto_stash, auto_stash_pop, branch_per_run, commit_per_step;
	struct str name, email; /* of git.commit; empty: the person's own */
	struct str trailer;
	int merge_strategy;      /* enum config_merge */
	int squash_message;      /* enum config_squash */
	int checkpoint_message;  /* enum config_checkpoint */
	bool auto_merge, auto_prune;
	bool allow_push, allow_force, allow_history_rewrite; /* accepted, and without effect */
};

struct config_workflow_keys {
	int dflt;
	struct str_list verify_command;
	bool verify_infer, require_verify_to_finish;
	struct str_list metric_command;
	struct str metric_pattern;
	int metric_goal;
	int64_t verify_timeout_s, command_timeout_s, command_checkin_s, max_iterations, standing_patience;
};

struct config_context {
	int64_t drop_at_chars, summarise_at_chars; /* 0: by the model's window */
	int64_t keep_recent_chars, keep_thinking_turns, summary_max_tokens;
	bool elision_gists;
};

enum config_decompose { DECOMPOSE_OFF, DECOMPOSE_AUTO, DECOMPOSE_ON };
enum config_revise { REVISE_OFF, REVISE_AUTO, REVISE_INTERACTIVE };

struct config_prompt {
	bool structural_priors;
	int decompose, revise_prompt;
};

struct config_review {
	int trigger, decision, tier;
	int64_t quorum, max_total_rejections, period, concurrency;
	double budget_fraction;
	struct str_list seats; /* personas, "security" or "security@worker" */
};

struct config_budget {
	int64_t max_input_tokens, max_output_tokens; /* -1: no limit */
	double max_usd;                              /* -1: no limit */
};

struct config_notify {
	struct str_list on_complete, on_wait; /* argv; empty: none */
	int64_t timeout_s;
};

struct config_skills {
	struct str_list extra_dirs; /* absolute */
	struct str_list disabled, always; /* names */
	struct str ca_file; /* absolute path of PEM certificates, or empty: the system's */
};

/* Language servers that answer the symbol tools. */
struct config_lsp {
	bool enabled;
	struct str_list servers; /* of those of fmt/lsp_table.h; empty: all */
	int64_t timeout_s;
};

struct config_provider {
	struct str name;
	int api_format, deployment, auth_style;
	struct str base_url; /* as written; config_base_url knows the default */
	struct str api_key_env, ca_file;
	struct str_list token_command; /* argv; empty: none */
	int64_t token_command_ttl_s;
	struct str extra_headers, extra_body, extra_query; /* JSON objects, or empty */
	int64_t http_timeout_s;
	bool prompt_caching;
	struct config_origin origin[CONFIG_SUBKEYS_MAX];
};

enum config_approval { APPROVAL_ASK, APPROVAL_YES, APPROVAL_NO };

/* A server whose tools the model may call. */
struct config_mcp {
	struct str name;
	bool enabled;
	struct str_list command; /* argv of a server on standard input and output; empty: */
	struct str url;          /* ... one over HTTP */
	int approval;
	struct str_list tools;   /* of its tools only these; empty: all */
	struct str_list env;     /* names of the operator's variables that it gets */
	struct str_list extra_read_paths, extra_write_paths; /* absolute */
	bool allow_network;      /* of a command: the host's network */
	struct str api_key_env;  /* of a url: variable that holds the token */
	struct str ca_file;      /* of a url: absolute path of PEM certificates, or empty: the system's */
	int64_t startup_timeout_s, call_timeout_s;
	struct config_origin origin[CONFIG_SUBKEYS_MAX];
};

struct config_model {
	struct str provider, model; /* both empty: not chosen */
	int effort;
	double temperature;      /* below 0: not sent */
	int64_t context_tokens;  /* 0: not known */
	double price_in, price_out; /* USD per million tokens; below 0: not known */
	double price_cache_read, price_cache_write; /* below 0: by price_in */
	int pictures;            /* 0: by what is known of it, 1: yes, 2: no */
	struct config_origin origin[CONFIG_SUBKEYS_MAX];
};

struct config_preset; /* load_priv.h */

struct config {
	struct str preset; /* the chosen one, or empty */
	const struct config_preset *presets; /* that a file defines */
	size_t npresets;
	struct config_sandbox sandbox;
	struct config_git git;
	struct config_workflow_keys workflow;
	struct config_context context;
	struct config_budget budget;
	struct config_review review;
	struct config_prompt prompt;
	struct config_skills skills;
	struct config_notify notify;
	struct config_lsp lsp;
	struct config_origin origin[CONFIG_KEYS_MAX];
	struct config_provider **providers; /* in order of first mention */
	size_t nproviders;
	struct config_mcp **mcp; /* likewise */
	size_t nmcp;
	struct config_model models[CONFIG_ROLES]; /* as written; config_model_of knows the fallback */
	struct arena *mem;                        /* borrowed */
	const char *home;                         /* for "~/" in paths; NULL: not known */
};

/* Absolute paths, any of them NULL. A missing global or repository file is an empty one; a missing
 * `file` is an error. */
struct config_files {
	const char *global, *repo, *file;
	const char *workspace; /* when a model may write there: global and repo must not lie in it, links followed */
	const char *home;      /* what "~/" stands for */
	struct str preset;     /* chosen by a flag: above global and repo, below file; empty: as the files say */
};

int config_load(const struct config_files *files, struct arena *mem, struct config *out, struct err *err) CHECKED;
/* Every fault of the files, first to last; 0 of them when config_load would succeed. */
struct config_faults {
	struct err *p;
	size_t n;
};
struct config_faults config_check(const struct config_files *files, struct arena *mem);
/* A single flag: above every file. `text` as a person types it; flag is for messages ("--max-usd"). */
int config_override(struct config *c, const char *key, struct str text, const char *flag, struct err *err) CHECKED;

bool config_is_set(const struct config *c, const char *key); /* by some layer; fixed keys only */
const struct config_origin *config_origin_of(const struct config *c, const char *key); /* the same keys */
const struct config_provider *config_provider(const struct config *c, struct str name); /* NULL when absent */
const struct config_mcp *config_mcp(const struct config *c, struct str name); /* NULL when absent */
void config_mcp_default(struct config_mcp *out, struct arena *mem);            /* of which nothing is written down yet */
struct config_model config_model_of(const struct config *c, enum config_role role); /* unset fields are the worker's */
bool config_needs_key(const struct config_provider *p); /* a server of its kind may want none, but who names a variable has one */
struct str config_base_url(const struct config_provider *p); /* without a '/' at the end */
enum config_auth config_auth_of(const struct config_provider *p); /* never AUTO */
const char *config_role_name(enum config_role role);
const char *config_layer_name(enum config_layer layer); /* "default", "global", "repo", "--config", "flag", "preset" */
/* The word of a choice: config_word("sandbox.profile", c.sandbox.profile). */
const char *config_word(const char *key, int index);
bool config_name_ok(struct str name); /* of a provider: letters, digits, '-' and '_' */

/* One key of the effective configuration, whatever table it stands in. */
struct config_leaf {
	struct str key;            /* dotted */
	const struct field *field; /* its name is the last part, or the dotted key of a fixed one */
	void *base;                /* the struct the field's offset is for */
	struct config_origin *origin;
};
/* All keys in the order they are shown: fixed ones, providers, models. */
size_t config_leaves(struct config *c, struct arena *mem, struct config_leaf **out);
/* The leaf of a dotted key; a provider that is not there yet is made in c. The error names the nearest. */
int config_leaf(struct config *c, struct str key, struct config_leaf *out, struct err *err) CHECKED;

#endif
