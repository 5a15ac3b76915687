/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* params: everything the agent is told at its start, and nothing else.
 *
 * Shape    The monitor's side fills a struct run_params and packs it into a sealed memfd (WIRE_GO);
 *          the agent unpacks it. No key, no host name, no path outside the workspace but the grants.
 * Memory   Unpacked strings are copied into the arena.
 * Errors   -ERR_PROTOCOL when the bytes are not exactly one packed run_params.
 */
#ifndef AGENT_PARAMS_H
#define AGENT_PARAMS_H

#include "fmt/field.h"

/* X(kind, member): the one list that packing, unpacking and their test walk. */
#define RUN_PARAMS(X)                                                                                        \
	X(STR, run_id)                                                                                       \
	X(STR, mode)              /* run, plan, ask, review */                                               \
	X(STR, context)           /* what the person attached, told before the task, or first in a later leg; or empty */ \
	X(STR, task)              /* the operator's words */                                                 \
	X(STR, workspace)         /* absolute */                                                             \
	X(STR, version)                                                                                      \
	X(INT, umask)             /* the person's: new files of the workspace get the mode they would give */ \
	X(STR, preset)            /* the chosen strategy preset, for people; or empty */                     \
	X(STR, isolation)         /* resolved profile: strict, hardened, none */                             \
	X(STR, run_commands)      /* effective: yes, no, ask */                                              \
	X(STR, commands_why)      /* why that is no, for people and the model; or empty */                   \
	X(INT, git_open)          /* 1: nothing protects a .git from commands */                             \
	X(INT, memory_each)       /* 1: sandbox.memory_limit_mb limits each process of commands by itself */ \
	X(STR, tool_network)      /* of commands: block, only_explicit_states, allow */                      \
	X(STR, host_note)         /* one line about the platform for the prompt */                           \
	X(INT, rehearse)          /* 1: it ends before its first request, and takes the tree as it is */     \
	X(INT, resume)            /* 1: continue from the record */                                          \
	X(INT, parked)            /* 1: it waited for the checkout and begins now */                         \
	X(INT, force)             /* resume: 1: whatever the chain says */                                   \
	X(INT, plan_reread)       /* resume: bytes of the plan that the person changed by hand, in context; 0: they did not */ \
	X(STR, base)              /* resume: the commit the run began at, as the manifest has it; or empty */ \
	X(STRS, untracked)        /* resume: what record/untracked-at-start lists */                         \
	X(INT, attended)          /* 1: somebody can answer questions */                                     \
	X(INT, asks_later)        /* 1: questions that nobody answers end the leg; it goes on with the answers */ \
	X(STRS, extra_read_paths)                                                                            \
	X(STRS, extra_write_paths)                                                                           \
	X(STRS, hide_paths)                                                                                  \
	X(STRS, tool_paths)       /* absolute directories on the PATH of commands, first ones first */       \
	X(INT, is_git)            /* 0: not a repository; steps are not recorded, and that is said */        \
	X(STR, git_name)          /* identity for commits; empty when none is known */                       \
	X(STR, git_email)                                                                                    \
	X(INT, branch_per_run)                                                                               \
	X(INT, require_clean_worktree)                                                                       \
	X(INT, auto_stash)        /* git.auto_stash: a resume says that it sets nothing aside */             \
	X(INT, may_set_aside)     /* 1: who waits for the run can set aside what is not committed, and begin it anew */ \
	X(INT, commit_per_step)                                                                              \
	X(STR, commit_trailer)                                                                               \
	X(STR, commit_style)      /* agent6, conventional, model */                                          \
	X(STRS, verify_command)   /* configured; empty: infer unless verify_infer is 0 */                    \
	X(STR, verify_from)       /* what set it, for people: a file and its line, a preset; or empty */     \
	X(STR, metric_from)       /* the same of metric_command */                                           \
	X(INT, verify_infer)      /* 1: by the rules of gate.h; 2: and where they know none, by asking */    \
	X(INT, verify_timeout_s)                                                                             \
	X(INT, command_timeout_s) /* 0: no limit */                                                          \
	X(INT, command_checkin_s) /* 0: never handed back */                                                 \
	X(INT, require_verify_to_finish)                                                                     \
	X(INT, max_iterations)    /* -1: no limit */                                                         \
	X(INT, max_input_tokens)  /* -1: no limit */                                                         \
	X(INT, max_output_tokens)                                                                            \
	X(NUM, max_usd)                                                                                      \
	X(STR, provider)          /* the configured name, for people */                                      \
	X(INT, endpoint)          /* its index in the client's table */                                      \
	X(STR, api_format)        /* the wire: anthropic, openai, responses */                                 \
	X(STR, deployment)        /* direct, azure, vertex */                                                \
	X(INT, openai_direct)     /* 1: the host is api.openai.com */                                        \
	X(INT, local_server)      /* 1: the host is this machine */                                          \
	X(INT, responses_too)     /* 1: the endpoint behind it is the same server's Responses */             \
	X(STR, model)                                                                                        \
	X(STR, effort)            /* off, low, medium, high, xhigh, max */                                   \
	X(NUM, temperature)       /* below 0: not sent */                                                    \
	X(INT, prompt_caching)                                                                               \
	X(INT, context_tokens)    /* 0: not known */                                                         \
	X(NUM, price_in)          /* USD per million tokens; below 0: not known */                           \
	X(NUM, price_out)                                                                                    \
	X(NUM, price_cache_read)  /* below 0: by price_in */                                                 \
	X(NUM, price_cache_write)                                                                            \
	X(STR, pictures)          /* auto, yes, no */                                                        \
	X(INT, drop_at_chars)     /* [context]; 0: by the model's window */                                  \
	X(INT, summarise_at_chars)                                                                           \
	X(INT, keep_recent_chars)                                                                            \
	X(INT, keep_thinking_turns) /* 0: all */                                                             \
	X(INT, summary_max_tokens)                                                                           \
	X(INT, elision_gists)                                                                                \
	X(STR, standing)          /* what the run goes on with when its task is done; empty: nothing */          \
	X(INT, standing_patience) /* rounds without work before it is given up; -1: never */                 \
	X(STRS, metric_command)   /* empty: there is none */                                                 \
	X(STR, metric_pattern)                                                                               \
	X(STR, metric_goal)       /* maximize, minimize */                                                   \
	X(INT, interactive)       /* 1: it waits for the person after each step */                           \
	X(STRS, pins)             /* --pin: said again after every restart of the conversation */            \
	X(STR, skills)            /* the packed bundle, memory/skill.h; empty: none */                      \
	X(STRS, use_skills)       /* names whose text opens the task */                                      \
	X(STR, extra_body)        /* JSON object text, or empty */                                           \
	X(STRS, notes)            /* of earlier runs, in force, newest first: id, scope, text, origin, time; five each */ \
	X(STR, review_base)       /* review: a commit, a branch, a run; empty: HEAD */                       \
	X(STR, review_range)      /* FROM..TO, or empty */                                                   \
	X(STRS, review_seats)     /* personas; empty: one reviewer */                                        \
	X(STR, review_decision)   /* advisory, veto, quorum, all */                                          \
	X(STR, review_tier)       /* diff, explore */ \
	X(STRS, review_paths)     /* review: what lies beneath these alone; empty: all */ \
	X(INT, review_quorum)                                                                                \
	X(STR, review_trigger)    /* off, on_verify_fail, before_finish, periodic */                         \
	X(INT, review_period)     /* turns between two, periodic */                                          \
	X(INT, review_concurrency) /* seats asked at the same time */                                        \
	X(INT, review_max_rejections)                                                                        \
	X(NUM, review_budget_fraction)                                                                       \
	X(STR, workflow)          /* loop, implement */                                                      \
	X(INT, confirm_plan)      /* implement: 1: the person says yes to the plan before its first step */ \
	X(INT, structural_priors)                                                                            \
	X(STR, decompose)         /* off, auto, on */                                                        \
	X(STR, revise_prompt)     /* off, auto, interactive */                                               \
	X(STRS, servers)          /* packed struct server_params: MCP servers, those with a channel first and in its order */ \
	X(STRS, languages)        /* language servers by their place in the cell: names of fmt/lsp_table.h; none: no cell */ \
	X(INT, language_timeout_s)                                                                           \
	X(STRS, seats)            /* packed struct seat_params by enum config_role; an empty one is not played */

#define PARAM_FIELD_STR(m)  struct str m;
#define PARAM_FIELD_INT(m)  int64_t m;
#define PARAM_FIELD_NUM(m)  double m;
#define PARAM_FIELD_STRS(m) struct str_list m;
struct run_params {
#define X(kind, member) PARAM_FIELD_##kind(member)
	RUN_PARAMS(X)
#undef X
};

/* The model of one role; the members of RUN_PARAMS by the same names are those of the one that leads. */
#define SEAT_PARAMS(X)                                                                                       \
	X(STR, provider) X(INT, endpoint) X(STR, api_format) X(STR, deployment) X(INT, openai_direct) X(INT, local_server) \
	X(INT, responses_too) X(STR, model)                                                                  \
	X(STR, effort) X(NUM, temperature) X(INT, prompt_caching) X(INT, context_tokens) X(NUM, price_in)    \
	X(NUM, price_out) X(NUM, price_cache_read) X(NUM, price_cache_write) X(STR, pictures) X(STR, extra_body)

struct seat_params {
#define X(kind, member) PARAM_FIELD_##kind(member)
	SEAT_PARAMS(X)
#undef X
};

/* A server whose tools the model may call. */
#define SERVER_PARAMS(X)                                                                                     \
	X(STR, name) X(INT, startup_timeout_s) X(INT, call_timeout_s)                                        \
	X(STRS, tools)            /* of its tools these alone; empty: all */                                 \
	X(INT, endpoint)          /* over HTTP: its index in the client's table; -1: it is a program */          \
	X(INT, writes)            /* 1: it may change files that the run's commands see */

struct server_params {
#define X(kind, member) PARAM_FIELD_##kind(member)
	SERVER_PARAMS(X)
#undef X
};

int server_params_pack(const struct server_params *p, struct buf *out, struct err *err) CHECKED;
int server_params_unpack(struct str bytes, struct arena *mem, struct server_params *out, struct err *err) CHECKED;

int seat_params_pack(const struct seat_params *p, struct buf *out, struct err *err) CHECKED;
int seat_params_unpack(struct str bytes, struct arena *mem, struct seat_params *out, struct err *err) CHECKED;
void seat_params_lead(const struct seat_params *p, struct run_params *out); /* it leads the conversation */
struct seat_params seat_params_of(const struct run_params *p);              /* the one that does */

int run_params_pack(const struct run_params *p, struct buf *out, struct err *err) CHECKED;
int run_params_unpack(struct str bytes, struct arena *mem, struct run_params *out, struct err *err) CHECKED;

#endif
