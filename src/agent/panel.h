/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* panel: reviewers of a diff, what they found, and whether that blocks.
 *
 * Shape    panel_run asks the seats, some at a time, and fills the findings; panel_decide counts. Grounding is mechanical: a
 *          finding names a file of the diff and quotes lines that stand in it, or it cannot block.
 * Memory   In the arena of the call.
 * Errors   A seat that gives no usable answer abstains; only what ends the run is an error.
 * Source   docs/modes.md, "Review".
 */
#ifndef AGENT_PANEL_H
#define AGENT_PANEL_H

#include "fmt/field.h"

#define PANEL_SEATS_MAX   8
#define PANEL_DIFF_MAX    60000 /* bytes of it that a seat is shown */
#define PANEL_FINDINGS_MAX 40   /* of one seat */

enum panel_decision { PANEL_ADVISORY, PANEL_VETO, PANEL_QUORUM, PANEL_ALL };
enum seat_verdict { SEAT_PASS, SEAT_BLOCK, SEAT_ABSTAIN };

struct finding {
	int category, severity; /* indices into finding_categories, finding_severities */
	struct str path, quote, title, detail;
	bool grounded;          /* the quote stands in the diff of that path */
	int64_t line;           /* of the new file, or of the old one where it was removed; 0: not known */
};
enum { SEVERITY_BLOCK, SEVERITY_WARN, SEVERITY_NIT };
extern const char *const finding_categories[], *const finding_severities[];

struct panel_seat {
	struct str persona, model, summary;
	enum seat_verdict verdict;
	int64_t transcript;       /* of the answer that says so */
	struct obj_list findings; /* struct finding */
};

struct panel {
	struct panel_seat seats[PANEL_SEATS_MAX];
	size_t n;
	size_t blocks, abstains;
	bool blocked;
};

struct panel_ask {
	struct str task;    /* what the change is for; may be empty */
	struct str diff;    /* whole; it is shown cut where it is too long */
	struct str rules;   /* AGENTS.md, or empty */
	struct str verify;  /* how the gate stands, or empty */
	struct str_list personas; /* empty: one reviewer */
	enum panel_decision decision;
	int64_t quorum;
	bool disarmed;      /* the decision is advisory because too much was sent back */
	int64_t at_once;    /* seats asked at the same time */
	bool explore;       /* a seat may look at the repository before it answers */
	struct str raised;  /* findings of earlier panels, or empty */
	struct str log;     /* newest commits, or empty */
	struct str trigger; /* for the record */
	int64_t iteration;
};

struct run;
int panel_run(struct run *r, const struct panel_ask *ask, struct arena *mem, struct panel *out, struct err *err) CHECKED;
int panel_markdown(const struct panel *p, struct buf *out, struct err *err) CHECKED;
int panel_json(const struct panel *p, struct buf *out, struct err *err) CHECKED;

/* A seat's verdict and findings from its answer; diff: as it was shown it. */
int panel_seat_read(struct str answer, struct str diff, struct arena *mem, struct panel_seat *s, struct err *err) CHECKED;

/* What decides, by itself. */
bool panel_blocks(const struct panel *p, enum panel_decision decision, int64_t quorum);
/* Sets grounded and line; a block that may not block becomes a warning. */
void finding_ground(struct finding *f, struct str diff);
enum panel_decision panel_decision_from(struct str word); /* advisory when it is none */

#endif
