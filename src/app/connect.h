/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* connect: a provider is configured and its key is stored; a model is chosen for a role.
 *
 * Shape    Fill a request, connect_provider; then connect_probe when somebody wants to know. Front-ends
 *          ask the questions, this decides nothing but what is right.
 * Memory   In the arena; keys are struct secret.
 * Errors   As from config/edit.h: what would be wrong is refused before anything is written.
 */
#ifndef APP_CONNECT_H
#define APP_CONNECT_H

#include "app/place.h"
#include "base/secret.h"
#include "config/edit.h"
#include "role/lister.h"

/* Providers whose address and format are known. */
struct connect_preset {
	const char *name, *api_format;
	const char *base_url; /* NULL: the format's own */
	bool keyless;         /* usually needs no key; where base_url is of this machine, `run` looks for it */
	const char *help;
	const char *url_form; /* the address is each person's own, of this form */
	const char *deployment, *auth_style, *token_command; /* NULL: the default */
};
extern const struct connect_preset connect_presets[];
extern const size_t nconnect_presets;
const struct connect_preset *connect_preset(struct str name); /* NULL when it is none */
const char *connect_preset_near(struct str name); /* the name of one that this was probably meant to be; NULL: it is one, or none is near */

struct connect_request {
	struct str name;
	struct str api_format, base_url, api_key_env, ca_file; /* empty: as it was, or as the preset says */
	enum config_layer layer;  /* CONFIG_GLOBAL or CONFIG_REPO */
	const struct secret *key; /* NULL or empty: none is stored */
};

struct connect_done {
	const char *config_file, *secrets_file; /* secrets_file: NULL when no key was stored */
	struct err warning;                     /* the configuration was wrong before; code ERR_NONE: no */
};

/* The checks that need no question answered: the name, the format, the address. */
int connect_check(const struct connect_request *rq, struct err *err) CHECKED;
int connect_provider(const struct place *place, const struct connect_request *rq, struct arena *mem,
	struct connect_done *out, struct err *err) CHECKED;
/* Removes the stored key; the configuration stays. 1 removed, 0 there was none. */
int connect_logout(const struct place *place, struct str name, struct err *err) CHECKED;

enum connect_key { CONNECT_KEY_NONE, CONNECT_KEY_ENV, CONNECT_KEY_STORED, CONNECT_KEY_NOT_NEEDED,
	CONNECT_KEY_COMMAND };
/* Where a provider's key would come from, without looking at it. */
int connect_key_of(const struct place *place, const struct config_provider *p, struct arena *mem, enum connect_key *out,
	struct err *err) CHECKED;

/* Asks the provider for its list of models, through a broker and a client of its own; a process that holds
 * nothing reads it. The answer's HTTP status, and the models when there are any, which are kept (app/models.h). A server that refuses the key is an answer. */
struct connect_answer {
	int status;
	struct model_list models;
};
#define CONNECT_LIST_MAX ((size_t)8 * 1024 * 1024)
int connect_probe(const struct place *place, const struct config_provider *p, struct arena *mem,
	struct connect_answer *out, struct err *err) CHECKED;

#endif
