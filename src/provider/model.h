/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* model: which API speaks to which model, and what that model will not accept.
 *
 * Shape    Fill a struct model_spec (MODEL_SPEC gives the defaults); request_encode and reply_new read
 *          it. After a refusal model_adapt latches what the server would not take.
 * Memory   The strings of a spec are borrowed and outlive every use of it.
 * Errors   An unknown model works: it has no price, no window, and the rules of its wire alone.
 * Units    Prices are micro-dollars per million tokens. Windows are tokens.
 * Source   The tables in model.c and model_facts.c; each row says where its facts come from.
 */
#ifndef PROVIDER_MODEL_H
#define PROVIDER_MODEL_H

#include "base/str.h"

/* One row per wire; its code is the row of the same name in wires.c. */
#define API_WIRES(X)                                                                                         \
	X(API_ANTHROPIC, "anthropic") /* Anthropic Messages */                                               \
	X(API_CHAT, "openai")         /* OpenAI Chat Completions and the many servers that speak it */        \
	X(API_RESPONSES, "responses") /* OpenAI Responses */

enum api_wire {
#define X(value, word) value,
	API_WIRES(X)
#undef X
	API_COUNT
};

enum api_deployment { DEPLOY_DIRECT, DEPLOY_VERTEX, DEPLOY_AZURE };

#define EFFORTS(X)                                                                                           \
	X(EFFORT_UNSET, "unset")                                                                             \
	X(EFFORT_OFF, "off")                                                                                 \
	X(EFFORT_LOW, "low")                                                                                 \
	X(EFFORT_MEDIUM, "medium")                                                                           \
	X(EFFORT_HIGH, "high")                                                                               \
	X(EFFORT_XHIGH, "xhigh")                                                                             \
	X(EFFORT_MAX, "max")

enum api_effort {
#define X(value, word) value,
	EFFORTS(X)
#undef X
	EFFORT_COUNT
};

/* What a server refused and is not sent again; set by model_adapt, kept for the run. */
enum model_adapted {
	ADAPT_NO_TEMPERATURE = 1 << 0,
	ADAPT_MAX_COMPLETION = 1 << 1,   /* max_tokens is called max_completion_tokens there */
	ADAPT_NO_STREAM_OPTIONS = 1 << 2,
	ADAPT_EFFORT_NONE = 1 << 3,      /* tools only with reasoning_effort "none" */
	ADAPT_NO_EFFORT = 1 << 4,
	ADAPT_NO_THINKING = 1 << 5,
	ADAPT_NO_THINKING_REPLAY = 1 << 6, /* old thoughts were refused: the history goes without */
	ADAPT_NO_SUMMARY = 1 << 7,       /* thoughts are not summarised for this account */
	ADAPT_NO_ENCRYPTED = 1 << 8,     /* thoughts are not handed out */
	ADAPT_NO_MAX_TOKENS = 1 << 9,
	ADAPT_NINE_IDS = 1 << 10,        /* call ids are nine letters and digits */
	ADAPT_NO_PICTURES = 1 << 12,     /* pictures were refused: the history goes without */
	ADAPT_RESPONSES = 1 << 11,       /* the server named the other wire: it is API_RESPONSES from then on */
};

struct model_spec {
	enum api_wire wire;
	enum api_deployment deployment;
	struct str model;
	bool openai_host;        /* the host is api.openai.com itself */
	bool responses_too;      /* API_CHAT: the caller can reach the same server's Responses as well */
	bool local;              /* a server of this machine: it may read a prompt for minutes */
	enum api_effort effort;
	double temperature;      /* below 0: not sent */
	int64_t max_tokens;      /* of one answer */
	bool prompt_caching;     /* cache_control marks; API_ANTHROPIC only */
	struct str extra_body;   /* a JSON object merged into each request, or empty */
	bool recover_text_calls; /* read tool calls that a model wrote as text */
	bool pictures;           /* it is shown what tools bring; model_sees knows of which models */
	bool think_tags;         /* <think>...</think> at the start of the text is thinking */
	unsigned adapted;        /* enum model_adapted */
};

#define MODEL_SPEC                                                                                           \
	((struct model_spec){ .max_tokens = 16384, .prompt_caching = true, .recover_text_calls = true,       \
		.think_tags = true })

const char *api_wire_name(enum api_wire wire);
bool api_wire_from(struct str word, enum api_wire *out);
const char *api_effort_name(enum api_effort effort);
bool api_effort_from(struct str word, enum api_effort *out);

/* After a 400 or 422, or a 404 that names another wire: true when the answer names something that can be left out, which is latched in
 * spec->adapted; send the request again at once. False when nothing new was learned. */
bool model_adapt(struct model_spec *spec, int status, struct str body);

/* Price and size as far as known. */
struct model_facts {
	bool price_known;
	int64_t in, out, cache_read, cache_write; /* micro-dollars per million tokens */
	int64_t tier_above;                       /* prompts larger than this cost the tier prices; 0: no tier */
	int64_t tier_in, tier_out;
	int64_t window;                           /* tokens; 0: unknown */
	int64_t max_output;                       /* tokens; 0: unknown */
	const char *source;                       /* NULL: the model is unknown */
};

struct model_facts model_facts_get(struct str model);

/* How requests for this model differ. */
enum model_thinking {
	THINK_NONE,
	THINK_BUDGET,
	THINK_ADAPTIVE,
	THINK_SHOWN, /* adaptive, and asked to summarise */
};

struct model_rule {
	enum model_thinking thinking;
	enum api_effort most;    /* larger efforts are asked for as this one */
	bool no_temperature;
	bool max_completion;     /* max_completion_tokens instead of max_tokens */
	bool reasons;            /* a model of OpenAI's wires that takes a reasoning effort */
	bool large_answers;      /* max_tokens is at least 32768, thoughts count against it */
	bool replay_reasoning;   /* reasoning_content of earlier answers goes back */
	bool tools_need_responses; /* on API_CHAT tools come only with reasoning_effort "none", or not at all */
	const char *off;         /* the effort that stands for EFFORT_OFF; NULL: none does */
	const char *source;
};

struct model_rule model_rule_get(const struct model_spec *spec);

/* True of a model that is known to read pictures, and whose server was not seen to refuse them. */
bool model_sees(struct str model);

/* The rows of the tables, for who wants to know where a fact comes from; false: there is no such row. */
enum model_table { MODEL_RULES, MODEL_FACTS, MODEL_REFUSALS, MODEL_SIGHT };
struct model_row {
	const char *name; /* of MODEL_REFUSALS: what an answer names */
	const char *source;
	enum api_wire wire; /* MODEL_RULES */
	bool openai_host;   /* MODEL_RULES: only there */
};
bool model_row(enum model_table table, size_t i, struct model_row *out);

/* The wire to speak: spec->wire, or API_RESPONSES for a model of OpenAI's own that takes tools in no other
 * way. Whoever makes the address and whoever makes the body ask here. */
enum api_wire model_wire(const struct model_spec *spec);

#endif
