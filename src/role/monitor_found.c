/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* monitor_found: what others than the agent say became of the run: something was done in it, a repository appeared, or one
 * was changed. No word of the agent's takes it from the record. */
#include "role/monitor_priv.h"

#include "fmt/json.h"

static int note_git(struct monitor *m, struct str path, struct str to, struct str why, struct str detail, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "path", path, err));
	TRY(json_add_member(&b, to.n > 0 ? "moved_to" : "error", to.n > 0 ? to : why, err));
	TRY(json_add_member(&b, "detail", detail, err));
	TRY(buf_addz(&b, "}", err));
	return monitor_note(m, EVENT_JAIL_NEWGIT, buf_str(&b), err);
}

/* What became of a repository is on record, and no word of the agent's takes it from there: such a run was not for
 * nothing. worst: it ends the run. */
static int keep_found(struct monitor *m, const char *reason, const char *why, bool worst, struct err *err)
{
	bool withdrawn = m->end->discard;

	m->worked = true;
	m->end->discard = false;
	if (m->state == MON_RUNNING)
		return worst ? monitor_end_badly(m, reason, why, 1, err) : 0;
	if (m->lost || (!worst && !withdrawn))
		return 0;
	monitor_set_end(m, reason, why, m->end->exit_code == 0 ? 1 : m->end->exit_code);
	return withdrawn ? monitor_say_end(m, reason, why, m->end->exit_code, err) : 0;
}

/* It may come after the agent's last word, of what the agent asked for before. */
int found_work(struct monitor *m, struct member *from, struct err *err)
{
	if (!monitor_may_have_worked(from->id))
		return err_set(err, ERR_PROTOCOL, "WIRE_WORKED is not for the %s to say", from->name);
	return keep_found(m, "protocol", MONITOR_NEVER_BEGAN, false, err);
}

/* A repository appeared where there was none. One that could not be set aside ends the run: what it says would be run by
 * the next git that looks. */
int found_git(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	struct str dir = unpack_str(&u), name = unpack_str(&u), to = unpack_str(&u), why = unpack_str(&u);
	auto_buf struct buf path = BUF_MAX(CHAN_BODY), detail = BUF_MAX(CHAN_BODY);

	(void)from;
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_GIT_FOUND does not decode");
	TRY(buf_addf(&path, err, STR_FMT "/" STR_FMT, STR_ARG(dir), STR_ARG(name)));
	if (to.n > 0)
		TRY(buf_addf(&detail, err, STR_FMT " appeared, where no git repository was: it is " STR_FMT " now, and no git has "
				"looked at it; what is in it may run programs of its own", STR_ARG(buf_str(&path)), STR_ARG(to)));
	else
		TRY(buf_addf(&detail, err, STR_FMT " appeared, where no git repository was, and cannot be renamed (" STR_FMT
				"): use no git there before you removed it", STR_ARG(buf_str(&path)), STR_ARG(why)));
	TRY(note_git(m, buf_str(&path), to, why, buf_str(&detail), err));
	return keep_found(m, "unsafe_repository", detail.p, to.n == 0, err);
}

/* Where no mount protects a repository, what decides about programs in it is compared. A change ends the run: the next
 * git of the person may run what it says. */
int found_changed(struct monitor *m, struct member *from, struct err *err)
{
	struct unpack u = unpack_from(m->msg->body);
	struct str paths = unpack_str(&u), rest = paths;
	auto_buf struct buf b = BUF_MAX(64 * 1024), detail = BUF_MAX(16 * 1024);
	const char *between = "";

	(void)from;
	if (!unpack_done(&u) || paths.n == 0)
		return err_set(err, ERR_PROTOCOL, "WIRE_GIT_CHANGED does not decode");
	TRY(buf_addz(&detail, "changed in the repository during the run, which profile \"hardened\" can only notice: ", err));
	while (rest.n > 0) {
		struct str path = str_trim(str_line(&rest));

		TRY(buf_addf(&detail, err, "%s" STR_FMT, between, STR_ARG(path)));
		between = ", ";
	}
	TRY(buf_addz(&detail, "; look at it before you use git there", err));
	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "paths", str_trim(paths), err));
	TRY(json_add_member(&b, "detail", buf_str(&detail), err));
	TRY(buf_addz(&b, "}", err));
	TRY(monitor_note(m, EVENT_JAIL_GIT_CHANGED, buf_str(&b), err));
	return keep_found(m, "git_changed", detail.p, true, err);
}
