/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/keys_priv.h"
#include "fmt/mcp.h"

#include <ctype.h>
#include <stddef.h>

#define PROVIDERS_MAX 32
#define SERVERS_MAX   32

static const char *const profiles[] = { "auto", "strict", "hardened", "none", NULL };
static const char *const agent_networks[] = { "providers", "local", "open", NULL };
static const char *const tool_networks[] = { "block", "only_explicit_states", "allow", NULL };
static const char *const run_commands[] = { "ask", "yes", "no", NULL };
static const char *const merge_strategies[] = { "squash", "merge", "ff", NULL };
static const char *const squash_messages[] = { "agent6", "conventional", "combine", "model", NULL };
static const char *const checkpoint_messages[] = { "agent6", "conventional", "model", NULL };
static const char *const workflows[] = { "loop", "implement", NULL };
static const char *const decompose[] = { "off", "auto", "on", NULL };
static const char *const revise[] = { "off", "auto", "interactive", NULL };
static const char *const triggers[] = { "off", "on_verify_fail", "before_finish", "periodic", NULL };
static const char *const tiers[] = { "diff", "explore", NULL };
static const char *const decisions[] = { "advisory", "veto", "quorum", "all", NULL };
static const char *const metric_goals[] = { "maximize", "minimize", NULL };
static const char *const api_formats[] = { "anthropic", "openai", "responses", NULL };
static const char *const deployments[] = { "direct", "vertex", "azure", NULL };
static const char *const auth_styles[] = { "auto", "bearer", "x_api_key", "api_key_header", "none", NULL };
static const char *const pictures[] = { "auto", "yes", "no", NULL };
static const char *const efforts[] = { "unset", "off", "low", "medium", "high", "xhigh", "max", NULL };
static const char *const approvals[] = { "ask", "yes", "no", NULL };
static const char *const role_names[] = { "worker", "planner", "critic", "reviewer", "summarizer" };

_Static_assert(COUNT(profiles) == CONFIG_PROFILE_NONE + 2, "words of the enum");
_Static_assert(COUNT(agent_networks) == AGENT_NETWORK_OPEN + 2, "words of the enum");
_Static_assert(COUNT(tool_networks) == TOOL_NETWORK_ALLOW + 2, "words of the enum");
_Static_assert(COUNT(run_commands) == RUN_COMMANDS_NO + 2, "words of the enum");
_Static_assert(COUNT(workflows) == WORKFLOW_IMPLEMENT + 2, "words of the enum");
_Static_assert(COUNT(decompose) == DECOMPOSE_ON + 2, "words of the enum");
_Static_assert(COUNT(revise) == REVISE_INTERACTIVE + 2, "words of the enum");
_Static_assert(COUNT(triggers) == REVIEW_PERIODIC + 2, "words of the enum");
_Static_assert(COUNT(decisions) == REVIEW_ALL + 2, "words of the enum");
_Static_assert(COUNT(api_formats) == CONFIG_API_RESPONSES + 2, "words of the enum");
_Static_assert(COUNT(deployments) == DEPLOYMENT_AZURE + 2, "words of the enum");
_Static_assert(COUNT(auth_styles) == CONFIG_AUTH_NONE + 2, "words of the enum");
_Static_assert(COUNT(efforts) == CONFIG_EFFORT_MAX + 2, "words of the enum");
_Static_assert(COUNT(approvals) == APPROVAL_NO + 2, "words of the enum");
_Static_assert(COUNT(role_names) == CONFIG_ROLES, "a name for each role");

#define AT(member) offsetof(struct config, member)

static const struct field fixed[] = {
	{ "preset", &field_str, AT(preset), .max = 64,
		.help = "Name of a strategy preset: several keys at once, just above the file that names it. `agent6 config presets` "
			"lists them; `[presets.NAME]` defines one." },

	{ "sandbox.profile", &field_enum, AT(sandbox.profile), FIELD_LOOSENS, "auto", .choices = profiles, .strict = "strict",
		.help = "How commands and agent6's own processes are confined. auto takes the strongest this host can "
			"do and never becomes none; strict needs user namespaces, hardened Landlock and seccomp. A "
			"profile that is named and cannot be had is refused." },
	{ "sandbox.agent_network", &field_enum, AT(sandbox.agent_network), FIELD_LOOSENS, "providers",
		.choices = agent_networks, .strict = "local",
		.help = "Whom model requests may reach: the configured providers and allow_urls; only providers on this "
			"machine; or, with open, any host, proxies honoured." },
	{ "sandbox.tool_network", &field_enum, AT(sandbox.tool_network), FIELD_LOOSENS, "block", .choices = tool_networks,
		.help = "Network of commands the model asks for: block is none but the run's own loopback, allow is the host's. "
			"only_explicit_states is block for them; it is for states of machines, which this version does not run." },
	{ "sandbox.run_commands", &field_enum, AT(sandbox.run_commands), FIELD_LOOSENS, "ask", .choices = run_commands, .strict = "no",
		.help = "Whether the model's commands run: after a question, without one, or never." },
	{ "sandbox.protect_git", &field_bool, AT(sandbox.protect_git), FIELD_LOOSENS | KEY_DEMANDS, "true",
		.help = "Keep .git read-only for commands." },
	{ "sandbox.allow_urls", &field_strs, AT(sandbox.allow_urls), FIELD_LOOSENS | KEY_HOSTS, .max = 32,
		.help = "Further hosts agent6 itself may dial (host, host:port or URL), for services the operator "
			"configured, beyond providers and the urls of MCP servers, which need no entry; in this version nobody uses them yet. The model cannot name an "
			"address." },
	{ "sandbox.extra_read_paths", &field_strs, AT(sandbox.extra_read_paths), FIELD_LOOSENS | KEY_PATHS, .max = 64,
		.help = "Absolute paths outside the workspace that commands and file tools may read." },
	{ "sandbox.extra_write_paths", &field_strs, AT(sandbox.extra_write_paths), FIELD_LOOSENS | KEY_PATHS, .max = 64,
		.help = "Absolute paths outside the workspace that commands and file tools may change." },
	{ "sandbox.hide_paths", &field_strs, AT(sandbox.hide_paths), KEY_PATHS, .max = 64,
		.help = "Absolute paths that are empty for everything the model influences, wherever else they are "
			"granted and under every name that mounts give them. What git holds of it stays readable." },
	{ "sandbox.memory_limit_mb", &field_int, AT(sandbox.memory_limit_mb), FIELD_LOOSENS | KEY_DEMANDS, "4096", 0, 1 << 24,
		.help = "Memory in MiB of all of a run's jail together, where a control group can be had (check sandbox "
			"says so); a value that is set also holds for each process, everywhere. 0 is no limit." },
	{ "sandbox.root_as_uid", &field_int, AT(sandbox.root_as_uid), FIELD_GLOBAL | FIELD_LOOSENS, "64006", 1, INT32_MAX,
		.help = "The unprivileged user id that stands for root when agent6 is started as root." },

	{ "git.require_clean_worktree", &field_bool, AT(git.require_clean_worktree), 0, "true",
		.help = "Refuse to start over uncommitted changes." },
	{ "git.auto_stash", &field_bool, AT(git.auto_stash), 0, "false",
		.help = "Set uncommitted changes of tracked files aside before a run begins, staged ones too. They are kept as a commit of "
			"git stash's kind, refs/agent6-stash/<id>. A resume sets nothing aside." },
	{ "git.auto_stash_pop", &field_bool, AT(git.auto_stash_pop), 0, "false",
		.help = "Bring back what auto_stash set aside when the run has ended. Where something else changed the same files, it stays "
			"set aside and the files are named." },
	{ "git.branch_per_run", &field_bool, AT(git.branch_per_run), 0, "true",
		.help = "Give each run a branch agent6/<id> beside its chain." },
	{ "git.commit_per_step", &field_bool, AT(git.commit_per_step), 0, "true",
		.help = "Commit each green step to the chain; false makes one commit at the end." },
	{ "git.commit.name", &field_str, AT(git.name), .max = 200,
		.help = "Author and committer of the run's commits; empty takes the person's global git identity." },
	{ "git.commit.email", &field_str, AT(git.email), .max = 200, .help = "Its address." },
	{ "git.commit.trailer", &field_str, AT(git.trailer), .max = 500,
		.help = "A line added at the end of each commit message, such as \"Assisted-by: agent6\"." },
	{ "git.commit.checkpoint.message", &field_enum, AT(git.checkpoint_message), 0, "agent6", .choices = checkpoint_messages,
		.help = "The subject of a step: agent6 has its number and what the model said; conventional has a kind, by the paths that changed, "
			"and what the model said; for model the summarizer is shown the change and asked." },
	{ "git.commit.squash.message", &field_enum, AT(git.squash_message), 0, "agent6", .choices = squash_messages,
		.help = "The message of a squash: agent6 has the task and what the steps did, conventional the same behind a kind, combine has the "
			"messages of all steps, model has what the model said of its work at the end." },
	{ "git.merge_strategy", &field_enum, AT(git.merge_strategy), 0, "squash", .choices = merge_strategies,
		.help = "How `runs merge` and auto_merge bring a run's commits over, unless --strategy says: one commit, a merge commit, "
			"or only moving the branch forward." },
	{ "git.auto_merge", &field_bool, AT(git.auto_merge), FIELD_LOOSENS, "false",
		.help = "Merge a run's commits when it ended done and green, or without a gate. workflow.verify_command is run once more "
			"before; nobody has read what is merged. A run that changed a file its gate names is left to you. One that cannot be merged exits with 1." },
	{ "git.auto_prune", &field_bool, AT(git.auto_prune), 0, "false",
		.help = "Remove a run's branch once it was merged; its commits stay on its chain." },
	{ "git.allow_push", &field_bool, AT(git.allow_push), 0, "false",
		.help = "Without effect: agent6's git has no way to push." },
	{ "git.allow_force", &field_bool, AT(git.allow_force), 0, "false",
		.help = "Without effect: agent6's git has no way to force." },
	{ "git.allow_history_rewrite", &field_bool, AT(git.allow_history_rewrite), 0, "false",
		.help = "Without effect: agent6's git has no way to rewrite history." },

	{ "workflow.default", &field_enum, AT(workflow.dflt), 0, "loop", .choices = workflows,
		.help = "How a run is driven: loop is one conversation until it is done; implement has a planner, a critic, and "
			"for each step a worker, the gate and a reviewer." },
	{ "workflow.verify_command", &field_strs, AT(workflow.verify_command), .max = 64,
		.help = "Program and arguments whose exit status 0 means success; empty lets verify_infer decide." },
	{ "workflow.verify_infer", &field_bool, AT(workflow.verify_infer), 0, "true",
		.help = "Without a verify_command, look for the repository's own test command; where none is known and models.reviewer "
			"is set, that model is asked." },
	{ "workflow.verify_timeout_s", &field_int, AT(workflow.verify_timeout_s), 0, "600", 1, 86400,
		.help = "Seconds the verify command may take." },
	{ "workflow.require_verify_to_finish", &field_bool, AT(workflow.require_verify_to_finish), 0, "false",
		.help = "Refuse to finish over a gate that is red or never ran." },
	{ "workflow.command_timeout_s", &field_int, AT(workflow.command_timeout_s), 0, "3600", 0, 86400,
		.help = "Seconds a command may take before it is killed; 0 is no limit." },
	{ "workflow.command_checkin_s", &field_int, AT(workflow.command_checkin_s), 0, "900", 0, 86400,
		.help = "Seconds after which a command that still runs is handed back to the model, and runs on in the "
			"background; 0 is never." },
	{ "workflow.max_iterations", &field_int, AT(workflow.max_iterations), 0, "200", -1, 1000000,
		.help = "Turns a run may take; -1 is no limit." },

	{ "workflow.metric.command", &field_strs, AT(workflow.metric_command), .max = 64,
		.help = "Program and arguments that print a number the run shall make better; run in a jail after each green gate." },
	{ "workflow.metric.pattern", &field_str, AT(workflow.metric_pattern), .max = 1000,
		.help = "Regular expression whose first group is that number, searched in what the command prints." },
	{ "workflow.metric.goal", &field_enum, AT(workflow.metric_goal), 0, "maximize", .choices = metric_goals,
		.help = "Whether more or less is better." },
	{ "workflow.standing_patience", &field_int, AT(workflow.standing_patience), 0, "-1", -1, 1000000,
		.help = "Rounds without any work after which a standing goal (run --standing) is given up; -1 is never." },

	{ "context.drop_at_chars", &field_int, AT(context.drop_at_chars), 0, "0", 0, INT64_C(1) << 40,
		.help = "Characters of tool results above which the oldest are set aside; 0 is 45% of the model's window." },
	{ "context.summarise_at_chars", &field_int, AT(context.summarise_at_chars), 0, "0", 0, INT64_C(1) << 40,
		.help = "Characters of the whole conversation above which it is summarised and begun anew; 0 is the "
			"model's window less one answer." },
	{ "context.keep_recent_chars", &field_int, AT(context.keep_recent_chars), 0, "80000", 1000, INT64_C(1) << 30,
		.help = "Characters of the newest turns that stay word for word behind a summary." },
	{ "context.keep_thinking_turns", &field_int, AT(context.keep_thinking_turns), 0, "0", 0, 1000000,
		.help = "When old results are set aside, thoughts of older answers than so many go too; 0 keeps them all." },
	{ "context.summary_max_tokens", &field_int, AT(context.summary_max_tokens), 0, "4096", 256, 65536,
		.help = "How long a summary may be, thoughts included." },
	{ "context.elision_gists", &field_bool, AT(context.elision_gists), 0, "true",
		.help = "Leave the head and tail of a long result where it is set aside, not only its size." },

	{ "prompt.structural_priors", &field_bool, AT(prompt.structural_priors), 0, "true",
		.help = "Tell the model at the start where files are, what they define, which names most of them use, and which ones commits "
			"change together." },
	{ "prompt.decompose", &field_enum, AT(prompt.decompose), 0, "auto", .choices = decompose,
		.help = "Whether the model breaks its task up into a task list: not told, where it helps, or always first." },
	{ "prompt.revise_prompt", &field_enum, AT(prompt.revise_prompt), 0, "off", .choices = revise,
		.help = "Let the reviewer's model restate a task before the run begins, beside your own words, which decide; "
			"interactive asks you first." },
	{ "review.trigger", &field_enum, AT(review.trigger), 0, "off", .choices = triggers,
		.help = "When a run's own change is reviewed: never, after a red gate, each time it wants to finish, or every "
			"review.period turns. Only before_finish can hold a finish back; else the model is told what was found." },
	{ "review.decision", &field_enum, AT(review.decision), 0, "advisory", .choices = decisions,
		.help = "When a review blocks: never; when one seat does; when quorum seats do; when all that answer do and they "
			"are most." },
	{ "review.quorum", &field_int, AT(review.quorum), 0, "2", 1, 8, .help = "Seats that block under decision quorum." },
	{ "review.seats", &field_strs, AT(review.seats), .max = 8,
		.help = "Who reviews: security, correctness, tests, over-engineering, edge-cases, or what to look for in your own "
			"words; @ROLE behind it takes that role's model. Empty is one reviewer." },
	{ "review.tier", &field_enum, AT(review.tier), 0, "diff", .choices = tiers,
		.help = "What a seat sees: the diff alone, or the repository too, which it reads with at most six requests." },
	{ "review.period", &field_int, AT(review.period), 0, "10", 1, 1000000,
		.help = "Turns between two reviews under trigger periodic." },
	{ "review.concurrency", &field_int, AT(review.concurrency), 0, "1", 1, 4,
		.help = "Seats that a run asks at the same time; `agent6 review` always asks four." },
	{ "review.max_total_rejections", &field_int, AT(review.max_total_rejections), 0, "4", 0, 100,
		.help = "Finishes that reviews may send back in one run; then they only advise." },
	{ "review.budget_fraction", &field_num, AT(review.budget_fraction), 0, "0.25", 0, 1,
		.help = "A run with less of its budget left is not reviewed." },
	{ "budget.max_input_tokens", &field_int, AT(budget.max_input_tokens), 0, "2000000", -1, INT64_C(1) << 40,
		.help = "Tokens a leg of a run may send; -1 is no limit." },
	{ "budget.max_output_tokens", &field_int, AT(budget.max_output_tokens), 0, "200000", -1, INT64_C(1) << 40,
		.help = "Tokens a leg of a run may be answered with; -1 is no limit." },
	{ "budget.max_usd", &field_num, AT(budget.max_usd), 0, "10", -1, 1000000,
		.help = "Dollars a leg of a run may cost, where the price is known; -1 is no limit." },

	{ "skills.extra_dirs", &field_strs, AT(skills.extra_dirs), FIELD_GLOBAL | KEY_PATHS, .max = 16,
		.help = "Absolute directories that hold skills beside the ones agent6 manages." },
	{ "skills.disabled", &field_strs, AT(skills.disabled), .max = 64,
		.help = "Names of skills that no run is given. `agent6 skills disable` adds to it." },
	{ "skills.always", &field_strs, AT(skills.always), .max = 64,
		.help = "Names of skills whose whole text is part of every run's prompt." },
	{ "skills.ca_file", &field_str, AT(skills.ca_file), FIELD_GLOBAL | FIELD_LOOSENS | KEY_PATH, .max = 4096,
		.help = "PEM certificates to trust instead of the system's where skills are fetched from." },
	{ "notify.on_complete", &field_strs, AT(notify.on_complete), FIELD_LOOSENS, .max = 64,
		.help = "Program and arguments run on this host, without a shell, when a session has ended; how it ended is in its "
			"environment, docs/notify.md." },
	{ "notify.on_wait", &field_strs, AT(notify.on_wait), FIELD_LOOSENS, .max = 64,
		.help = "The same when a session waits for an approval or an answer." },
	{ "notify.timeout_s", &field_int, AT(notify.timeout_s), 0, "30", 1, 600,
		.help = "Seconds such a program may take before it is killed." },

	{ "lsp.enabled", &field_bool, AT(lsp.enabled), FIELD_LOOSENS, "false",
		.help = "Ask language servers that are installed on this host too where outline, find_definition and find_references look. "
			"Each runs in a jail that shows the workspace to read and reaches no network." },
	{ "lsp.servers", &field_strs, AT(lsp.servers), KEY_SERVERS, .max = 8,
		.help = "Which of them: clangd, ty, pyright, gopls, rust-analyzer; empty is all that are found in PATH." },
	{ "lsp.timeout_s", &field_int, AT(lsp.timeout_s), 0, "5", 1, 120,
		.help = "Seconds that one call of a tool waits for them, their start included; then the code index answers alone." },
};
#undef AT

#define AT(member) offsetof(struct config_provider, member)
static const struct field provider[] = {
	{ "api_format", &field_enum, AT(api_format), FIELD_REQUIRED, .choices = api_formats,
		.help = "What the server speaks: Anthropic messages, OpenAI chat completions or OpenAI responses. At "
			"api.openai.com openai becomes responses for the models that take tools in no other way." },
	{ "deployment", &field_enum, AT(deployment), 0, "direct", .choices = deployments,
		.help = "Who serves it; azure is for openai only. vertex and azure need a base_url." },
	{ "base_url", &field_str, AT(base_url), FIELD_LOOSENS | KEY_URL, .max = 2000,
		.help = "Address the requests go to. Empty is the public one of the api_format. http only on this "
			"machine." },
	{ "auth_style", &field_enum, AT(auth_style), 0, "auto", .choices = auth_styles,
		.help = "How the key is sent; auto knows what the api_format and deployment want." },
	{ "api_key_env", &field_str, AT(api_key_env), .max = 200,
		.help = "Environment variable that holds the key; it wins over the stored one. Where neither is there, nothing is asked." },
	{ "token_command", &field_strs, AT(token_command), FIELD_LOOSENS, .max = 64,
		.help = "Program and arguments that print a key, run on this host without a shell; it wins over api_key_env. "
			"Only the process that talks to the provider gets what it prints." },
	{ "token_command_ttl_s", &field_int, AT(token_command_ttl_s), 0, "300", 1, 86400,
		.help = "Seconds a token of token_command is used before the next is asked for. A 401 or 403 asks at once." },
	{ "extra_headers", &field_json, AT(extra_headers), KEY_HEADERS, .max = 16384,
		.help = "Headers sent with each request; never for keys." },
	{ "extra_body", &field_json, AT(extra_body), .max = 65536, .help = "Members added to each request's body." },
	{ "extra_query", &field_json, AT(extra_query), KEY_WORDS, .max = 4096,
		.help = "Parameters added to each request's address, such as azure's api-version." },
	{ "http_timeout_s", &field_int, AT(http_timeout_s), 0, "600", 1, 86400,
		.help = "Seconds without a byte before a request is given up." },
	{ "prompt_caching", &field_bool, AT(prompt_caching), 0, "true",
		.help = "Mark the stable part of a request for the server's cache (anthropic)." },
	{ "ca_file", &field_str, AT(ca_file), FIELD_LOOSENS | KEY_PATH, .max = 4096,
		.help = "Absolute path of the PEM certificates to trust instead of the system's." },
};
#undef AT

#define AT(member) offsetof(struct config_mcp, member)
static const struct field mcp[] = {
	{ "command", &field_strs, AT(command), FIELD_LOOSENS, .max = 64,
		.help = "Program and arguments of a server that speaks on standard input and output. It runs in a jail of its own "
			"that shows nothing of the workspace and reaches no network, for as long as the run." },
	{ "url", &field_str, AT(url), FIELD_LOOSENS | KEY_URL, .max = 2000,
		.help = "Address of a server over HTTP; in place of command. http only on this machine." },
	{ "enabled", &field_bool, AT(enabled), 0, "true", .help = "Whether runs start it." },
	{ "approval", &field_enum, AT(approval), FIELD_LOOSENS, "ask", .choices = approvals, .strict = "no",
		.help = "Whether a call of its tools is made: after a question that shows tool and arguments, without one, or "
			"never, so that it is not started." },
	{ "tools", &field_strs, AT(tools), .max = 128,
		.help = "Names of its tools that the model is given, as the server calls them; empty is all of them." },
	{ "env", &field_strs, AT(env), FIELD_LOOSENS, .max = 32,
		.help = "Names of environment variables that it gets from yours, beside PATH, HOME, LANG, LC_ALL and TERM." },
	{ "extra_read_paths", &field_strs, AT(extra_read_paths), FIELD_LOOSENS | KEY_PATHS, .max = 32,
		.help = "Absolute paths that it may read; the workspace too only when it is named here." },
	{ "extra_write_paths", &field_strs, AT(extra_write_paths), FIELD_LOOSENS | KEY_PATHS, .max = 32,
		.help = "Absolute paths that it may change." },
	{ "allow_network", &field_bool, AT(allow_network), FIELD_LOOSENS, "false",
		.help = "Give its command the host's network." },
	{ "api_key_env", &field_str, AT(api_key_env), .max = 200,
		.help = "Environment variable that holds the token for its url. Only the process that talks to it gets the token." },
	{ "ca_file", &field_str, AT(ca_file), FIELD_LOOSENS | KEY_PATH, .max = 4096,
		.help = "Absolute path of the PEM certificates to trust for its url instead of the system's." },
	{ "startup_timeout_s", &field_int, AT(startup_timeout_s), 0, "10", 1, 600,
		.help = "Seconds it may take to start and to list its tools; then the run goes on without it." },
	{ "call_timeout_s", &field_int, AT(call_timeout_s), 0, "60", 1, 86400, .help = "Seconds a call of a tool may take." },
};
#undef AT

#define AT(member) offsetof(struct config_model, member)
static const struct field model[] = {
	{ "provider", &field_str, AT(provider), .max = 64, .help = "Name of a configured provider." },
	{ "model", &field_str, AT(model), .max = 200, .help = "The model's id as the provider calls it." },
	{ "effort", &field_enum, AT(effort), 0, "unset", .choices = efforts,
		.help = "How much the model may think; unset sends nothing." },
	{ "temperature", &field_num, AT(temperature), 0, "0", -1, 2,
		.help = "Sampling temperature; below 0 it is not sent." },
	{ "context_tokens", &field_int, AT(context_tokens), 0, "0", 0, INT64_C(1) << 40,
		.help = "Size of the model's window; 0 is not known." },
	{ "price_in", &field_num, AT(price_in), 0, "-1", -1, 1000000,
		.help = "Dollars per million input tokens; below 0 it is not known." },
	{ "price_out", &field_num, AT(price_out), 0, "-1", -1, 1000000, .help = "Dollars per million output tokens." },
	{ "price_cache_read", &field_num, AT(price_cache_read), 0, "-1", -1, 1000000,
		.help = "Dollars per million tokens that come from the provider's cache; below 0: a tenth of price_in." },
	{ "price_cache_write", &field_num, AT(price_cache_write), 0, "-1", -1, 1000000,
		.help = "Dollars per million tokens that go into it; below 0: a quarter more than price_in." },
	{ "pictures", &field_enum, AT(pictures), 0, "auto", .choices = pictures,
		.help = "Whether it is shown the pictures that MCP servers' tools bring; auto: if it is known to read some." },
};
#undef AT

_Static_assert(COUNT(fixed) <= CONFIG_KEYS_MAX && COUNT(provider) <= CONFIG_SUBKEYS_MAX && COUNT(model) <= CONFIG_SUBKEYS_MAX &&
		COUNT(mcp) <= CONFIG_SUBKEYS_MAX,
	"every key has an origin");

const struct keys keys_fixed = { fixed, COUNT(fixed) };
const struct keys keys_provider = { provider, COUNT(provider) };
const struct keys keys_mcp = { mcp, COUNT(mcp) };
const struct keys keys_model = { model, COUNT(model) };

const struct key_section key_sections[] = {
	{ "preset", "How much care a run takes, in one word." },
	{ "sandbox", "What the model's commands and agent6's own processes may touch." },
	{ "git", "What a run does to the repository's history." },
	{ "workflow", "How a run is driven and what counts as success." },
	{ "context", "How a conversation is kept within the model's window." },
	{ "skills", "Instructions that you installed for the model. None is ever taken from a repository." },
	{ "prompt", "What the model is told before it begins." },
	{ "review", "Models that judge a change before it counts as done, and `agent6 review`." },
	{ "budget", "Where a run stops because of its cost. Each leg (a start or a resume) has its own account." },
	{ "notify", "Your own programs that are told of a session. They run on this host, as you." },
	{ "lsp", "Language servers of this host that know the code better than the index does." },
	{ "providers", "One table for each model API: `[providers.NAME]`. `agent6 connect` writes it; keys are stored "
		       "elsewhere." },
	{ "mcp", "One table for each server of the Model Context Protocol: `[mcp.NAME]`. Its tools are the model's as "
		 "`mcp__NAME__TOOL`, in runs only. `agent6 mcp connect` writes it." },
	{ "models", "Which model plays which role: `[models.worker]`, and planner, critic, reviewer, summarizer. A role "
		    "without one of its own is played by the worker's." },
};
const size_t nkey_sections = COUNT(key_sections);

const char *config_role_name(enum config_role role)
{
	BUG_IF(role >= CONFIG_ROLES);
	return role_names[role];
}

const char *config_layer_name(enum config_layer layer)
{
	static const char *const names[] = { "default", "global", "repo", "--config", "flag", "preset" };

	_Static_assert(COUNT(names) == CONFIG_LAYERS, "a name for each layer");
	BUG_IF(layer >= CONFIG_LAYERS);
	return names[layer];
}

const char *config_word(const char *key, int index)
{
	static const struct keys *const tables[] = { &keys_fixed, &keys_provider, &keys_mcp, &keys_model };
	const struct field *f = NULL;

	for (size_t i = 0; i < COUNT(tables) && !f; i++)
		f = field_find(tables[i]->p, tables[i]->n, str_from(key));
	BUG_IF(!f || !f->choices || index < 0);
	for (int i = 0; i <= index; i++)
		BUG_IF(!f->choices[i]);
	return f->choices[index];
}

/* ------------------------------------------------------------------ finding a key */

bool keys_path_is(const struct str *path, size_t n, const char *dotted)
{
	struct str rest = str_from(dotted);

	for (size_t i = 0; i < n; i++)
		if (rest.n == 0 || !str_eq(path[i], str_cut(&rest, '.')))
			return false;
	return rest.n == 0;
}

bool config_name_ok(struct str name)
{
	if (name.n == 0 || name.n > 64)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '-' && name.p[i] != '_')
			return false;
	return true;
}

const struct config_provider *config_provider(const struct config *c, struct str name)
{
	for (size_t i = 0; i < c->nproviders; i++)
		if (str_eq(c->providers[i]->name, name))
			return c->providers[i];
	return NULL;
}

struct config_provider *keys_provider_make(struct config *c, struct str name)
{
	struct config_provider *p = (struct config_provider *)config_provider(c, name);

	if (p || !config_name_ok(name) || c->nproviders == PROVIDERS_MAX)
		return p;
	p = arena_alloc(c->mem, sizeof(*p));
	BUG_IF(fields_default(provider, COUNT(provider), c->mem, p, sizeof(*p), ERR_DISCARD) < 0);
	p->name = str_dup(c->mem, name);
	if (!c->providers)
		c->providers = arena_array(c->mem, PROVIDERS_MAX, sizeof(struct config_provider *));
	c->providers[c->nproviders++] = p;
	return p;
}

const struct config_mcp *config_mcp(const struct config *c, struct str name)
{
	for (size_t i = 0; i < c->nmcp; i++)
		if (str_eq(c->mcp[i]->name, name))
			return c->mcp[i];
	return NULL;
}

void config_mcp_default(struct config_mcp *out, struct arena *mem)
{
	BUG_IF(fields_default(mcp, COUNT(mcp), mem, out, sizeof(*out), ERR_DISCARD) < 0);
}

struct config_mcp *keys_mcp_make(struct config *c, struct str name)
{
	struct config_mcp *m = (struct config_mcp *)config_mcp(c, name);

	if (m || !mcp_name_ok(name) || c->nmcp == SERVERS_MAX)
		return m;
	m = arena_alloc(c->mem, sizeof(*m));
	config_mcp_default(m, c->mem);
	m->name = str_dup(c->mem, name);
	if (!c->mcp)
		c->mcp = arena_array(c->mem, SERVERS_MAX, sizeof(struct config_mcp *));
	c->mcp[c->nmcp++] = m;
	return m;
}

static int role_index(struct str name)
{
	for (int i = 0; i < CONFIG_ROLES; i++)
		if (str_eqz(name, role_names[i]))
			return i;
	return -1;
}

static bool find_row(const struct keys *k, struct str name, void *base, struct config_origin *origin, struct config_leaf *out)
{
	const struct field *f = field_find(k->p, k->n, name);

	if (!f)
		return false;
	*out = (struct config_leaf){ .field = f, .base = base, .origin = &origin[f - k->p] };
	return true;
}

bool keys_find(struct config *c, const struct str *path, size_t n, bool make, struct config_leaf *out)
{
	for (size_t i = 0; i < COUNT(fixed); i++)
		if (keys_path_is(path, n, fixed[i].name)) {
			*out = (struct config_leaf){ str_from(fixed[i].name), &fixed[i], c, &c->origin[i] };
			return true;
		}
	if (n != 3)
		return false;
	if (str_eqz(path[0], "models") && role_index(path[1]) >= 0) {
		struct config_model *m = &c->models[role_index(path[1])];

		if (!find_row(&keys_model, path[2], m, m->origin, out))
			return false;
	} else if (str_eqz(path[0], "providers") && field_find(provider, COUNT(provider), path[2])) {
		struct config_provider *p = make ? keys_provider_make(c, path[1])
						 : (struct config_provider *)config_provider(c, path[1]);

		if (!p || !find_row(&keys_provider, path[2], p, p->origin, out))
			return false;
	} else if (str_eqz(path[0], "mcp") && field_find(mcp, COUNT(mcp), path[2])) {
		struct config_mcp *m = make ? keys_mcp_make(c, path[1]) : (struct config_mcp *)config_mcp(c, path[1]);

		if (!m || !find_row(&keys_mcp, path[2], m, m->origin, out))
			return false;
	} else {
		return false;
	}
	out->key = str_join(c->mem, path, 3, '.');
	return true;
}

bool keys_is_section(const struct str *path, size_t n)
{
	for (size_t i = 0; i < COUNT(fixed); i++) {
		struct str rest = str_from(fixed[i].name);
		size_t k = 0;

		while (k < n && rest.n > 0 && str_eq(path[k], str_cut(&rest, '.')))
			k++;
		if (k == n && rest.n > 0)
			return true;
	}
	if (str_eqz(path[0], "providers"))
		return n == 1 || (n == 2 && config_name_ok(path[1]));
	if (str_eqz(path[0], "mcp"))
		return n == 1 || (n == 2 && mcp_name_ok(path[1]));
	return str_eqz(path[0], "models") && (n == 1 || (n == 2 && role_index(path[1]) >= 0));
}

/* ------------------------------------------------------------------ the nearest key to a wrong one */

/* A known key with the same last name, wherever it stands; "" when there is none. */
static const char *same_last_name(struct str name)
{
	for (size_t i = 0; i < COUNT(fixed); i++) {
		struct str known = str_from(fixed[i].name);

		if (str_eq(str_skip(known, str_rfind(known, '.') + 1), name))
			return fixed[i].name;
	}
	return NULL;
}

/* A wrong key below providers.NAME or models.ROLE, or a wrong role. */
static bool near_in_table(const struct str *path, size_t n, struct buf *near)
{
	bool is_model = str_eqz(path[0], "models");
	bool is_mcp = str_eqz(path[0], "mcp");
	const struct keys *k = is_model ? &keys_model : is_mcp ? &keys_mcp : &keys_provider;
	const struct field *f = n == 3 ? field_nearest(k->p, k->n, path[2]) : NULL;
	struct str middle = n > 1 ? path[1] : STR("");

	if (n != 3 || (!is_model && !is_mcp && !str_eqz(path[0], "providers")))
		return false;
	if (is_model && role_index(middle) < 0) {
		f = field_find(k->p, k->n, path[2]);
		middle = str_from(role_names[CONFIG_WORKER]);
		for (int i = 0; i < CONFIG_ROLES; i++)
			if (str_distance(path[1], str_from(role_names[i])) <= 2)
				middle = str_from(role_names[i]);
	}
	return f && buf_addf(near, ERR_DISCARD, STR_FMT "." STR_FMT ".%s", STR_ARG(path[0]), STR_ARG(middle), f->name) >= 0;
}

int keys_unknown(struct str shown, const struct str *path, size_t n, struct err *err)
{
	auto_buf struct buf near = BUF_MAX(400);
	const char *same = same_last_name(path[n - 1]);
	const struct field *f = field_nearest(fixed, COUNT(fixed), shown);
	int r = 0;

	if (!near_in_table(path, n, &near) && (same || f))
		r = buf_addz(&near, same ? same : f->name, ERR_DISCARD);
	if (str_eqz(path[0], "providers") && n > 1 && !config_name_ok(path[1]))
		return err_set(err, ERR_INVALID, STR_FMT ": the name of a provider is of letters, digits, '-' and '_'",
			STR_ARG(shown));
	if (str_eqz(path[0], "mcp") && n > 1 && !mcp_name_ok(path[1]))
		return err_set(err, ERR_INVALID, STR_FMT ": the name of a server is of letters, digits, '-' and '_', without \"__\", "
						 "at most %d", STR_ARG(shown), MCP_NAME_MAX);
	if (r < 0 || near.n == 0) {
		r = err_set(err, ERR_INVALID, STR_FMT ": unknown key", STR_ARG(shown));
		err_hint(err, "\"agent6 config reference\" prints them all");
		return r;
	}
	return err_set(err, ERR_INVALID, STR_FMT ": unknown key; did you mean " STR_FMT "?", STR_ARG(shown),
		STR_ARG(buf_str(&near)));
}

int config_leaf(struct config *c, struct str key, struct config_leaf *out, struct err *err)
{
	struct str *path = NULL;
	size_t n = 0;

	if (toml_key(key, c->mem, &path, &n, err) < 0)
		return err_wrap(err, "the key \"" STR_FMT "\"", STR_ARG(str_head(key, 80)));
	if (keys_find(c, path, n, true, out))
		return 0;
	return keys_unknown(key, path, n, err);
}

static size_t add_leaves(struct config *c, const struct keys *k, struct str prefix, void *base,
	struct config_origin *origin, struct config_leaf *out)
{
	for (size_t i = 0; i < k->n; i++)
		/* printf would be a seventh of `config show` */
		out[i] = (struct config_leaf){ prefix.n > 0
				? str_join(c->mem, (struct str[]){ prefix, str_from(k->p[i].name) }, 2, '.')
				: str_from(k->p[i].name),
			&k->p[i], base, &origin[i] };
	return k->n;
}

size_t config_leaves(struct config *c, struct arena *mem, struct config_leaf **out)
{
	size_t max = COUNT(fixed) + c->nproviders * COUNT(provider) + c->nmcp * COUNT(mcp) + CONFIG_ROLES * COUNT(model), n = 0;

	*out = arena_array(mem, max, sizeof(**out));
	n += add_leaves(c, &keys_fixed, STR(""), c, c->origin, *out);
	for (size_t i = 0; i < c->nproviders; i++) {
		struct config_provider *p = c->providers[i];
		struct str prefix = str_join(c->mem, (struct str[]){ STR("providers"), p->name }, 2, '.');

		n += add_leaves(c, &keys_provider, prefix, p, p->origin, *out + n);
	}
	for (size_t i = 0; i < c->nmcp; i++) {
		struct config_mcp *m = c->mcp[i];
		struct str prefix = str_join(c->mem, (struct str[]){ STR("mcp"), m->name }, 2, '.');

		n += add_leaves(c, &keys_mcp, prefix, m, m->origin, *out + n);
	}
	for (int i = 0; i < CONFIG_ROLES; i++) {
		struct str prefix = str_join(c->mem, (struct str[]){ STR("models"), str_from(role_names[i]) }, 2, '.');

		n += add_leaves(c, &keys_model, prefix, &c->models[i], c->models[i].origin, *out + n);
	}
	return n;
}
