/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* message: what a commit says, made of words that nobody vouches for and of which files changed.
 *
 * A model's words reach a commit only through message_line and message_text. What could steer a terminal is shown instead, and a
 * line that has the form of a trailer is left out: who signed off, reviewed or wrote something is not a model's to say, and
 * "Closes: #1" acts on a server that the commit comes to. Trailers are what the operator configured.
 *
 * Shape    message_line or message_text for words, message_conventional for a first line with a kind before it.
 * Memory   Appends to the caller's buf, or lives in the arena.
 * Errors   -ERR_LIMIT when the buf is full.
 * Source   git-interpret-trailers(1); Conventional Commits 1.0.0.
 */
#ifndef GIT_MESSAGE_H
#define GIT_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"

#define MESSAGE_COLUMNS 72

/* The first line that says something and is no trailer, at most max bytes; empty when there is none. */
int message_line(struct str words, size_t max, struct buf *out, struct err *err) CHECKED;
/* All lines that are no trailers, each wrapped, at most max_lines of them; an empty line parts paragraphs, none stands at
 * either end. */
int message_text(struct str words, size_t max_lines, struct buf *out, struct err *err) CHECKED;
bool message_is_trailer(struct str line);

/* A path that a commit changed. */
struct message_path {
	struct str name;
	bool added;
};
/* "fix(scope): " and what comes of words behind it, at most MESSAGE_COLUMNS bytes: test where only tests changed, docs where only
 * documentation did, feat where a file is new, chore where nothing changed; the scope is the directory that all paths share
 * below the first one. A kind that the words begin with goes away. */
int message_conventional(const struct message_path *paths, size_t n, struct str words, struct buf *out, struct err *err) CHECKED;

#endif
