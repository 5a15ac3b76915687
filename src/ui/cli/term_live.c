/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/term_live.h"

#include "session/answers.h"
#include "ui/cli/composer.h"
#include "ui/cli/term_view.h"

#include "base/time.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "view/follow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define INPUT_MAX 8192
#define HASTY_MS  2000 /* to see that another question stands where one was taken back */

struct term_live {
	struct term_live_spec spec;
	struct follow *follow;
	struct view *view;
	struct term_view term;
	struct loop *loop;
	struct buf input;       /* typed, not yet a line */
	struct buf answers;     /* of a question with several parts, so far */
	char asking[64];        /* the prompt whose answer is being typed, or empty */
	size_t nth;             /* which of its questions */
	char answered[64];      /* the last one answered here: its event may still be on its way */
	bool replaced;          /* the prompt that was asked went away without an answer from here; */
	int64_t hasty_ms;       /* until then an answer to the one in its place may have been meant for it */
	bool menu;              /* the pause stands last on the screen */
	bool said;              /* something was shown since the journal was read last */
	bool ended;             /* run.end was shown */
	bool over, left;
};

/* ---- showing ---- */

/* Earlier legs of a resumed run were shown when they ran. By the event's own time, so it does not matter
 * how far this leg has got before we read. */
static bool is_old(const struct term_live *l, const struct view_item *it)
{
	return l->spec.since && str_cmp(it->ts, str_from(l->spec.since)) < 0;
}

static bool can_answer(const struct term_live *l)
{
	return l->spec.in_fd >= 0 && l->spec.answers_fd >= 0;
}

static int on_journal_line(void *self, struct str line, struct err *err)
{
	struct term_live *l = self;
	struct view_item it = view_line(l->view, line);

	if (is_old(l, &it))
		return 0;
	if (it.kind == VIEW_START)
		l->ended = false;
	if (it.kind == VIEW_END || (view_state(l->view)->detached && l->spec.over_is_terminal))
		l->ended = true;
	if (it.kind == VIEW_ANSWER && l->asking[0] && str_eqz(it.name, l->asking)) {
		l->asking[0] = '\0'; /* somebody else was faster, or it was taken back */
		l->replaced = true;
		buf_clear(&l->answers);
	}
	/* What can be answered here is asked properly, not told. */
	if ((it.kind == VIEW_PROMPT || it.kind == VIEW_QUESTION || it.kind == VIEW_PAUSED) && can_answer(l))
		return 0;
	size_t before = l->term.out.n;

	TRY(term_view_item(&l->term, &it, view_state(l->view), err));
	l->said = l->said || l->term.out.n != before;
	return 0;
}

/* ---- asking ---- */

static const struct view_prompt *find_prompt(const struct term_live *l, const char *id)
{
	const struct view_state *s = view_state(l->view);

	for (size_t i = 0; i < s->nprompts; i++)
		if (strcmp(s->prompts[i].id, id) == 0)
			return &s->prompts[i];
	return NULL;
}

/* The oldest open prompt that is not the one just answered. A finished run asks nothing. */
static int ask_next(struct term_live *l, struct err *err)
{
	const struct view_state *s = view_state(l->view);

	if (!can_answer(l) || l->asking[0] || l->over)
		return 0;
	if (l->menu && !s->paused)
		l->menu = false;
	if (!l->menu && s->paused && s->nprompts == 0) {
		l->menu = true;
		return term_view_pause(&l->term, err);
	}
	for (size_t i = 0; i < s->nprompts; i++) {
		const struct view_prompt *p = &s->prompts[i];

		if (strcmp(p->id, l->answered) == 0)
			continue;
		snprintf(l->asking, sizeof(l->asking), "%s", p->id);
		l->nth = 0;
		buf_clear(&l->answers);
		buf_clear(&l->input);
		/* What was typed before the question was shown is no answer to it, and a terminal may take its time. */
		TRY(term_view_flush(&l->term, err));
		if (tcflush(l->spec.in_fd, TCIFLUSH) < 0 && errno != ENOTTY && errno != EPERM)
			return err_sys(err, errno, "flush the keyboard");
		TRY(term_view_ask(&l->term, p, 0, err));
		TRY(term_view_flush(&l->term, err));
		l->hasty_ms = l->replaced ? time_mono_ms() + HASTY_MS : 0;
		l->replaced = false;
		return 0;
	}
	return 0;
}

/* Something was shown below the open question: it is put again, so that what stands last is what an answer is to. */
static int ask_again(struct term_live *l, struct err *err)
{
	const struct view_prompt *p = l->asking[0] ? find_prompt(l, l->asking) : NULL;

	if (!p && l->menu)
		l->menu = false; /* it is put again below what was shown */
	if (!p)
		return 0;
	buf_clear(&l->input);
	TRY(term_view_flush(&l->term, err));
	if (tcflush(l->spec.in_fd, TCIFLUSH) < 0 && errno != ENOTTY && errno != EPERM)
		return err_sys(err, errno, "flush the keyboard");
	return term_view_ask(&l->term, p, l->nth, err);
}

static int write_answer(struct term_live *l, struct str text, struct err *err)
{
	TRY(answers_reply(l->spec.answers_fd, l->asking, text, err));
	snprintf(l->answered, sizeof(l->answered), "%s", l->asking);
	l->asking[0] = '\0';
	l->term.mid_line = false; /* the person's own Enter ended the line */
	return 0;
}

/* A capital N is "never": one key, no other meaning. */
static const char *approval_word(struct str typed)
{
	static const struct { const char *typed, *word; } words[] = {
		{ "y", "yes" }, { "Y", "yes" }, { "yes", "yes" }, { "a", "always" }, { "A", "always" },
		{ "always", "always" }, { "n", "no" }, { "no", "no" }, { "N", "never" }, { "never", "never" },
	};

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(typed, words[i].typed))
			return words[i].word;
	return NULL;
}

static int answer_approval(struct term_live *l, const struct view_prompt *p, struct str typed, struct err *err)
{
	const char *word = approval_word(typed);

	if (word)
		return write_answer(l, str_from(word), err);
	l->term.mid_line = false;
	TRY(term_view_note(&l->term, "not understood: y, a, n or N", err));
	TRY(term_view_note(&l->term, p->of_tool ? "y allows this call, a every call of this tool, n refuses it, N every call of this tool"
						: "y allows this one, a every command of this run, n refuses it, N every command of this run", err));
	if (l->spec.signals_fd >= 0) /* the run's own terminal */
		TRY(term_view_note(&l->term, "Ctrl-C pauses after the step, a second one takes this question back", err));
	return term_view_ask(&l->term, p, 0, err);
}

/* A number picks an option, or none: then text is empty. Anything else is the answer as typed, as is a number where there are
 * no options. */
static struct str pick_option(const struct view_prompt *p, size_t nth, struct str typed)
{
	struct str text = buf_str(&p->text);
	bool options = false;
	int64_t want;
	size_t q = 0;

	if (str_to_i64(typed, &want, ERR_DISCARD) < 0)
		return typed;
	while (text.n > 0) {
		struct str line = str_trim_suffix(str_line(&text), STR("\n"));

		if (!str_starts(line, STR(" "))) {
			q++;
			continue;
		}
		if (q == nth + 1 && --want == 0)
			return str_trim(line);
		options = options || q == nth + 1;
	}
	return options ? STR("") : typed;
}

static int answer_question(struct term_live *l, const struct view_prompt *p, struct str typed, struct err *err)
{
	if (typed.n == 0) {
		l->term.mid_line = false;
		return term_view_ask(&l->term, p, l->nth, err);
	}
	struct str answer = pick_option(p, l->nth, typed);

	if (answer.n == 0) {
		l->term.mid_line = false;
		TRY(term_view_note(&l->term, "no option has that number: type one that is shown, or an answer in words", err));
		return term_view_ask(&l->term, p, l->nth, err);
	}
	TRY(buf_add(&l->answers, answer, err));
	TRY(buf_addc(&l->answers, '\n', err));
	l->nth++;
	l->term.mid_line = false;
	if (l->nth < p->nquestions)
		return term_view_ask(&l->term, p, l->nth, err);
	return write_answer(l, buf_str(&l->answers), err);
}

/* ---- what a person says of his own accord ---- */

static int tell(struct term_live *l, const struct typed *t, struct err *err)
{
	struct err why = { 0 };
	int r = answers_tell(l->spec.answers_fd, t->kind, t->text, &why);

	if (r == -ERR_LIMIT || r == -ERR_INVALID)
		return term_view_note(&l->term, why.msg, err);
	if (r < 0)
		*err = why;
	return r;
}

/* Words at the pause go on with them. A pause that is still to come stays: who asked for it wants to be asked. */
static int tell_words(struct term_live *l, const struct typed *t, struct err *err)
{
	static const struct typed go_on = { .what = TYPED_TELL, .kind = ANSWER_CONTINUE };
	bool goes_on = t->kind == ANSWER_STEER && !str_starts(t->text, STR("/pin")) && view_state(l->view)->paused;

	TRY(tell(l, t, err));
	return goes_on ? tell(l, &go_on, err) : 0;
}

static int on_words(struct term_live *l, struct str line, struct err *err)
{
	const struct view_state *s = view_state(l->view);
	struct typed t = compose(line, s->paused);

	l->replaced = false;      /* who says something sees that nothing is asked */
	l->term.mid_line = false; /* the person's own Enter ended the line */
	if (l->over || l->ended)
		return 0;
	if (t.what != TYPED_TELL && t.what != TYPED_NOTHING)
		l->menu = false; /* the pause is put again below what is said here */
	switch (t.what) {
	case TYPED_NOTHING:
		return 0;
	case TYPED_TELL:
		return tell_words(l, &t, err);
	case TYPED_STATUS:
		return term_view_status(&l->term, s, err);
	case TYPED_RESTATE:
		return term_view_restate(&l->term, s, err);
	case TYPED_PRESET:
		return term_view_preset(&l->term, s, err);
	case TYPED_PINS:
		return term_view_pins(&l->term, s, err);
	case TYPED_SHELLS:
		return term_view_shells(&l->term, s, err);
	case TYPED_HELP:
		return term_view_help(&l->term, err);
	case TYPED_WRONG:
		return term_view_note(&l->term, t.message, err);
	}
	return 0;
}

static int on_typed_line(struct term_live *l, struct str typed, struct err *err)
{
	const struct view_prompt *p = l->asking[0] ? find_prompt(l, l->asking) : NULL;

	if (typed.n >= TERM_TYPED_MAX) { /* its end may be missing: half a sentence is no instruction */
		l->term.mid_line = false;
		TRY(term_view_note(&l->term, "longer than a line of a terminal can be: nothing was sent; put it into a file and name it", err));
		return ask_again(l, err);
	}
	if (!p)
		return can_answer(l) ? on_words(l, typed, err) : 0;
	if (time_mono_ms() < l->hasty_ms) { /* once: who types it again has seen what it says */
		l->hasty_ms = 0;
		l->term.mid_line = false;
		TRY(term_view_note(&l->term, "the question before this one was taken back as you typed: this is another one", err));
		return ask_again(l, err);
	}
	return p->question ? answer_question(l, p, typed, err) : answer_approval(l, p, typed, err);
}

/* ---- the loop ---- */

static int catch_up(struct term_live *l, struct err *err)
{
	l->said = false;
	TRY(follow_read(l->follow, on_journal_line, l, err));
	TRY(l->said ? ask_again(l, err) : 0);
	TRY(ask_next(l, err));
	TRY(term_view_flush(&l->term, err));
	if (l->ended || l->over)
		loop_quit(l->loop);
	return 0;
}

static int on_journal(void *self, uint32_t events, struct err *err)
{
	(void)events;
	return catch_up(self, err);
}

/* Nothing more will be written; what is there is still shown. */
static int on_over(void *self, uint32_t events, struct err *err)
{
	struct term_live *l = self;

	(void)events;
	loop_unwatch(l->loop, l->spec.over_fd);
	l->over = true;
	return catch_up(l, err);
}

static int on_stop(void *self, uint32_t events, struct err *err)
{
	struct term_live *l = self;

	(void)events;
	(void)err;
	l->left = true;
	loop_quit(l->loop);
	return 0;
}

/* Ctrl-C at the pause ends the run; before it the monitor hears it by itself. Ctrl-Z suspends nobody: it takes back a
 * pause that was asked for, and says how the terminal can be left. */
static int on_signals(void *self, uint32_t events, struct err *err)
{
	static const struct typed stop = { .what = TYPED_TELL, .kind = ANSWER_STOP };
	static const struct typed go_on = { .what = TYPED_TELL, .kind = ANSWER_CONTINUE };
	struct term_live *l = self;
	struct signalfd_siginfo si;

	(void)events;
	while (read(l->spec.signals_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (!can_answer(l) || l->over || l->ended)
			continue;
		if (si.ssi_signo == SIGINT && view_state(l->view)->paused)
			TRY(tell(l, &stop, err));
		if (si.ssi_signo != SIGTSTP)
			continue;
		TRY(term_view_status(&l->term, view_state(l->view), err));
		TRY(term_view_note(&l->term, "the run goes on; /detach leaves the terminal", err));
		if (!view_state(l->view)->paused)
			TRY(tell(l, &go_on, err));
		l->menu = false;
	}
	TRY(ask_next(l, err));
	return term_view_flush(&l->term, err);
}

static int on_keys(void *self, uint32_t events, struct err *err)
{
	struct term_live *l = self;
	char bytes[1024];
	ssize_t n = read(l->spec.in_fd, bytes, sizeof(bytes));

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EIO)) /* EIO: we are in the background */
		return 0;
	if (n <= 0) { /* end of input: an open approval is a no, a question has no answer; nothing more is asked here */
		const struct view_prompt *p = l->asking[0] ? find_prompt(l, l->asking) : NULL;

		loop_unwatch(l->loop, l->spec.in_fd);
		if (p)
			TRY(write_answer(l, p->question ? STR("") : STR("no"), err));
		l->spec.in_fd = -1;
		return 0;
	}
	if (buf_add(&l->input, str_of(bytes, (size_t)n), ERR_DISCARD) < 0)
		buf_clear(&l->input); /* longer than any answer */
	for (;;) {
		struct str all = buf_str(&l->input);
		size_t nl = str_find_any(all, STR("\n"));

		if (nl == all.n)
			break;
		TRY(on_typed_line(l, nl < TERM_TYPED_MAX ? str_trim(str_head(all, nl)) : str_head(all, nl), err));
		TRY(buf_splice(&l->input, 0, nl + 1 < l->input.n ? nl + 1 : l->input.n, STR(""), err));
	}
	TRY(ask_next(l, err));
	return term_view_flush(&l->term, err);
}

int term_live_open(const struct term_live_spec *spec, struct term_live **out, struct err *err)
{
	auto_term_live struct term_live *l = mem_alloc(sizeof(*l));

	l->spec = *spec;
	l->input = BUF_MAX(INPUT_MAX);
	l->answers = BUF_MAX(2 * INPUT_MAX);
	l->view = view_new(VIEW_ALL);
	term_view_init(&l->term, spec->out_fd, spec->style,
		term_is_tty(spec->out_fd) ? term_columns(spec->out_fd) : TERM_NO_COLUMNS);
	TRY(loop_open(&l->loop, err));
	TRY(follow_open(spec->record_fd, &l->follow, err));
	*out = take(&l);
	return 0;
}

void term_live_close(struct term_live *l)
{
	if (!l)
		return;
	follow_close(l->follow);
	loop_close(l->loop);
	view_free(l->view);
	term_view_fini(&l->term);
	buf_fini(&l->input);
	buf_fini(&l->answers);
	free(l);
}

static int watch_if(struct term_live *l, int fd, loop_fn *fn, struct err *err)
{
	return fd >= 0 ? loop_watch(l->loop, fd, EPOLLIN, fn, l, err) : 0;
}

static int first_read(struct term_live *l, struct err *err)
{
	TRY(follow_read(l->follow, on_journal_line, l, err));
	l->over = l->spec.over_fd < 0;
	TRY(ask_next(l, err));
	return term_view_flush(&l->term, err);
}

int term_live_note(struct term_live *l, const char *text, struct err *err)
{
	TRY(term_view_note(&l->term, text, err));
	return term_view_flush(&l->term, err);
}

int term_live_run(struct term_live *l, enum term_live_end *out, struct err *err)
{
	TRY(first_read(l, err));
	if (!l->over && !l->ended) {
		TRY(watch_if(l, follow_fd(l->follow), on_journal, err));
		TRY(watch_if(l, l->spec.over_fd, on_over, err));
		TRY(watch_if(l, l->spec.stop_fd, on_stop, err));
		TRY(watch_if(l, l->spec.signals_fd, on_signals, err));
		TRY(watch_if(l, l->spec.in_fd, on_keys, err));
		TRY(loop_run(l->loop, err));
	}
	if (l->term.mid_line)
		TRY(buf_addc(&l->term.out, '\n', err));
	TRY(term_view_flush(&l->term, err));
	*out = l->left ? LIVE_LEFT : l->ended ? LIVE_ENDED : LIVE_GONE;
	return 0;
}
