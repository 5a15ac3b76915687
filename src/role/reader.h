/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* reader: the process that reads what an agent may have written: the record of a session, the notes of earlier runs, the
 * HEAD, packed refs and index of a repository; and the end of what a command wrote that failed. Who asks is an agent6 with the operator's files, so a process that holds
 * nothing but a descriptor of what it is to read does it, answers once, and ends.
 *
 * Shape    role_reader_main is the process. reader_facts and reader_notes ask and wait. A repository is asked about while
 *          the asker does something else: reader_start_repo, then reader_take_repo, or peer_kill.
 * Memory   Answers live in the arena.
 * Errors   What the reading failed with, its text from the other process; -ERR_CLOSED when it died over it; -ERR_PROTOCOL for
 *          an answer that has not the shape it must have.
 * Source   docs/architecture.md, "The processes of a run".
 */
#ifndef ROLE_READER_H
#define ROLE_READER_H

#include "git/discover.h"
#include "git/repo.h"
#include "role/launch.h"
#include "session/facts.h"

struct denial;      /* tool/denial.h */
struct denial_jail;
struct job_result;

#define READER_NOTES     64 /* the newest ones */
#define READER_NOTE_PARTS 5 /* id, scope, text, origin, time */

int role_reader_main(void); /* exit status */

int reader_facts(int record_fd, bool ending, struct arena *mem, struct facts *out, struct err *err) CHECKED;
/* The same in two, for who has something else to do meanwhile. */
int reader_start_facts(int record_fd, bool ending, struct peer *out, struct err *err) CHECKED;
int reader_take_facts(struct peer *p, struct arena *mem, struct facts *out, struct err *err) CHECKED; /* ends p, whatever comes */
/* Members of the manifest, a JSON object, that a command of the operator's sets: as manifest_merge with MANIFEST_HO. */
int reader_add(int record_fd, struct str members, struct err *err) CHECKED;
/* READER_NOTE_PARTS strings a note. */
int reader_notes(int notes_fd, struct arena *mem, struct str_list *out, struct err *err) CHECKED;

struct repo_facts {
	bool have_head; /* else the files do not tell: ask git */
	struct repo_head head;
	struct discovered_inner inner;
};
int reader_start_repo(const struct discovered *d, struct peer *out, struct err *err) CHECKED;
int reader_take_repo(struct peer *p, const struct discovered *d, struct arena *mem, struct repo_facts *out,
	struct err *err) CHECKED; /* ends p, whatever comes */

/* Whether the jail made a command fail, asked by who may not read what the command wrote: the end of that and the jail's paths
 * go, a rule and a path come back, and the sentence is made here. In between the asker may wait on out->chan as long as it
 * likes, then reader_take_denial, or peer_kill. */
int reader_start_denial(const struct denial_jail *jail, const struct job_result *job, struct peer *out, struct err *err) CHECKED;
int reader_take_denial(struct peer *p, struct arena *mem, struct denial *out, struct err *err) CHECKED; /* ends p, whatever comes */

/* What is taken of an answer, for tests. */
int reader_unpack_denial(struct str bytes, struct arena *mem, struct denial *out, struct err *err) CHECKED;
int reader_unpack_notes(struct str bytes, struct arena *mem, struct str_list *out, struct err *err) CHECKED;
int reader_unpack_repo(struct str bytes, const struct discovered *d, struct arena *mem, struct repo_facts *out,
	struct err *err) CHECKED;

#endif
