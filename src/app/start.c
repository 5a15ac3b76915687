/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apart.h"
#include "app/start_priv.h"
#include "app/zygotes.h"

#include "base/time.h"
#include "fmt/json.h"
#include "fmt/pack.h"
#include "session/record.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of agent_ends, in the order of the agent's descriptors from 3 on. */
enum agent_end { END_MONITOR, END_ZYGOTE, END_GIT, END_CLIENT, END_RECORDER, END_SERVER };

static int pair_with_agent(struct start *s, enum agent_end end, int *other, struct err *err)
{
	int pair[2];

	TRY(chan_pair(pair, err));
	s->agent_ends[end] = pair[0];
	*other = pair[1];
	return 0;
}

/* ---- recorder ---- */

static int open_part(const struct start *s, const char *part, int *out, struct err *err)
{
	return dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, part, s->mem), out, err);
}

static int launch_recorder(struct start *s, struct err *err)
{
	autoclose int to_agent = -1;

	TRY(pair_with_agent(s, END_RECORDER, &to_agent, err));
	return launch_role(&s->programs, "recorder", &to_agent, 1, false, &s->recorder, err);
}

static int brief_recorder(struct start *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);
	autofree char *bucket = path_join(s->repo_dir, session_bucket(s->ref.kind));
	autoclose int run_fd = -1, bucket_fd = -1;

	TRY(open_part(s, NULL, &run_fd, err));
	TRY(dir_open(AT_FDCWD, bucket, &bucket_fd, err));
	pack_str(&b, str_from(s->ref.id));
	pack_str(&b, str_from(s->ref.id));
	pack_u8(&b, s->rq->resume);
	TRY(pack_ok(&b, err));
	const int fds[] = { run_fd, bucket_fd, s->notes_fd };
	bool notes = s->notes_fd >= 0 && s->mode->writes;

	return chan_send(s->recorder.chan, WIRE_OPEN, buf_str(&b), fds, notes ? 3 : 2, err);
}

static int wait_recorder(const struct start *s, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));

	TRY(peer_await(s->recorder.chan, LINK_MONITOR_RECORDER, WIRE_OPENED, m, "recorder", err));
	struct unpack u = unpack_from(m->body);
	bool ok = unpack_u8(&u) == 1;
	struct str why = unpack_str(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_OPENED does not decode");
	return ok ? 0 : err_set(err, ERR_SYS, "the record cannot be opened: " STR_FMT, STR_ARG(why));
}

/* ---- agent ---- */

static int launch_agent(struct start *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);
	const struct str argv[] = { STR("agent6"), STR("--role"), STR("agent") };

	pack_strs(&b, argv, COUNT(argv));
	TRY(pack_ok(&b, err));
	TRY(chan_send(s->zygote.chan, WIRE_START_AGENT, buf_str(&b), s->agent_ends,
		END_SERVER + s->nservers + (s->params.languages.n > 0), err));
	for (size_t i = 0; i < COUNT(s->agent_ends); i++)
		base_close_fd(&s->agent_ends[i]);
	return 0;
}

static int wait_agent(const struct start *s, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));

	TRY(peer_await(s->zygote.chan, LINK_MONITOR_ZYGOTE, WIRE_AGENT_UP, m, "agent", err));
	return m->type == WIRE_CELL_FAIL ? zygote_failed(m->body, "the agent cannot be started", err) : 0;
}

/* ---- view ---- */

static int brief_view(struct start *s, const char *since, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8192);
	autoclose int record = -1, answers = -1;
	struct str words[TERM_WORDS_MAX + 2]; /* the view has no environment to look into */
	size_t n = term_style_words(term_style_env(), words);

	TRY(open_part(s, "record", &record, err));
	TRY(open_part(s, "answers", &answers, err));
	pack_str(&b, str_from(s->ref.id));
	pack_u8(&b, s->attended);
	words[n++] = str_printf(s->mem, "since=%s", since); /* earlier legs were shown when they ran */
	if (!s->mode->writes)
		words[n++] = s->rq->json ? STR("result=json") : strcmp(s->mode->word, "ask") == 0 ? STR("result=once") : STR("result=text");
	pack_strs(&b, words, n);
	TRY(pack_ok(&b, err));
	if (s->rq->questions_fd >= 0 && (ftruncate(s->rq->questions_fd, 0) < 0 || lseek(s->rq->questions_fd, 0, SEEK_SET) < 0))
		return err_sys(err, errno, "empty the file of questions");
	const int fds[] = { record, answers, s->rq->questions_fd };
	return chan_send(s->view.chan, WIRE_VIEW_OPEN, buf_str(&b), fds, s->rq->questions_fd >= 0 ? 3 : 2, err);
}

/* ---- all of them ---- */

static struct egress_spec egress_of(struct start *s)
{
	return (struct egress_spec){ .progs = &s->programs, .table = &s->endpoints, .spawner_chan = s->spawner.chan,
		.secrets_fd = s->secrets_fd, .more = &s->allowed, .recording_fd = s->rq->recording_fd };
}

/* What the person must know before anything happens goes on record, where every view shows it. */
static int note_text(const struct start *s, enum event_id event, const char *fixed, const char *key, struct str text,
	struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);

	TRY(buf_addf(&b, err, "{%s", fixed));
	TRY(json_add_member(&b, key, text, err));
	TRY(buf_addz(&b, "}", err));
	return record_event(&(struct record_to){ s->recorder.chan, WIRE_NOTE }, event, buf_str(&b), err);
}

static int note_all(struct str_list degraded, const struct start *s, struct err *err)
{
	for (size_t i = 0; i < s->nnotices; i++)
		TRY(note_text(s, EVENT_RUN_NOTICE, "\"level\":\"warning\"", "text", s->notices[i], err));
	for (size_t i = 0; i < degraded.n; i++)
		TRY(note_text(s, EVENT_JAIL_DEGRADED, "", "detail", degraded.p[i], err));
	return 0;
}

struct start start_new(struct arena *mem, const struct run_request *rq)
{
	return (struct start){ .mem = mem, .rq = rq, .mode = app_mode_find(rq && rq->mode ? rq->mode : "run"), .run_lock = -1, .repo_lock = -1, .notes_fd = -1, .agent_chan = -1,
		.secrets_fd = -1, .crashes = { -1, "monitor", "" }, .agent_ends = { [0 ... AGENT_ENDS_MAX - 1] = -1 }, .programs = PROGRAMS_NONE,
		.egress = EGRESS_NONE, .spawner = PEER_NONE, .reader = PEER_NONE, .record_reader = PEER_NONE, .record_fd = -1, .recorder = PEER_NONE, .zygote = PEER_NONE,
		.git = PEER_NONE, .view = PEER_NONE, .language = PEER_NONE };
}

#define FILES_NEEDED 256 /* an agent waits for the channels of as many servers as there may be, and has some files open */

/* Found out by who asks for it first, it would be the agent, which has no way left to say so. */
static int enough_files(struct err *err)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_NEEDED)
		return 0;
	err_set(err, ERR_UNSUPPORTED, "the limit of open files is %llu here, and a run needs %d", (unsigned long long)files.rlim_cur, FILES_NEEDED);
	if (files.rlim_max < FILES_NEEDED && geteuid() != 0)
		err_hint(err, "only root raises it in this shell, since the hard limit is %llu: \"nofile\" in /etc/security/limits.conf, LimitNOFILE= of a unit, or "
			"--ulimit nofile= of a container", (unsigned long long)files.rlim_max);
	else
		err_hint(err, "ulimit -n %d, in the shell that starts agent6, raises it", FILES_NEEDED);
	return -ERR_UNSUPPORTED;
}

int start_client(struct start *s, struct err *err)
{
	TRY(enough_files(err));
	TRY(programs_open(&s->programs, err));
	return egress_launch_client(&s->programs, &s->egress, err);
}

int start_early(struct start *s, struct err *err)
{
	TRY(settings_writable(s, &s->programs.apart, err));
	TRY(apart_git(&s->programs.apart, s->mem, err));
	TRY(spawner_start(&s->programs, &s->spawner, err));
	return s->rq->git_name ? 0 : spawner_ask_identity(s->spawner.chan, err);
}

static int launch_git(struct start *s, struct err *err)
{
	autoclose int to_git = -1;
	struct zygote_spec git_cell;

	TRY(pair_with_agent(s, END_GIT, &to_git, err));
	if (!s->is_git)
		return 0;
	TRY(settings_git_cell(s, &git_cell, err));
	return zygote_launch(s->programs.jail, to_git, NULL, &git_cell, &s->git, err);
}

int start_crew(struct start *s, struct err *err)
{
	const struct egress_spec egress = egress_of(s);

	TRY(launch_recorder(s, err));
	TRY(egress_launch_broker(&egress, &s->egress, err));
	if (!s->rq->rehearse)
		TRY(launch_role(&s->programs, "view", NULL, 0, true, &s->view, err));
	TRY(settings_identity(s, err));
	return launch_git(s, err);
}

int start_cell(struct start *s, struct err *err)
{
	autoclose int to_zygote = -1;
	struct zygote_spec cell;

	TRY(settings_command_cell(s, &cell, err));
	TRY(pair_with_agent(s, END_ZYGOTE, &to_zygote, err));
	return zygote_launch(s->programs.jail, to_zygote, (const int[]){ s->programs.agent6, s->programs.index }, &cell, &s->zygote, err);
}

static int brief_all(struct start *s, struct err *err)
{
	const struct egress_spec egress = egress_of(s);

	TRY(pair_with_agent(s, END_MONITOR, &s->agent_chan, err));
	s->agent_ends[END_CLIENT] = take_fd(&s->egress.agent_chan);
	TRY(brief_recorder(s, err));
	TRY(egress_brief(&egress, &s->egress, err));
	s->hooks.id = str_from(s->ref.id);
	s->hooks.dir = str_from(session_path(s->repo_dir, &s->ref, NULL, s->mem));
	if (s->hooks.on_complete.n + s->hooks.on_wait.n > 0)
		TRY(hooks_tell(s->spawner.chan, &s->hooks, err));
	TRY(servers_launch(s, err));
	TRY(language_launch(s, &s->agent_ends[END_SERVER + s->nservers], err));
	TRY(egress_brief_client(&egress, &s->egress, err));
	endpoints_fini(&s->endpoints); /* the client has the keys; from here on it is the only one */
	return 0;
}

/* The agent is started as soon as there is a cell for it, and waits for GO, which comes when all stand. */
int start_processes(struct start *s, struct err *err)
{
	struct str_list notes = { 0 };
	int64_t began_us = time_now_us();
	char since[TIME_ISO_MAX];

	TRY(brief_all(s, err));
	TRY(zygote_await(&s->zygote, s->mem, &notes, err));
	TRY(launch_agent(s, err));
	TRY(wait_recorder(s, err));
	TRY(start_manifest(s, err));
	servers_await(s);
	language_await(s);
	TRY(note_all(notes, s, err));
	if (!s->rq->rehearse)
		TRY(brief_view(s, time_iso(began_us, since), err));
	if (s->is_git)
		TRY(zygote_await(&s->git, s->mem, &notes, err));
	TRY(egress_await(&s->egress, err));
	return wait_agent(s, err);
}

void start_fini(struct start *s)
{
	peer_kill(&s->view);
	peer_kill(&s->reader);
	peer_kill(&s->record_reader);
	base_close_fd(&s->record_fd);
	for (size_t i = 0; i < COUNT(s->agent_ends); i++)
		base_close_fd(&s->agent_ends[i]);
	peer_end(&s->zygote);
	peer_end(&s->git);
	for (size_t i = 0; i < s->nservers; i++)
		peer_end(&s->servers[i].zygote);
	peer_end(&s->language);
	peer_kill(&s->recorder);
	peer_kill(&s->spawner);
	egress_stop(&s->egress);
	base_close_fd(&s->agent_chan);
	base_close_fd(&s->secrets_fd);
	if (s->crashes.fd >= 0)
		crash_keep(&(struct crash_keep){ -1, "", "" });
	base_close_fd(&s->crashes.fd);
	base_close_fd(&s->run_lock);
	base_close_fd(&s->repo_lock);
	base_close_fd(&s->notes_fd);
	servers_forget_keys(s);
	endpoints_fini(&s->endpoints);
	programs_close(&s->programs);
}
