/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* models: which models there are, as the servers themselves say; and which servers there are on this machine.
 *
 * Shape    models_cached answers from what an earlier question left; models_list asks the provider when that
 *          is older than ten minutes. models_discover knocks at the usual ports of local servers.
 *          models_judge says whether a provider offers what somebody typed.
 * Memory   In the arena.
 * Errors   -ERR_NOENT from models_cached when nothing is kept. models_list as connect_probe; a server that
 *          does not answer gives what is kept, however old.
 * Source   <cache>/models/<provider>.json: {"models":[ids],"pricing":{id:[in,out]},"context":{id:tokens}}.
 */
#ifndef APP_MODELS_H
#define APP_MODELS_H

#include "app/connect.h"

int models_cached(const struct place *place, struct str provider, struct arena *mem, struct model_list *out,
	bool *fresh, struct err *err) CHECKED;
/* A list that cannot be kept is no failure. */
void models_keep(const struct place *place, struct str provider, const struct model_list *list);
int models_list(const struct place *place, const struct config_provider *p, struct arena *mem, struct connect_answer *out,
	struct err *err) CHECKED;
/* What is known of one model; NULL: nothing. */
const struct listed_model *models_find(const struct model_list *list, struct str id);

#define MODELS_NEAR 3
enum model_known {
	MODEL_LISTED,   /* id is how the server calls it */
	MODEL_UNLISTED, /* near: names like it, nearest first */
	MODEL_UNASKED,  /* why: the server could not be asked, or gave no list */
};

struct model_verdict {
	enum model_known known;
	struct str id; /* what was typed, or the one model whose name begins so */
	struct str near[MODELS_NEAR];
	size_t nnear, listed;
	struct err why;
};
/* Asks the server when what is kept does not tell; a list that is older than ten minutes is believed only for a
 * name that is in it as it was typed. */
void models_judge(const struct place *place, const struct config_provider *p, struct str model, struct arena *mem,
	struct model_verdict *out);
/* The names of a list that are most like what was typed, nearest first; at most MODELS_NEAR. */
size_t models_near(const struct model_list *list, struct str typed, struct arena *mem, struct str *out, size_t most);

struct local_server {
	const struct connect_preset *preset;
	struct model_list models; /* at least one */
};
/* Every keyless preset whose address is of this machine is asked, each for as long as `patience_ms`. */
int models_discover(struct arena *mem, int64_t patience_ms, struct local_server **out, size_t *n, struct err *err) CHECKED;

#endif
