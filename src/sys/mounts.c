/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/mounts.h"
#include "sys/file.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_MAX (16 * 1024 * 1024)

/* ---- the table ---- */

static bool is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* Space, tab, newline, backslash and # are written as a backslash and three octal digits. NULL: a byte that no path has. */
static const char *unescape(struct str s, struct arena *mem)
{
	char *out = arena_alloc(mem, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++, n++) {
		out[n] = s.p[i];
		if (s.p[i] == '\\' && s.n - i > 3 && is_octal(s.p + i + 1)) {
			out[n] = (char)((s.p[i + 1] - '0') * 64 + (s.p[i + 2] - '0') * 8 + (s.p[i + 3] - '0'));
			i += 3;
		}
		if (out[n] == '\0')
			return NULL;
	}
	out[n] = '\0';
	return out;
}

/* "36 35 8:1 /part /point rw,nosuid shared:1 master:2 - type source options" */
bool mount_decode(struct str line, struct arena *mem, struct mount *out)
{
	struct str head, tail, root, point, type;
	struct mount m = { 0 };
	int64_t id, parent;

	line = str_trim_suffix(line, STR("\n"));
	head = str_head(line, str_find(line, STR(" - ")));
	tail = str_skip(line, head.n + 3);
	if (str_to_i64(str_cut(&head, ' '), &id, ERR_DISCARD) < 0 || str_to_i64(str_cut(&head, ' '), &parent, ERR_DISCARD) < 0 || id < 0)
		return false;
	m.id = (uint64_t)id;
	m.device = str_dup(mem, str_cut(&head, ' '));
	root = str_cut(&head, ' ');
	point = str_cut(&head, ' ');
	type = str_cut(&tail, ' ');
	if (str_find(m.device, STR(":")) == m.device.n || root.n == 0 || !str_starts(point, STR("/")) || type.n == 0)
		return false;
	m.root = unescape(root, mem);
	m.point = unescape(point, mem);
	m.type = unescape(type, mem);
	*out = m;
	return m.root && m.point && m.type;
}

int mounts_decode(struct str text, struct arena *mem, struct mounts *out, struct err *err)
{
	struct mounts all = { 0 };
	size_t lines = 0;

	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	all.p = arena_array(mem, lines + 1, sizeof(*all.p));
	while (text.n > 0)
		if (!mount_decode(str_line(&text), mem, &all.p[all.n++]))
			return err_set(err, ERR_SYNTAX, "line %zu is no mount", all.n);
	*out = all;
	return 0;
}

int mounts_load(struct arena *mem, struct mounts *out, struct err *err)
{
	static const char path[] = "/proc/self/mountinfo";
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r == 0)
		r = mounts_decode(buf_str(&text), mem, out, err);
	return r < 0 ? err_wrap(err, "what is mounted: %s", path) : 0;
}

/* ---- a place ---- */

/* The kernel's struct, as much of it as we ask for: headers of the oldest supported system lack the field. */
struct look {
	uint32_t mask;
	char between[140];
	uint64_t mount;
	char rest[104];
};
_Static_assert(offsetof(struct look, mount) == 144 && sizeof(struct look) == 256, "statx(2)");
#define WANT_MOUNT 0x1000U

/* The mount that a path, or the nearest directory above it that is there, lies on. -EACCES: nobody lets us look. */
static int mount_of(const char *path, struct arena *mem, uint64_t *id)
{
	char *at = str_dupz(mem, str_from(path));

	for (;;) {
		struct look l = { 0 };
		char *slash = strrchr(at, '/');

		if (syscall(SYS_statx, AT_FDCWD, at[0] ? at : "/", AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANT_MOUNT, &l) == 0) {
			*id = l.mount;
			return l.mask & WANT_MOUNT ? 0 : -ENOSYS;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
}

bool mount_holds(const struct mount *m, const char *path)
{
	auto_arena struct arena *mem = arena_new();
	uint64_t id;
	int r = mount_of(path, mem, &id);

	return r < 0 ? r != -ENOENT : id == m->id;
}

/* What a path adds to a directory it lies in: "" or "/rest". */
static const char *rest_of(const char *path, const char *dir)
{
	return strcmp(dir, "/") == 0 ? (path[1] ? path : "") : path + strlen(dir);
}

static const char *joined(const char *dir, const char *rest, struct arena *mem)
{
	return *rest ? str_printf(mem, "%s%s", strcmp(dir, "/") == 0 ? "" : dir, rest).p : dir;
}

static const struct mount *holder(const struct mounts *all, const char *path, struct arena *mem)
{
	const struct mount *best = NULL;
	uint64_t id = 0;
	bool known = mount_of(path, mem, &id) == 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct mount *m = &all->p[i];

		if (!path_is_within(path, m->point))
			continue;
		if (known && m->id == id)
			return m;
		if (!best || strlen(m->point) >= strlen(best->point))
			best = m; /* it cannot be looked at: the last of the nearest */
	}
	return best;
}

struct names {
	const struct mounts *all;
	const char *path;
	struct arena *mem;
	struct mount_names found;
	size_t cap;
};

static void add(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->found.n; i++)
		if (strcmp(n->found.p[i], name) == 0)
			return;
	if (n->found.n == n->cap) {
		const char **more = arena_array(n->mem, n->cap * 2 + 2, sizeof(*more));

		if (n->found.n > 0)
			memcpy(more, n->found.p, n->found.n * sizeof(*more));
		n->found.p = more;
		n->cap = n->cap * 2 + 2;
	}
	n->found.p[n->found.n++] = name;
}

/* Wherever else this part of a file system is: whole, or what a mount begins with inside it. */
static void add_part(struct names *n, struct str device, const char *part)
{
	for (size_t i = 0; i < n->all->n; i++) {
		const struct mount *m = &n->all->p[i];
		const char *name = NULL;

		if (!str_eq(m->device, device))
			continue;
		if (path_is_within(part, m->root))
			name = joined(m->point, rest_of(part, m->root), n->mem);
		else if (path_is_within(m->root, part))
			name = m->point;
		if (name && !path_is_within(name, n->path) && mount_holds(m, name))
			add(n, name);
	}
}

struct mount_names mounts_names(const struct mounts *all, const char *path, struct arena *mem)
{
	struct names n = { .all = all, .path = path, .mem = mem };
	const struct mount *on = holder(all, path, mem);

	add(&n, path);
	if (on)
		add_part(&n, on->device, joined(on->root, rest_of(path, on->point), mem));
	for (size_t i = 0; i < all->n; i++)
		if (&all->p[i] != on && path_is_within(all->p[i].point, path))
			add_part(&n, all->p[i].device, all->p[i].root);
	return n.found;
}
