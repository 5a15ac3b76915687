/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/secrets.h"
#include "config/target_priv.h"
#include "fmt/toml.h"
#include "sys/file.h"
#include "sys/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void wipe_buf(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	buf_fini(b);
}
#define auto_wiped CLEANUP(wipe_buf)

static void wipe_arena(struct arena **a)
{
	arena_wipe(*a);
	arena_free(*a);
}
#define auto_wiped_arena CLEANUP(wipe_arena)

int secrets_open(const char *path, int *out, struct err *err)
{
	autoclose int fd = -1;
	struct stat link, st;

	if (lstat(path, &link) < 0)
		return err_sys(err, errno, "%s", path);
	if (S_ISLNK(link.st_mode) && link.st_uid != geteuid()) {
		err_set(err, ERR_DENIED, "%s is a link that somebody else made (user %u)", path, (unsigned)link.st_uid);
		err_hint(err, "look where it leads; then remove it, and make it anew as yourself (ln -s), or put the keys in by agent6 connect");
		return -ERR_DENIED;
	}
	TRY(file_open(AT_FDCWD, path, false, &fd, err));
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "%s", path);
	if (st.st_uid != geteuid())
		return target_foreign(path, st.st_uid, err);
	if (st.st_mode & 077) {
		err_set(err, ERR_DENIED, "%s can be read by others (mode %04o)", path,
			(unsigned)st.st_mode & 07777);
		err_hint(err, "chmod 600 it, and consider its keys known");
		return -ERR_DENIED;
	}
	TRY(ours_check(path, err)); /* its directories: a key of somebody else's account would have what is said to it */
	*out = take_fd(&fd);
	return 0;
}

/* The whole file in one allocation, so that no copy is left behind by growing. */
static int read_all(int fd, struct buf *out, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "the secrets file");
	if (st.st_size < 0 || (size_t)st.st_size > SECRETS_MAX)
		return err_set(err, ERR_LIMIT, "the secrets file is larger than %zu bytes", SECRETS_MAX);
	TRY(buf_reserve(out, (size_t)st.st_size, err));
	while (out->n < (size_t)st.st_size) {
		ssize_t n = pread(fd, out->p + out->n, (size_t)st.st_size - out->n, (off_t)out->n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "read the secrets file");
		if (n == 0)
			break;
		out->n += (size_t)n;
	}
	out->p[out->n] = '\0';
	return 0;
}

/* The parser's message may repeat what it could not read, and what it could not read may be a key. */
static int parse(struct str text, struct arena *mem, struct toml **root, struct err *err)
{
	struct err inner = { 0 };

	if (toml_parse(text, "", mem, root, &inner) >= 0)
		return 0;
	return err_set(err, ERR_SYNTAX, "the secrets file is not right at line %d, column %d", inner.at.line,
		inner.at.col);
}

static const struct toml *find_key(const struct toml *root, struct str provider)
{
	struct str path[] = { STR("providers"), provider, STR("api_key") };

	return toml_find(root, path, COUNT(path));
}

/* The first thing that is of no provider; NULL: there is none. What else stands with a provider is somebody's. */
static const struct toml *find_stray(const struct toml *root)
{
	for (const struct toml *top = root->first; top; top = top->next) {
		if (!str_eqz(top->name, "providers") || top->kind != TOML_TABLE)
			return top;
		for (const struct toml *p = top->first; p; p = p->next)
			if (p->kind != TOML_TABLE)
				return p;
	}
	return NULL;
}

static int line_of(struct str text, const struct toml *t)
{
	int line = 1;

	for (size_t i = 0; i < t->line_at && i < text.n; i++)
		line += text.p[i] == '\n';
	return line;
}

static bool is_key(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] > '~')
			return false;
	return s.n > 0;
}

int secrets_get(int fd, struct str provider, struct secret *out, struct err *err)
{
	auto_wiped_arena struct arena *mem = arena_new();
	auto_wiped struct buf text = BUF_MAX(SECRETS_MAX);
	const struct toml *key;
	struct toml *root = NULL;

	TRY(read_all(fd, &text, err));
	TRY(parse(buf_str(&text), mem, &root, err));
	key = find_key(root, provider);
	if (!key) {
		const struct toml *stray = find_stray(root);

		err_set(err, ERR_NOENT, "no key is stored for the provider \"" STR_FMT "\"", STR_ARG(provider));
		if (stray)
			err_hint(err, "line %d of the secrets file " SECRETS_STRAY, line_of(buf_str(&text), stray));
		return -ERR_NOENT;
	}
	if (key->kind != TOML_STRING || !is_key(key->text))
		return err_set(err, ERR_INVALID,
			"the key stored for \"" STR_FMT "\" is not a string of printable characters",
			STR_ARG(provider));
	secret_set(out, key->text);
	return 0;
}

int secrets_stray(int fd, struct err *err)
{
	auto_wiped_arena struct arena *mem = arena_new();
	auto_wiped struct buf text = BUF_MAX(SECRETS_MAX);
	const struct toml *stray;
	struct toml *root = NULL;

	TRY(read_all(fd, &text, err));
	TRY(parse(buf_str(&text), mem, &root, err));
	stray = find_stray(root);
	return stray ? line_of(buf_str(&text), stray) : 0;
}

int secrets_has(int fd, struct str provider, struct err *err)
{
	auto_secret struct secret key = { 0 };
	int r = secrets_get(fd, provider, &key, err);

	return r == -ERR_NOENT ? 0 : r < 0 ? r : 1;
}

/* The present text; none when there is no file. It must be as safe as for reading. */
static int read_present(const char *path, const struct target *t, struct buf *text, struct err *err)
{
	auto_wiped_arena struct arena *mem = arena_new();
	struct toml *root = NULL;
	autoclose int fd = -1;

	if (!t->exists)
		return 0;
	TRY(secrets_open(path, &fd, err));
	TRY(read_all(fd, text, err));
	return parse(buf_str(text), mem, &root, err);
}

int secrets_check(const struct secret *key, struct err *err)
{
	return is_key(secret_reveal(key)) ? 0 : err_set(err, ERR_INVALID, "a key is one line of printable characters without spaces");
}

int secrets_put(const char *path, struct str provider, const struct secret *key, struct err *err)
{
	auto_target struct target t = { .dir = -1 };
	auto_wiped struct buf text = BUF_MAX(SECRETS_MAX), value = BUF_MAX(SECRETS_MAX);
	struct str where[] = { STR("providers"), provider, STR("api_key") };

	TRY(secrets_check(key, err));
	TRY(target_open(path, &t, err));
	TRY(read_present(path, &t, &text, err));
	TRY(toml_add_string(&value, secret_reveal(key), err));
	TRY(toml_set(&text, where, COUNT(where), buf_str(&value), err));
	return file_replace(t.dir, t.name, buf_str(&text), 0600, err);
}

int secrets_drop(const char *path, struct str provider, struct err *err)
{
	auto_target struct target t = { .dir = -1 };
	auto_wiped struct buf text = BUF_MAX(SECRETS_MAX);
	struct str where[] = { STR("providers"), provider, STR("api_key") };
	int r;

	TRY(target_open(path, &t, err));
	TRY(read_present(path, &t, &text, err));
	r = toml_unset(&text, where, COUNT(where), err);
	if (r <= 0)
		return r;
	TRY(file_replace(t.dir, t.name, buf_str(&text), 0600, err));
	return 1;
}
