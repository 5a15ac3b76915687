/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide_priv: what the files of redecide share. Each part answers no() where it finds nothing to object to. */
#ifndef AGENT_REDECIDE_PRIV_H
#define AGENT_REDECIDE_PRIV_H

#include "agent/redecide.h"
#include "agent/run_priv.h"

struct redecided redecided_no(void);
struct redecided redecided_yes(const struct journal_line *line, const char *what, struct str was, struct str now);
struct str redecide_said(struct redecide *d, const char *member, int64_t v); /* "member v", until the next turn */
int64_t redecide_int(struct jval obj, const char *key);                      /* -1: it is not there */
struct str redecide_text(struct redecide *d, struct jval obj, const char *key); /* in the turn's arena */

/* redecide_budget.c */
struct redecided budget_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text);
void budget_answer(struct redecide *d, const struct redecide_answer *a);
struct redecided budget_turn(struct redecide *d, bool went_on);
struct redecided budget_end(struct redecide *d, const struct journal_line *line, enum run_reason why);

/* redecide_context.c */
void compact_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text);
struct redecided compact_answer(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a);
void compact_forget(struct redecide *d);

/* redecide_work.c */
struct redecided work_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text);
void work_answer(struct redecide *d, const struct redecide_answer *a);
struct redecided work_turn(struct redecide *d, bool went_on);
struct redecided work_end(struct redecide *d, const struct journal_line *line, enum run_reason why);

/* redecide_review.c */
struct redecided review_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text);
void review_answer(struct redecide *d, const struct redecide_answer *a);
struct redecided review_turn_again(struct redecide *d, bool went_on);
struct redecided review_end(struct redecide *d, const struct journal_line *line, enum run_reason why);

#endif
