/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/gate.h"
#include "fmt/json.h"
#include "sys/file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#define READ_MAX       (256 * 1024)
#define COMMAND_MAX    4096
#define BLOCK_WITHIN   12 /* lines from the heading to its block */
#define LIST_MAX       4096
#define SIGNED_TAIL    800

bool gate_read(int root_fd, const char *name, struct buf *out)
{
	struct stat st;
	autoclose int fd = file_openat2(root_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > out->max)
		return false;
	return file_read_fd(fd, out, ERR_DISCARD) >= 0;
}

static bool is_there(int root_fd, const char *name, bool executable)
{
	struct stat st;
	autoclose int fd = file_openat2(
		root_fd, name, O_PATH | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (!executable || (st.st_mode & 0111));
}

/* ---- text to words ---- */

static bool needs_shell(struct str text)
{
	static const char *const builtins[] = { "cd", "export", "source", ".", "set", "test", "[", "if",
		"for" };
	struct str rest = text, first = str_cut(&rest, ' ');

	if (str_find_any(text, STR("|&;<>()$`\\\"'*?[]#~{}!\n\t")) < text.n)
		return true;
	if (str_find_any(first, STR("=")) < first.n)
		return true;
	for (size_t i = 0; i < COUNT(builtins); i++)
		if (str_eqz(first, builtins[i]))
			return true;
	return false;
}

static void add_word(struct str_list *l, struct arena *mem, struct str word)
{
	l->p[l->n++] = str_dup(mem, word);
}

struct str_list gate_words(struct str text, struct arena *mem)
{
	struct str_list l = { 0 };

	text = str_trim(text);
	l.p = arena_array(mem, text.n / 2 + 4, sizeof(*l.p));
	if (text.n == 0)
		return l;
	if (needs_shell(text)) {
		add_word(&l, mem, STR("sh"));
		add_word(&l, mem, STR("-c"));
		add_word(&l, mem, text);
		return l;
	}
	while (text.n > 0) {
		struct str word = str_cut(&text, ' ');

		if (word.n > 0)
			add_word(&l, mem, word);
	}
	return l;
}

static struct str_list words_of(struct arena *mem, const char *const *argv)
{
	struct str_list l = { .p = arena_array(mem, 8, sizeof(struct str)) };

	for (size_t i = 0; argv[i]; i++)
		add_word(&l, mem, str_from(argv[i]));
	return l;
}

/* ---- AGENTS.md ---- */

static bool starts_word(struct str s, const char *word)
{
	size_t n = strlen(word);

	return s.n >= n && strncasecmp(s.p, word, n) == 0;
}

/* "## Verify", "# Testing": the text of a heading, or empty. */
static struct str heading(struct str line)
{
	size_t level = 0;

	while (level < line.n && line.p[level] == '#')
		level++;
	if (level == 0 || level > 6 || level == line.n || line.p[level] != ' ')
		return STR("");
	return str_trim(str_skip(line, level));
}

static bool is_fence(struct str line)
{
	line = str_trim(line);
	return str_starts(line, STR("```")) || str_starts(line, STR("~~~"));
}

static int add_command_line(struct buf *cmd, struct str line, bool *joined, struct err *err)
{
	bool more;

	line = str_trim(line);
	if (line.n == 0 || (line.p[0] == '#' && !*joined))
		return 0;
	line = str_trim_prefix(line, STR("$ "));
	more = str_ends(line, STR("\\"));
	line = str_trim(str_trim_suffix(line, STR("\\")));
	if (cmd->n > 0)
		TRY(buf_add(cmd, *joined ? STR(" ") : STR(" && "), err));
	*joined = more;
	return buf_add(cmd, line, err);
}

/* The block that a fence opens; text stands behind that fence. */
static int read_block(struct str text, struct buf *cmd, struct err *err)
{
	bool joined = false;

	while (text.n > 0) {
		struct str line = str_line(&text);

		if (is_fence(line))
			return 0;
		TRY(add_command_line(cmd, line, &joined, err));
	}
	return err_set(err, ERR_SYNTAX, "a block without an end");
}

static bool block_after_heading(struct str text, struct buf *cmd)
{
	int left = 0; /* lines in which a block may still begin */
	bool fenced = false;

	while (text.n > 0) {
		struct str line = str_line(&text), title = heading(line);

		if (is_fence(line)) {
			if (left > 0 && !fenced && read_block(text, cmd, ERR_DISCARD) == 0 && cmd->n > 0)
				return true;
			buf_clear(cmd);
			fenced = !fenced;
			left = 0;
			continue;
		}
		if (fenced)
			continue;
		if (title.n > 0)
			left = starts_word(title, "verify") || starts_word(title, "test") ? BLOCK_WITHIN + 1
											  : 0;
		if (left > 0)
			left--;
	}
	return false;
}

/* "Verify: `make test`", perhaps in a list or in bold. */
static bool inline_command(struct str text, struct buf *cmd)
{
	static const char *const labels[] = { "verify:", "test:" };

	while (text.n > 0) {
		struct str line = str_trim(str_line(&text));

		while (line.n > 0 && strchr("-*_ ", line.p[0]))
			line = str_skip(line, 1);
		for (size_t i = 0; i < COUNT(labels); i++) {
			struct str rest;

			if (!starts_word(line, labels[i]))
				continue;
			rest = str_trim(str_skip(line, strlen(labels[i])));
			while (rest.n > 0 && strchr("*_ ", rest.p[0]))
				rest = str_skip(rest, 1);
			if (rest.n > 0 && rest.p[0] == '`') {
				rest = str_skip(rest, 1);
				rest = str_head(rest, str_find(rest, STR("`")));
			}
			rest = str_trim(rest);
			if (rest.n > 0)
				return buf_add(cmd, rest, ERR_DISCARD) == 0;
		}
	}
	return false;
}

static bool from_agents_md(int fd, struct arena *mem, struct gate_found *out)
{
	auto_buf struct buf text = BUF_MAX(READ_MAX), cmd = BUF_MAX(COMMAND_MAX);

	if (!gate_read(fd, "AGENTS.md", &text) || !utf8_valid(buf_str(&text)) || strlen(text.p ? text.p : "") != text.n)
		return false; /* not text: no word of a command holds a NUL */
	if (!block_after_heading(buf_str(&text), &cmd) && !inline_command(buf_str(&text), &cmd))
		return false;
	out->command = gate_words(buf_str(&cmd), mem);
	return out->command.n > 0;
}

/* ---- the other rules ---- */

static bool from_verify_sh(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const direct[] = { "./verify.sh", NULL };
	static const char *const by_shell[] = { "sh", "verify.sh", NULL };

	if (!is_there(fd, "verify.sh", false))
		return false;
	out->command = words_of(mem, is_there(fd, "verify.sh", true) ? direct : by_shell);
	return true;
}

static bool from_package_json(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const argv[] = { "npm", "test", "--silent", NULL };
	auto_buf struct buf text = BUF_MAX(READ_MAX);
	auto_json json_t *j = NULL;
	struct str script;

	if (!gate_read(fd, "package.json", &text) ||
		json_decode(buf_str(&text), JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return false;
	script = json_get_str(json_object_get(j, "scripts"), "test");
	/* What `npm init` writes is a placeholder that always fails. */
	if (str_trim(script).n == 0 || str_find(script, STR("no test specified")) < script.n)
		return false;
	out->command = words_of(mem, argv);
	return true;
}

static bool has_target(struct str text, const char *want)
{
	while (text.n > 0) {
		struct str line = str_line(&text);
		size_t colon = str_find(line, STR(":"));
		struct str names = str_head(line, colon);

		if (colon == line.n || line.p[0] == '\t' || line.p[0] == '#' ||
			(colon + 1 < line.n && line.p[colon + 1] == '=') ||
			str_find(names, STR("=")) < names.n)
			continue;
		while (names.n > 0)
			if (str_eqz(str_trim(str_cut(&names, ' ')), want))
				return true;
	}
	return false;
}

static bool from_makefile(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const files[] = { "GNUmakefile", "makefile",
		"Makefile" }; /* as make looks for them */
	static const struct {
		const char *target, *argv[3];
		const char *source;
	} rows[] = {
		{ "test", { "make", "test", NULL }, "Makefile:test" },
		{ "check", { "make", "check", NULL }, "Makefile:check" },
	};

	for (size_t i = 0; i < COUNT(files); i++) {
		auto_buf struct buf text = BUF_MAX(READ_MAX);

		if (!gate_read(fd, files[i], &text))
			continue;
		for (size_t k = 0; k < COUNT(rows); k++)
			if (has_target(buf_str(&text), rows[k].target)) {
				out->command = words_of(mem, rows[k].argv);
				out->source = rows[k].source;
				return true;
			}
		return false;
	}
	return false;
}

static void pytest(int fd, struct arena *mem, struct gate_found *out)
{
	const char *argv[] = { "python3", "-m", "pytest", "-q", NULL };
	struct stat st;

	/* Its python is a link to /usr, so it is not opened beneath the workspace. */
	if (fstatat(fd, ".venv/bin/python", &st, AT_SYMLINK_NOFOLLOW) == 0)
		argv[0] = ".venv/bin/python";
	out->command = words_of(mem, argv);
}

static bool from_python(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const files[] = { "pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg",
		"setup.py" };

	for (size_t i = 0; i < COUNT(files); i++)
		if (is_there(fd, files[i], false)) {
			pytest(fd, mem, out);
			return true;
		}
	return false;
}

static bool from_cargo(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const argv[] = { "cargo", "test", "--quiet", NULL };

	if (!is_there(fd, "Cargo.toml", false))
		return false;
	out->command = words_of(mem, argv);
	return true;
}

static bool from_go(int fd, struct arena *mem, struct gate_found *out)
{
	static const char *const argv[] = { "go", "test", "./...", NULL };

	if (!is_there(fd, "go.mod", false))
		return false;
	out->command = words_of(mem, argv);
	return true;
}

static bool has_loose_test(int dirfd)
{
	auto_arena struct arena *mem = arena_new();
	struct dir_entry *e;
	size_t n;

	if (dir_list(dirfd, mem, LIST_MAX, &e, &n, ERR_DISCARD) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (e[i].type == DT_REG && str_starts(e[i].name, STR("test_")) &&
			str_ends(e[i].name, STR(".py")))
			return true;
	return false;
}

static bool from_loose_tests(int fd, struct arena *mem, struct gate_found *out)
{
	autoclose int tests = file_openat2(
		fd, "tests", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (!has_loose_test(fd) && (tests < 0 || !has_loose_test(tests)))
		return false;
	pytest(fd, mem, out);
	return true;
}

static const struct {
	const char *source;
	bool (*find)(int fd, struct arena *mem, struct gate_found *out);
} rules[] = {
	{ "agents_md", from_agents_md },
	{ "verify.sh", from_verify_sh },
	{ "package.json", from_package_json },
	{ "Makefile", from_makefile }, /* names the target itself */
	{ "pyproject", from_python },
	{ "Cargo.toml", from_cargo },
	{ "go.mod", from_go },
	{ "test_*.py", from_loose_tests },
};

bool gate_resolves(int root_fd, const struct str_list *path, struct str program)
{
	auto_arena struct arena *mem = arena_new();
	bool seen = false;
	struct stat st;

	if (str_find(program, STR("/")) < program.n)
		return fstatat(root_fd, str_dupz(mem, program), &st, AT_SYMLINK_NOFOLLOW) == 0;
	for (size_t i = 0; i < path->n; i++) {
		struct str file = str_printf(mem, STR_FMT "/" STR_FMT, STR_ARG(path->p[i]), STR_ARG(program));

		seen = seen || stat(str_dupz(mem, path->p[i]), &st) == 0;
		if (stat(file.p, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111))
			return true;
	}
	return !seen;
}

void gate_infer(int root_fd, const struct str_list *path, struct arena *mem, struct gate_found *out)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		struct gate_found found = { .source = rules[i].source };

		if (rules[i].find(root_fd, mem, &found) && gate_resolves(root_fd, path, found.command.p[0])) {
			*out = found;
			return;
		}
	}
	*out = (struct gate_found){ .source = "none" };
}

/* ---- what a run of it says ---- */

bool gate_did_not_run(const struct job_result *job)
{
	static const char *const marks[] = { "No module named pytest", "No module named 'pytest'",
		"No module named _pytest", "No module named '_pytest'", "No module named nose",
		"No module named 'nose'", "command not found", "o such file or directory", "can't open file",
		"is not recognized", "ModuleNotFoundError", "ImportError while loading conftest",
		": not found" };
	const struct str texts[] = { job->out, job->errs };

	if (job->why != JOB_EXITED || job->code == 0 || job->wall_ms > GATE_DEAD_WITHIN_MS)
		return false;
	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t k = 0; k < COUNT(marks); k++)
			if (str_find(texts[i], str_from(marks[k])) < texts[i].n)
				return true;
	return false;
}

static uint64_t mix(uint64_t h, unsigned char c)
{
	return (h ^ c) * 0x100000001b3ULL; /* FNV-1a */
}

/* Digits, and whatever a hexadecimal address or a path below /tmp holds, count as one '#'. */
static uint64_t mix_masked(uint64_t h, struct str s)
{
	for (size_t i = 0; i < s.n;) {
		struct str rest = str_skip(s, i);

		if (str_starts(rest, STR("/tmp/"))) {
			i += str_find_any(rest, STR(" \t\r\n'\":"));
			h = mix(h, '#');
		} else if (isdigit((unsigned char)s.p[i])) {
			while (i < s.n && (isxdigit((unsigned char)s.p[i]) || s.p[i] == 'x' || s.p[i] == '.'))
				i++;
			h = mix(h, '#');
		} else {
			h = mix(h, (unsigned char)s.p[i++]);
		}
	}
	return h;
}

uint64_t gate_signature(const struct job_result *job)
{
	uint64_t h = mix(0xcbf29ce484222325ULL, (unsigned char)job->code);

	h = mix_masked(h, str_tail(job->out, SIGNED_TAIL));
	return mix_masked(h, str_tail(job->errs, SIGNED_TAIL));
}
