/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* secrets: secrets.toml, the one file with provider keys in it.
 *
 *     [providers.anthropic]
 *     api_key = "..."
 *
 * Shape    Whoever has file rights opens it (secrets_open); whoever may see keys reads the descriptor
 *          (secrets_get). In a run these are two processes: the monitor never parses it.
 * Memory   Keys are struct secret; the buffers and the arena a file is read into are wiped.
 * Errors   -ERR_DENIED for a file of somebody else or one that others can read, with the remedy.
 *          -ERR_NOENT from secrets_open when there is no file, from secrets_get when it has no such key.
 *          Messages about the content carry line and column, never a byte of it.
 */
#ifndef CONFIG_SECRETS_H
#define CONFIG_SECRETS_H

#include "base/arena.h"
#include "base/secret.h"

#define SECRETS_MAX ((size_t)256 * 1024)

/* Regular, owned by us, mode without group and other bits. A link is followed only when it and its
 * target are ours. The descriptor is at offset 0. */
int secrets_open(const char *path, int *out, struct err *err) CHECKED;
/* From offset 0, whatever was read before. A key is one line of printable ASCII. */
int secrets_get(int fd, struct str provider, struct secret *out, struct err *err) CHECKED;
/* The line of the first thing that nobody reads; 0: there is none. Not its name, which may be a key in the wrong place. */
int secrets_stray(int fd, struct err *err) CHECKED;
#define SECRETS_STRAY "is read by nobody; a key stands as api_key in [providers.NAME]"
/* 1 when the file holds a key for it. */
int secrets_has(int fd, struct str provider, struct err *err) CHECKED;

int secrets_check(const struct secret *key, struct err *err) CHECKED; /* -ERR_INVALID: it cannot be one */
/* Changes one key: the rest of the file stays, mode 0600, the old or the new file and no other. */
int secrets_put(const char *path, struct str provider, const struct secret *key, struct err *err) CHECKED;
int secrets_drop(const char *path, struct str provider, struct err *err) CHECKED; /* 1 removed, 0 was not there */

#endif
