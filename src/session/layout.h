/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* layout: where a repository's sessions lie, what they are called, and who may write one.
 *
 * Shape    <state>/<repo-id>/{runs,plans,asks,machines,reviews}/<id>/ holds record/ (the recorder alone writes),
 *          answers/ (views write, the monitor reads) and run.lock.
 *          session_mint, session_create, session_lock for a new one; session_resolve for one that a
 *          person named; session_list for all.
 * Memory   Paths and lists live in the arena. A lock is a descriptor: closing it lets go.
 * Errors   -ERR_NOENT nothing fits; -ERR_AMBIGUOUS several do, and the message lists up to five;
 *          -ERR_BUSY somebody else writes, and the message names the owner.
 * Source   docs/architecture.md, "The record". Locks are OFD locks (fcntl(2)): they die with their
 *          owner, whatever its process number is used for later.
 */
#ifndef SESSION_LAYOUT_H
#define SESSION_LAYOUT_H

#include "base/arena.h"
#include "base/buf.h"

enum session_kind { SESSION_RUN, SESSION_PLAN, SESSION_ASK, SESSION_MACHINE, SESSION_REVIEW, SESSION_KINDS };
#define SESSION_ANY ((1u << SESSION_KINDS) - 1) /* a set of kinds: bits 1 << kind */

#define SESSION_ID_MAX 64

struct session_ref {
	enum session_kind kind;
	char id[SESSION_ID_MAX + 1];
};

const char *session_bucket(enum session_kind kind); /* "runs" */
const char *session_word(enum session_kind kind);   /* "run" */

/* The directory name of a repository: its absolute path with '/' made '-', and a bitmap that keeps
 * "a/b" and "a-b" apart. */
int session_repo_id(struct str workspace, struct buf *out, struct err *err) CHECKED;
/* <state>/<repo-id>; it need not exist yet. */
int session_repo_dir(const char *state_dir, struct str workspace, struct arena *mem, const char **out,
	struct err *err) CHECKED;
/* <repo_dir>/<bucket>/<id>[/part]; part may be NULL. */
const char *session_path(const char *repo_dir, const struct session_ref *ref, const char *part, struct arena *mem);

bool session_id_ok(struct str id);                            /* [A-Za-z0-9_-], not beginning with '-' */
/* adjective-noun-XXXXXX that no bucket holds. */
int session_mint(const char *repo_dir, enum session_kind kind, struct session_ref *out, struct err *err) CHECKED;
/* Makes the directory with record, answers and net in it, mode 0700; -ERR_EXIST when it is there. */
int session_create(const char *repo_dir, const struct session_ref *ref, struct err *err) CHECKED;

/* word: an id, an unambiguous prefix of one over all kinds, or empty for the newest of `kinds`. An
 * exact id of another kind is -ERR_INVALID and says what it is. */
int session_resolve(const char *repo_dir, struct str word, unsigned kinds, struct session_ref *out,
	struct err *err) CHECKED;

struct session_entry {
	struct session_ref ref;
	int64_t active_ms; /* the journal's last change */
	bool live;         /* its run lock is held */
};
/* Newest activity first; directories without a manifest and a journal are left out. */
int session_list(const char *repo_dir, unsigned kinds, struct arena *mem, struct session_entry **out,
	size_t *out_n, struct err *err) CHECKED;

/* One writer per session, for its whole leg: run.lock in its directory. The file stays. */
int session_lock(const char *repo_dir, const struct session_ref *ref, int *out_fd, struct err *err) CHECKED;
bool session_is_live(const char *repo_dir, const struct session_ref *ref);
/* The process that holds the lock, for a pidfd; 0 when nobody does. */
int64_t session_owner(const char *repo_dir, const struct session_ref *ref);
/* A pidfd of it, readable when it ends; -1 when nobody holds the lock. */
int session_owner_pidfd(const char *repo_dir, const struct session_ref *ref);

/* One run at a time changes a checkout: repo.lock, naming the run. -ERR_BUSY names the other run. */
int repo_lock(const char *repo_dir, const char *run_id, int *out_fd, struct err *err) CHECKED;

#endif
