/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lsp_table: the language servers that agent6 knows how to start, as data.
 *
 * Shape    Rows in the order in which they are preferred where two know a language.
 * Source   docs/lsp.md; the servers' own manuals.
 */
#ifndef FMT_LSP_TABLE_H
#define FMT_LSP_TABLE_H

#include "base/str.h"

#define LSP_SERVERS_MAX 8

struct lsp_language {
	const char *end; /* of a file's name */
	const char *id;  /* as the protocol calls it */
};

struct lsp_server {
	const char *name;         /* in lsp.servers, and in answers */
	const char *argv[6];      /* NULL ended; the first one is looked up in PATH */
	const struct lsp_language *languages; /* ended by { 0 } */
	const char *options;      /* initializationOptions, JSON; NULL: none */
};

extern const struct lsp_server lsp_servers[];
extern const size_t nlsp_servers;

const struct lsp_server *lsp_server_find(struct str name); /* NULL: none of them */
const char *lsp_language_id(const struct lsp_server *s, struct str path); /* NULL: it does not know that language */

#endif
