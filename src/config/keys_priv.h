/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* keys_priv: the tables of all keys, for the files of this room. */
#ifndef CONFIG_KEYS_PRIV_H
#define CONFIG_KEYS_PRIV_H

#include "config/config.h"

struct keys {
	const struct field *p;
	size_t n;
};

extern const struct keys keys_fixed;    /* of struct config, by dotted name */
extern const struct keys keys_provider; /* of struct config_provider, below providers.<name> */
extern const struct keys keys_mcp;      /* of struct config_mcp, below mcp.<name> */
extern const struct keys keys_model;    /* of struct config_model, below models.<role> */

/* A section of the reference page and of `config show`. */
struct key_section {
	const char *name; /* first part of the dotted keys */
	const char *help;
};
extern const struct key_section key_sections[];
extern const size_t nkey_sections;

/* What a value must be beyond its type; beside enum field_flags. */
enum key_flags {
	KEY_PATHS = 1 << 8,    /* a list of absolute paths; "~/" is the home */
	KEY_PATH = 1 << 9,     /* one of them, or empty */
	KEY_HOSTS = 1 << 10,   /* a list of hosts, host:port or URLs */
	KEY_URL = 1 << 11,     /* a base URL, or empty */
	KEY_HEADERS = 1 << 12, /* an object of header fields, none of which carries a key */
	KEY_WORDS = 1 << 13,   /* an object of strings */
	KEY_SERVERS = 1 << 14, /* a list of language servers that we know */
	KEY_DEMANDS = 1 << 15, /* that it is written down means something, even with the value that is the default */
};

bool keys_path_is(const struct str *path, size_t n, const char *dotted);
/* The row and the struct for the path of a value; a provider is made when `make` is true. False when
 * there is no such key. */
bool keys_find(struct config *c, const struct str *path, size_t n, bool make, struct config_leaf *out);
bool keys_is_section(const struct str *path, size_t n); /* keys stand below it */
struct config_provider *keys_provider_make(struct config *c, struct str name);
struct config_mcp *keys_mcp_make(struct config *c, struct str name);
/* "...: unknown key; did you mean ...?" about the path as it is shown. */
int keys_unknown(struct str shown, const struct str *path, size_t n, struct err *err);

/* One value right after it was decoded: paths are made absolute, addresses read. */
int keys_accept(struct config *c, const struct config_leaf *leaf, struct err *err);
/* What no single value can tell; fn is called for each fault. The place is that of `at`. */
typedef void keys_fault_fn(void *self, const struct config_origin *at, const struct err *err);
void keys_check(struct config *c, keys_fault_fn *fn, void *self);

#endif
