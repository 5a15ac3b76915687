/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fold_priv: what the files of the fold share. fold.c has a function for each kind of event, fold_prompt.c those of approvals and
 * questions; fold_member.c reads the members of a line and keeps what outlives it. */
#ifndef VIEW_FOLD_PRIV_H
#define VIEW_FOLD_PRIV_H

#include "view/fold.h"

#include "fmt/jscan.h"

#define MEMBERS_MAX 48
#define TEXT_BYTES  8192 /* of one kept text */

struct view {
	enum view_mode mode;
	struct view_state state;
	struct buf scratch; /* decoded texts of the current item */
	size_t nmembers;
	struct {
		struct str key; /* without quotes */
		struct jval value;
	} members[MEMBERS_MAX];
};

void members_read(struct view *v, struct str line);
struct jval member_get(const struct view *v, const char *name);
struct str member_text(struct view *v, const char *name); /* dies with the item */
int64_t member_int(const struct view *v, const char *name, int64_t dflt);
double member_num(const struct view *v, const char *name, double dflt);
bool member_flag(const struct view *v, const char *name);
enum tri member_tri(const struct view *v, const char *name);
struct str member_brief(struct view *v, const char *name); /* as member_text */
struct str member_whole(struct view *v, const char *name); /* the same, up to WHOLE_BYTES */

void keep_text(struct buf *b, struct str s); /* its first TEXT_BYTES */
void keep_z(char *to, size_t size, struct str s);
void keep_strs(struct view *v, const char *name, struct buf *out); /* a list, a line each */

/* Folds of events. */
void prompt_approval(struct view *v, struct view_item *it);
void prompt_question(struct view *v, struct view_item *it);
void prompt_approved(struct view *v, struct view_item *it);
void prompt_answers(struct view *v, struct view_item *it);
void prompts_drop(struct view_state *s);

#endif
