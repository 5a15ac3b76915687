/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* apart: where a model may write, and that nothing lies there which is executed or believed on this host.
 *
 * Shape    apart_places once the configuration is loaded; then a check per configured path or program.
 * Memory   In the arena.
 * Errors   -ERR_DENIED with the key, the path, the place and what would be right; what mounts_load says.
 *
 * A path is walked as the kernel walks it, one name after the other and each link too: a link that lies where
 * the model may write is the model's, wherever it leads today. A name that is not there yet counts as one.
 */
#ifndef APP_APART_H
#define APP_APART_H

#include "config/config.h"
#include "fmt/endpoint.h"

/* The workspace and what is granted for writing to commands and to every enabled server, links followed, by every name that
 * mounts give it. */
int apart_places(const struct config *c, const char *workspace, struct arena *mem, struct str_list *out, struct err *err) CHECKED;

/* key: what the path is configured as. */
int apart_path(const struct str_list *places, const char *key, const char *path, struct arena *mem,
	struct err *err) CHECKED;

struct apart_program {
	const char *key;  /* what it is configured as */
	const char *path; /* PATH to look a bare name up in; NULL: our own, as the spawner gets it */
	bool may_work_on; /* a word, not the first, may be a place itself: it is what the program works on */
	bool confined;    /* it runs in a cell, whose PATH is not without the places */
};
/* Checks every word that is a path. A bare first word becomes the absolute path that was found and checked;
 * one that is found nowhere stays, and fails when it is started. Programs start in "/", so that is where
 * relative words are looked for. */
int apart_argv(const struct str_list *places, const struct apart_program *as, const struct str_list *words,
	struct arena *mem, struct str_list *out, struct err *err) CHECKED;
/* The git that the spawner runs by its name, which may be a link in a directory that is nobody else's. */
int apart_git(const struct str_list *places, struct arena *mem, struct err *err) CHECKED;
/* The same for the endpoint's token_command, if it has one. */
int apart_token(
	const struct str_list *places, struct endpoint *e, struct arena *mem, struct err *err) CHECKED;
/* And for its certificates: they say whom its key goes to, and who has the key reads them. key: as configured. */
int apart_ca(const struct str_list *places, const char *key, const struct endpoint *e, struct arena *mem, struct err *err) CHECKED;

#endif
