/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/ctags.h"

#include "base/time.h"
#include "fmt/json.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define CTAGS_LINE_MAX (64 * 1024)
#define TAGS_MAX  50000

static const char *const programs[] = { "/usr/bin/ctags", "/usr/local/bin/ctags" };

/* What the many languages call things, in our words; what is not here is not told. */
static const struct {
	const char *theirs, *ours;
	bool minor;
} kinds[] = {
	{ "function", "function", false }, { "func", "function", false }, { "subroutine", "function", false }, { "procedure", "function", false },
	{ "method", "method", false }, { "singletonMethod", "method", false }, { "class", "class", false }, { "struct", "struct", false },
	{ "structure", "struct", false }, { "union", "struct", false }, { "record", "struct", false }, { "enum", "enum", false },
	{ "trait", "trait", false }, { "interface", "interface", false }, { "protocol", "interface", false }, { "type", "type", false },
	{ "typedef", "type", false }, { "alias", "type", false }, { "module", "module", false }, { "package", "module", false },
	{ "namespace", "module", false }, { "constant", "const", false }, { "const", "const", false }, { "macro", "macro", false },
	{ "enumerator", "const", true }, { "member", "field", true }, { "field", "field", true }, { "property", "field", true },
	{ "variable", "variable", true }, { "globalVar", "variable", true },
};

/* Where a language has its own word for one of them. */
static const struct {
	const char *end, *theirs, *ours;
} own_words[] = { { ".py", "member", "method" }, { ".pyi", "member", "method" } };

struct ctags {
	const char *program; /* NULL: none */
	struct proc proc;    /* pid 0: not running */
	int to, from;
	struct buf in;       /* what it said and nobody read yet */
};

struct ctags *ctags_new(void)
{
	struct ctags *c = mem_alloc(sizeof(*c));

	*c = (struct ctags){ .to = -1, .from = -1, .in = BUF_MAX(CTAGS_LINE_MAX) };
	for (size_t i = 0; i < COUNT(programs) && !c->program; i++)
		if (access(programs[i], X_OK) == 0)
			c->program = programs[i];
	return c;
}

static void stop(struct ctags *c)
{
	struct proc_status st;

	base_close_fd(&c->to);
	base_close_fd(&c->from);
	if (c->proc.pid > 0) {
		proc_kill(&c->proc, SIGKILL);
		if (proc_wait(&c->proc, &st, ERR_DISCARD) < 0)
			close(c->proc.pidfd);
	}
	c->proc = (struct proc){ 0 };
	buf_clear(&c->in);
}

void ctags_free(struct ctags *c)
{
	if (!c)
		return;
	stop(c);
	buf_fini(&c->in);
	free(c);
}

bool ctags_there(struct ctags *c)
{
	return c->program != NULL;
}

/* ---- what it says ---- */

static int more(struct ctags *c, int64_t until_ms, struct err *err)
{
	struct pollfd p = { c->from, POLLIN, 0 };
	int64_t left = until_ms - time_mono_ms();
	ssize_t n;

	if (left <= 0 || (poll(&p, 1, (int)left) == 0))
		return err_set(err, ERR_TIMEOUT, "ctags does not answer");
	TRY(buf_reserve(&c->in, 4096, err));
	do
		n = read(c->from, c->in.p + c->in.n, c->in.cap - c->in.n > 4096 ? 4096 : c->in.cap - c->in.n);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return err_set(err, ERR_CLOSED, "ctags died");
	c->in.n += (size_t)n;
	return 0;
}

static int next_line(struct ctags *c, int64_t until_ms, json_t **out, struct err *err)
{
	for (;;) {
		struct str all = buf_str(&c->in);
		size_t n = str_find(all, STR("\n"));

		if (n < all.n) {
			int r = json_decode(str_head(all, n), JSON_EXACT, out, err);

			TRY(buf_splice(&c->in, 0, n + 1, STR(""), err));
			return r;
		}
		TRY(more(c, until_ms, err));
	}
}

static int start(struct ctags *c, int64_t until_ms, struct err *err)
{
	static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
	const char *const argv[] = { c->program, "--options=NONE", "--quiet", "--_interactive=sandbox", "--sort=no", "--fields=+neKs-P", NULL };
	auto_json json_t *hello = NULL;
	auto_proc_pipes struct proc_pipes pipes = PROC_PIPES;

	TRY(proc_pipes_open(&pipes, err));
	struct proc_spec spec = { .argv = argv, .env = env, .in_fd = pipes.child_in, .out_fd = pipes.child_out, .die_with_parent = true };

	TRY(proc_spawn(&spec, &c->proc, err));
	c->to = take_fd(&pipes.to);
	c->from = take_fd(&pipes.from);
	base_close_fd(&pipes.child_out); /* so that its death is seen */
	if (next_line(c, until_ms, &hello, err) < 0 || !str_eqz(json_get_str(hello, "name"), "Universal Ctags")) {
		stop(c);
		c->program = NULL; /* a ctags of another kind */
		return err_set(err, ERR_UNSUPPORTED, "the ctags that is installed is not Universal Ctags with JSON");
	}
	return 0;
}

/* ---- tags ---- */

/* The column of the name: ctags tells the line. */
static int64_t column(struct str text, int64_t line, struct str name)
{
	struct str l = { 0 };

	for (int64_t i = 0; i < line && text.n > 0; i++)
		l = str_line(&text);
	size_t at = str_find(l, name);
	return at < l.n ? (int64_t)at + 1 : 1;
}

static struct str last_part(struct str name)
{
	for (size_t i = name.n; i > 0; i--)
		if (name.p[i - 1] == '.' || name.p[i - 1] == ':')
			return str_skip(name, i);
	return name;
}

static void tell_tag(const json_t *j, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, size_t *told)
{
	struct str kind = json_get_str(j, "kind"), name = last_part(json_get_str(j, "name"));
	struct symbol s = { .name = name, .line = json_get_int(j, "line", 0), .end = json_get_int(j, "end", 0),
		.in = json_get_str(j, "scope") };

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_eqz(kind, kinds[i].theirs)) {
			s.kind = kinds[i].ours;
			s.minor = kinds[i].minor;
		}
	for (size_t i = 0; i < COUNT(own_words); i++)
		if (str_ends(path, str_from(own_words[i].end)) && str_eqz(kind, own_words[i].theirs)) {
			s.kind = own_words[i].ours;
			s.minor = false;
		}
	if (!s.kind || s.name.n == 0 || s.line < 1 || s.line > INT32_MAX || s.end < 0 || s.end > INT32_MAX ||
		(only.n > 0 && !str_eq(only, s.name)) || *told >= TAGS_MAX)
		return;
	s.col = column(text, s.line, s.name);
	fn(self, &s);
	++*told;
}

static int ask(struct ctags *c, struct str path, struct str text, struct err *err)
{
	auto_buf struct buf head = BUF_MAX(8192);
	size_t slash = str_rfind(path, '/');
	struct str name = slash < path.n ? str_skip(path, slash + 1) : path;

	TRY(buf_addz(&head, "{\"command\":\"generate-tags\"", err));
	TRY(json_add_member(&head, "filename", name, err));
	TRY(buf_addf(&head, err, ",\"size\":%zu}\n", text.n));
	TRY(file_write_fd(c->to, buf_str(&head), err));
	return file_write_fd(c->to, text, err);
}

static int read_tags(struct ctags *c, int64_t until_ms, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err)
{
	for (size_t told = 0;;) {
		auto_json json_t *j = NULL;

		TRY(next_line(c, until_ms, &j, err));
		struct str type = json_get_str(j, "_type");
		if (str_eqz(type, "completed"))
			return told > 0;
		if (str_eqz(type, "error"))
			return err_set(err, ERR_INVALID, "ctags cannot read it");
		if (str_eqz(type, "tag"))
			tell_tag(j, path, text, only, fn, self, &told);
	}
}

int ctags_read(struct ctags *c, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err)
{
	int64_t until_ms = time_mono_ms() + CTAGS_WALL_MS;
	int r;

	if (text.n == 0) /* a size of 0 would mean: read the file */
		return 0;
	if (c->proc.pid == 0)
		TRY(start(c, until_ms, err));
	r = ask(c, path, text, err);
	r = r < 0 ? r : read_tags(c, until_ms, path, text, only, fn, self, err);
	if (r < 0)
		stop(c);
	return r;
}
