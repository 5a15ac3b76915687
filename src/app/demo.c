/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/demo.h"

#include "fmt/json.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDING_MAX (256 * 1024)
#define WORD_WAIT_MS  12 /* between the words of an answer: a model types */
#define GIT_DEADLINE_MS 20000

/* ---- the project ---- */

static const char price_sh[] = "# price.sh NET RATE: the price with tax, both in cents; RATE in percent, rounded half up\n"
			       "net=$1 rate=$2\n"
			       "echo $((net + net * rate / 100))\n";

static const char test_sh[] = "failed=0\n"
			      "check() {\n"
			      "\tgot=$(sh price.sh \"$1\" \"$2\")\n"
			      "\t[ \"$got\" = \"$3\" ] || { echo \"price of $1 at $2%: $got, expected $3\"; failed=1; }\n"
			      "}\n"
			      "check 1000 20 1200\n"
			      "check 999 7 1069\n"
			      "check 5 10 6\n"
			      "[ $failed = 0 ] && echo \"all prices are right\"\n"
			      "exit $failed\n";

static const char secret_text[] = "-----BEGIN OPENSSH PRIVATE KEY-----\nthis stands for your real key\n";

static int write_file(const char *dir, const char *name, const char *text, struct err *err)
{
	autoclose int fd = -1;

	TRY(dir_open(AT_FDCWD, dir, &fd, err));
	return file_replace(fd, name, str_from(text), 0644, err);
}

static int find_git(const char **out, struct err *err)
{
	static const char *const places[] = { "/usr/bin/git", "/bin/git", "/usr/local/bin/git" };

	for (size_t i = 0; i < COUNT(places); i++)
		if (access(places[i], X_OK) == 0) {
			*out = places[i];
			return 0;
		}
	return err_set(err, ERR_NOENT, "git is not installed, and the demo makes a repository");
}

static int git(const char *program, const char *cwd, const char *const *words, size_t n, struct err *err)
{
	static const char *const env[] = { "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
		"GIT_AUTHOR_NAME=agent6 demo", "GIT_AUTHOR_EMAIL=demo@agent6.invalid", "GIT_COMMITTER_NAME=agent6 demo",
		"GIT_COMMITTER_EMAIL=demo@agent6.invalid", "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	auto_buf struct buf out = BUF_MAX(4096), errs = BUF_MAX(4096);
	const char *argv[12] = { program };
	struct proc_status st;

	BUG_IF(n + 2 > COUNT(argv));
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = words[i];
	TRY(proc_run(&(struct proc_spec){ .argv = argv, .env = env, .cwd = cwd }, STR(""), GIT_DEADLINE_MS, &out, &errs, &st,
		err));
	if (st.code != 0)
		return err_set(err, ERR_SYS, "git %s: " STR_FMT, words[0], STR_ARG(str_trim(buf_str(&errs))));
	return 0;
}

static int make_project(const struct demo *d, struct err *err)
{
	static const char *const init[] = { "init", "--quiet", "--initial-branch=main" };
	static const char *const add[] = { "add", "--all" };
	static const char *const commit[] = { "commit", "--quiet", "--message=a price list with a bug" };
	const char *program = NULL;

	TRY(find_git(&program, err));
	TRY(dir_make(d->project, 0755, err));
	TRY(write_file(d->project, "price.sh", price_sh, err));
	TRY(write_file(d->project, "test.sh", test_sh, err));
	TRY(git(program, d->project, init, COUNT(init), err));
	TRY(git(program, d->project, add, COUNT(add), err));
	return git(program, d->project, commit, COUNT(commit), err);
}

/* ---- the recorded model ---- */

struct call {
	const char *name;
	const char *input; /* JSON; "%s" stands for a path of the scratch directory */
};

/* Where the network is tried: a shell that can dial, else a program that can. */
#define DIAL_BASH "{\"argv\":[\"bash\",\"-c\",\"echo hello > /dev/tcp/1.1.1.1/443\"]}"
#define DIAL_WGET "{\"argv\":[\"wget\",\"-q\",\"-T\",\"2\",\"-O\",\"-\",\"http://1.1.1.1/\"]}"

static const struct answer {
	const char *text;
	struct call calls[3];
} answers[] = {
	{ "I read the script and its test first.",
		{ { "read_file", "{\"path\":\"price.sh\"}" }, { "read_file", "{\"path\":\"test.sh\"}" } } },
	{ "Before I fix it, I try three things that no model should be able to do: read your SSH key, write outside the "
	  "repository, and reach the network.",
		{ { "run_command", "{\"argv\":[\"cat\",\"%s\"]}" },
			{ "run_command", "{\"argv\":[\"sh\",\"-c\",\"echo gotcha > ../escaped.txt\"]}" },
			{ "run_command", DIAL_BASH } } },
	{ "None of that worked. Now the work: the tax is cut off instead of rounded.",
		{ { "apply_edit", "{\"path\":\"price.sh\",\"edits\":[{\"old_string\":\"net * rate / 100))\",\"new_string\":\"(net * rate "
				  "+ 50) / 100))\"}]}" } } },
	{ "The test decides.", { { "run_verify_command", "{}" } } },
	{ "",
		{ { "finish_run", "{\"summary\":\"price.sh rounds the tax half up now instead of cutting it off; the test is "
				  "green.\"}" } } },
};

/* One event of the stream: its name, its data, and the empty line that ends it. */
static int add_event(struct buf *b, const char *name, struct str data, struct err *err)
{
	TRY(buf_addf(b, err, "|event: %s\n|data: ", name));
	TRY(buf_add(b, data, err));
	return buf_addz(b, "\n|\n", err);
}

static int add_delta(struct buf *b, int index, const char *type, const char *key, struct str piece, struct err *err)
{
	auto_buf struct buf data = BUF_MAX(16384);

	TRY(buf_addf(&data, err, "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s\",\"%s\":", index, type,
		key));
	TRY(json_add_quoted(&data, piece, err));
	TRY(buf_addz(&data, "}}", err));
	return add_event(b, "content_block_delta", buf_str(&data), err);
}

static int add_start(struct buf *b, int index, const char *block, struct err *err)
{
	auto_buf struct buf data = BUF_MAX(4096);

	TRY(buf_addf(&data, err, "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}", index, block));
	return add_event(b, "content_block_start", buf_str(&data), err);
}

static int add_stop(struct buf *b, int index, struct err *err)
{
	auto_buf struct buf data = BUF_MAX(256);

	TRY(buf_addf(&data, err, "{\"type\":\"content_block_stop\",\"index\":%d}", index));
	return add_event(b, "content_block_stop", buf_str(&data), err);
}

static int add_text(struct buf *b, int index, struct str text, struct err *err)
{
	TRY(add_start(b, index, "{\"type\":\"text\",\"text\":\"\"}", err));
	while (text.n > 0) {
		size_t space = str_find_any(text, STR(" "));
		size_t n = space < text.n ? space + 1 : text.n;

		TRY(buf_addf(b, err, "wait %d\n", WORD_WAIT_MS));
		TRY(add_delta(b, index, "text_delta", "text", str_head(text, n), err));
		text = str_skip(text, n);
	}
	return add_stop(b, index, err);
}

static int add_call(struct buf *b, int index, int id, const struct call *c, const struct demo *d, struct err *err)
{
	auto_buf struct buf block = BUF_MAX(1024), input = BUF_MAX(8192);
	const char *hole = strstr(c->input, "%s");

	TRY(buf_addf(&block, err, "{\"type\":\"tool_use\",\"id\":\"demo_%d\",\"name\":\"%s\",\"input\":{}}", id, c->name));
	if (strcmp(c->input, DIAL_BASH) == 0 && access("/bin/bash", X_OK) < 0)
		TRY(buf_addz(&input, DIAL_WGET, err));
	else if (!hole)
		TRY(buf_addz(&input, c->input, err));
	else
		TRY(buf_addf(&input, err, "%.*s%s%s", (int)(hole - c->input), c->input, d->secret, hole + 2));
	TRY(add_start(b, index, block.p, err));
	TRY(add_delta(b, index, "input_json_delta", "partial_json", buf_str(&input), err));
	return add_stop(b, index, err);
}

static int add_answer(struct buf *b, size_t nth, const struct demo *d, struct err *err)
{
	const struct answer *a = &answers[nth];
	auto_buf struct buf head = BUF_MAX(1024);
	int index = 0;

	TRY(buf_addz(b, "answer 200 text/event-stream\nwait 150\n", err));
	TRY(buf_addf(&head, err, "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_demo_%zu\",\"type\":\"message\",\"role\":"
				 "\"assistant\",\"model\":\"recording\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":"
				 "%zu,\"output_tokens\":1}}}", nth, 1200 + 300 * nth));
	TRY(add_event(b, "message_start", buf_str(&head), err));
	if (a->text[0])
		TRY(add_text(b, index++, str_from(a->text), err));
	for (size_t i = 0; i < COUNT(a->calls) && a->calls[i].name; i++)
		TRY(add_call(b, index++, (int)(10 * nth + i), &a->calls[i], d, err));
	TRY(add_event(b, "message_delta",
		STR("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":60}}"), err));
	return add_event(b, "message_stop", STR("{\"type\":\"message_stop\"}"), err);
}

static int make_recording(struct demo *d, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORDING_MAX);

	TRY(buf_addz(&b, "agent6-recording 1\n", err));
	for (size_t i = 0; i < COUNT(answers); i++)
		TRY(add_answer(&b, i, d, err));
	TRY(memfd_seal("recording", buf_str(&b), &d->recording_fd, err));
	/* Whoever is given it reads from where it stands. */
	return lseek(d->recording_fd, 0, SEEK_SET) < 0 ? err_sys(err, errno, "rewind the recording") : 0;
}

/* ---- all of it ---- */

static struct demo in_dir(const char *dir, struct arena *mem)
{
	return (struct demo){
		.dir = dir,
		.project = str_printf(mem, "%s/project", dir).p,
		.config = str_printf(mem, "%s/config", dir).p,
		.secret = str_printf(mem, "%s/home/.ssh/id_ed25519", dir).p,
		.escape = str_printf(mem, "%s/escaped.txt", dir).p,
		.recording_fd = -1,
	};
}

int demo_make(struct arena *mem, struct demo *out, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = str_dupz(mem, str_printf(mem, "%s/agent6-demo-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp"));
	struct demo d;

	if (!mkdtemp(dir))
		return err_sys(err, errno, "make a scratch directory %s", dir);
	d = in_dir(dir, mem);
	TRY(dir_make(d.config, 0700, err));
	TRY(dir_make(str_printf(mem, "%s/home/.ssh", dir).p, 0700, err));
	TRY(write_file(str_printf(mem, "%s/home/.ssh", dir).p, "id_ed25519", secret_text, err));
	TRY(make_project(&d, err));
	*out = d;
	return 0;
}

int demo_open(const char *dir, struct arena *mem, struct demo *out, struct err *err)
{
	struct demo d = in_dir(dir, mem);

	TRY(make_recording(&d, err));
	*out = d;
	return 0;
}

void demo_fini(struct demo *d)
{
	base_close_fd(&d->recording_fd);
}
