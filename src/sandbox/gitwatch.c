/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/gitwatch.h"
#include "base/arena.h"
#include "base/siphash.h"
#include "base/vec.h"
#include "sandbox/fds.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_MAX  (1024 * 1024) /* of a file; a larger one has changed when its times have */
#define DEPTH_MAX 64
#define INDEX_MAX (256 * 1024 * 1024)
#define READER_MS 10000 /* far longer than the largest index takes */
#define RACY_NS   (3 * 1000000000LL) /* coarser than any file system's time stamps: FAT's are of two seconds */

/* What is looked at in a git directory. */
enum part { PART_FIXED, PART_REFS, PARTS };
enum shape { WHOLE, NESTED }; /* NESTED: other repositories' directories, of which the settings alone count */

static const struct place {
	const char *name;
	enum part part;
	enum shape shape;
} places[] = {
	{ "config", PART_FIXED, WHOLE }, { "config.worktree", PART_FIXED, WHOLE }, { "hooks", PART_FIXED, WHOLE },
	{ "info", PART_FIXED, WHOLE }, { "branches", PART_FIXED, WHOLE }, { "remotes", PART_FIXED, WHOLE },
	{ "commondir", PART_FIXED, WHOLE }, { "gitdir", PART_FIXED, WHOLE }, { "objects/info/alternates", PART_FIXED, WHOLE },
	{ "rebase-merge", PART_FIXED, WHOLE }, { "rebase-apply", PART_FIXED, WHOLE }, { "sequencer", PART_FIXED, WHOLE },
	{ "modules", PART_FIXED, NESTED }, { "worktrees", PART_FIXED, NESTED }, { "HEAD", PART_REFS, WHOLE },
	{ "packed-refs", PART_REFS, WHOLE }, { "shallow", PART_REFS, WHOLE }, { "refs", PART_REFS, WHOLE },
};

struct stamp {
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec mtime, ctime;
};

struct entry {
	const char *name; /* in the arena of its list */
	struct stamp stamp;
	uint64_t hash; /* of the content */
	bool racy;     /* it was changed so shortly before it was read that its times may stay as they are */
};

struct list {
	struct arena *mem;
	struct {
		VEC(struct entry);
	} entries; /* sorted by name */
};

struct gitwatch {
	struct gitwatch_spec spec;
	uint64_t key[2];
	struct list parts[PARTS];
	bool skip[PARTS];
	size_t dirs; /* how many of the two differ */
	struct index {
		enum { INDEX_UNKNOWN, INDEX_NONE, INDEX_READ } state; /* UNKNOWN: not looked at yet, or not to be read */
		struct stamp stamp;
		bool racy;
		uint64_t sum;
	} index;
};

/* ---- one name ---- */

static uint64_t hash_of(const struct gitwatch *w, int dir, const char *name, const struct stat *st)
{
	char link[PATH_MAX];

	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(dir, name, link, sizeof(link));

		return n < 0 ? 0 : siphash(w->key, str_of(link, (size_t)n));
	}
	if (!S_ISREG(st->st_mode) || st->st_size > READ_MAX)
		return 0;
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autofree char *bytes = mem_alloc((size_t)st->st_size + 1);
	ssize_t got = fd < 0 ? -1 : pread(fd, bytes, (size_t)st->st_size, 0);

	return got < 0 ? 0 : siphash(w->key, str_of(bytes, (size_t)got));
}

static struct stamp stamp_of(const struct stat *st)
{
	struct stamp s;

	memset(&s, 0, sizeof(s)); /* compared as bytes */
	s.ino = st->st_ino;
	s.mode = st->st_mode;
	s.size = st->st_size;
	s.mtime = st->st_mtim;
	s.ctime = st->st_ctim;
	return s;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static const struct entry *find(const struct list *l, const char *name)
{
	struct entry key = { .name = name };

	return l->entries.n > 0 ? bsearch(&key, l->entries.p, l->entries.n, sizeof(key), by_name) : NULL;
}

/* A file whose times are what they were is what it was, and is not read. */
static void add(const struct gitwatch *w, struct list *now, const struct list *before, int dir, const char *name,
	const char *shown, const struct stat *st)
{
	const struct entry *old = before ? find(before, shown) : NULL;
	struct entry e = { .name = str_dupz(now->mem, str_from(shown)), .stamp = stamp_of(st) };
	struct timespec t;

	if (old && !old->racy && memcmp(&old->stamp, &e.stamp, sizeof(e.stamp)) == 0) {
		e.hash = old->hash;
	} else {
		clock_gettime(CLOCK_REALTIME, &t);
		e.racy = ns_of(t) - ns_of(st->st_ctim) < RACY_NS;
		e.hash = hash_of(w, dir, name, st);
	}
	*vec_new(&now->entries) = e;
}

/* ---- a tree ---- */

struct walk {
	const struct gitwatch *w;
	struct list *now;
	const struct list *before;
	enum part part;
	enum shape shape;
	bool counts; /* NESTED: within something that counts whole */
};

/* By its whole name: whatever else ends in such a name, refs/replace above all, is not the run's. */
static bool is_own_ref(const struct gitwatch *w, const char *name)
{
	struct str rest = str_from(name), id = str_from(w->spec.run_id), common = str_from(w->spec.common_dir);

	if (id.n == 0 || !str_starts(rest, common))
		return false;
	rest = str_from(name + common.n);
	if (str_starts(rest, STR("/refs/heads/agent6/")))
		return str_eq(str_trim_prefix(rest, STR("/refs/heads/agent6/")), id);
	if (!str_starts(rest, STR("/refs/agent6/")))
		return false;
	rest = str_trim_prefix(rest, STR("/refs/agent6/"));
	return str_starts(rest, id) && rest.n > id.n && rest.p[id.n] == '/';
}

static bool passed_over(const struct walk *k, const char *leaf, const char *shown)
{
	if (k->part == PART_REFS) /* a lock is gone again at once, whoever's it is */
		return str_ends(str_from(leaf), STR(".lock")) || is_own_ref(k->w, shown);
	if (k->shape == WHOLE || k->counts)
		return false;
	return strcmp(leaf, "config") != 0 && strcmp(leaf, "config.worktree") != 0 && strcmp(leaf, "commondir") != 0 &&
		strcmp(leaf, "gitdir") != 0;
}

/* A repository's own objects, logs and refs are not; a submodule may be called so, and is. */
static bool entered(const struct walk *k, int dir, const char *leaf, int depth)
{
	if (k->shape == WHOLE || k->counts || (strcmp(leaf, "objects") != 0 && strcmp(leaf, "logs") != 0 && strcmp(leaf, "refs") != 0))
		return true;
	return depth < 2 || faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0; /* modules/NAME is a repository at the earliest */
}

static void walk_name(struct walk k, int dir, const char *leaf, const char *shown, int depth);

static void walk_dir(const struct walk *k, int dir, const char *shown, int depth)
{
	autoclose int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	char path[PATH_MAX];
	const struct dirent *e;

	if (!d)
		return;
	copy = -1; /* closedir's */
	while ((e = readdir(d)) && k->now->entries.n <= GITWATCH_MAX) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			snprintf(path, sizeof(path), "%s/%s", shown, e->d_name) >= (int)sizeof(path))
			continue;
		walk_name(*k, dir, e->d_name, path, depth);
	}
	closedir(d);
}

static void walk_name(struct walk k, int dir, const char *leaf, const char *shown, int depth)
{
	struct stat st;

	if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (!passed_over(&k, leaf, shown))
			add(k.w, k.now, k.before, dir, leaf, shown, &st);
		return;
	}
	autoclose int fd = -1;

	if (depth < DEPTH_MAX && entered(&k, dir, leaf, depth))
		fd = openat(dir, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	k.counts |= strcmp(leaf, "hooks") == 0 || strcmp(leaf, "info") == 0;
	if (fd >= 0)
		walk_dir(&k, fd, shown, depth + 1);
}

static void list_fini(struct list *l)
{
	arena_free(l->mem);
	vec_fini(&l->entries);
	*l = (struct list){ 0 };
}

/* True: it is a directory. */
static bool take_dot_git(const struct gitwatch *w, struct list *now, const struct list *before, const char *dot_git)
{
	struct stat st;

	if (lstat(dot_git, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode)) { /* what is in it changes its times */
		st.st_size = 0;
		st.st_mtim = st.st_ctim = (struct timespec){ 0, 0 };
	}
	add(w, now, before, AT_FDCWD, dot_git, dot_git, &st);
	return S_ISDIR(st.st_mode);
}

static void take_places(const struct gitwatch *w, enum part part, const char *dir, struct list *now, const struct list *before)
{
	autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char shown[PATH_MAX];

	for (size_t p = 0; fd >= 0 && p < COUNT(places); p++) {
		struct walk k = { w, now, before, part, places[p].shape, false };

		if (places[p].part == part && snprintf(shown, sizeof(shown), "%s/%s", dir, places[p].name) < (int)sizeof(shown))
			walk_name(k, fd, places[p].name, shown, 0);
	}
}

/* Everything of one part as it is now. By path, each time: what lies there is what git would take. */
static struct list take_list(const struct gitwatch *w, enum part part, const struct list *before)
{
	const char *const dirs[] = { w->spec.common_dir, w->spec.git_dir };
	struct list now = { .mem = arena_new() };

	if (part == PART_FIXED && w->spec.dot_git)
		(void)take_dot_git(w, &now, before, w->spec.dot_git);
	for (size_t i = 0; i < w->dirs; i++)
		take_places(w, part, dirs[i], &now, before);
	/* A repository inside: a file that says where it is kept, or all of it. Its refs are no business of the one at the top. */
	for (size_t i = 0; part == PART_FIXED && w->spec.inner && i < w->spec.inner->n; i++)
		if (take_dot_git(w, &now, before, w->spec.inner->p[i]))
			take_places(w, part, w->spec.inner->p[i], &now, before);
	if (now.entries.n > 0)
		qsort(now.entries.p, now.entries.n, sizeof(struct entry), by_name);
	return now;
}

/* ---- comparing ---- */

static void tell(struct buf *changed, const char *name)
{
	if (changed)
		(void)!buf_addf(changed, ERR_DISCARD, "%s\n", name);
}

static bool same(const struct entry *a, const struct entry *b)
{
	if (a->stamp.mode != b->stamp.mode || a->stamp.size != b->stamp.size || a->hash != b->hash)
		return false;
	return a->stamp.size <= READ_MAX || memcmp(&a->stamp, &b->stamp, sizeof(a->stamp)) == 0;
}

static void compare(const struct list *before, const struct list *now, struct buf *changed)
{
	size_t a = 0, b = 0;

	while (a < before->entries.n || b < now->entries.n) {
		const struct entry *x = a < before->entries.n ? &before->entries.p[a] : NULL;
		const struct entry *y = b < now->entries.n ? &now->entries.p[b] : NULL;
		int order = !x ? 1 : !y ? -1 : strcmp(x->name, y->name);

		if (order != 0 || !same(x, y))
			tell(changed, order < 0 ? x->name : y->name);
		a += order <= 0;
		b += order >= 0;
	}
}

static void look(struct gitwatch *w, enum part part, struct buf *changed)
{
	struct list now;

	if (w->skip[part])
		return;
	now = take_list(w, part, &w->parts[part]);
	if (changed)
		compare(&w->parts[part], &now, changed);
	list_fini(&w->parts[part]);
	w->parts[part] = now;
}

/* ---- the index ---- */

struct answer {
	bool read;
	uint64_t sum;
};

/* The bytes are hostile: who reads them has nothing but them and a pipe, and is forked for it. */
_Noreturn static void read_index(const struct gitwatch *w, int fd, int to)
{
	const int keep[] = { fd, to };
	auto_buf struct buf bytes = BUF_MAX(INDEX_MAX);
	struct answer a = { 0 };

	if (fds_keep(keep, COUNT(keep), ERR_DISCARD) == 0 && file_read_fd(fd, &bytes, ERR_DISCARD) == 0)
		a.read = w->spec.digest(buf_str(&bytes), w->key, &a.sum, ERR_DISCARD) == 0;
	_exit(write(to, &a, sizeof(a)) == (ssize_t)sizeof(a) ? 0 : 1);
}

static struct answer ask_reader(const struct gitwatch *w, int fd)
{
	struct answer a = { 0 };
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return a;
	pid_t pid = fork();
	if (pid == 0)
		read_index(w, fd, ends[1]);
	close(ends[1]);
	struct pollfd p = { ends[0], POLLIN, 0 };

	do
		r = poll(&p, 1, READER_MS);
	while (r < 0 && errno == EINTR);
	if (pid < 0 || r <= 0 || read(ends[0], &a, sizeof(a)) != (ssize_t)sizeof(a))
		a = (struct answer){ 0 };
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return a;
}

/* git writes it anew whenever it looks at files: what counts is what the digest is of. */
static struct index take_index(const struct gitwatch *w)
{
	char path[PATH_MAX];
	struct index now = { 0 };
	struct timespec t;
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/index", w->spec.git_dir) >= (int)sizeof(path))
		return now;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return (struct index){ .state = INDEX_NONE };
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return now;
	now.stamp = stamp_of(&st);
	if (w->index.state == INDEX_READ && !w->index.racy && memcmp(&now.stamp, &w->index.stamp, sizeof(now.stamp)) == 0)
		return w->index;
	clock_gettime(CLOCK_REALTIME, &t);
	now.racy = ns_of(t) - ns_of(st.st_ctim) < RACY_NS;
	struct answer a = ask_reader(w, fd);

	now.state = a.read ? INDEX_READ : INDEX_UNKNOWN;
	now.sum = a.sum;
	return now;
}

/* One that could not be read before (split, sparse) is not compared; that one cannot be read any more is a change. */
static void look_at_index(struct gitwatch *w, struct buf *changed)
{
	char name[PATH_MAX];
	struct index now;

	if (!w->spec.digest || !w->spec.dot_git)
		return;
	now = take_index(w);
	if (changed && w->index.state != INDEX_UNKNOWN && (now.state != w->index.state || now.sum != w->index.sum)) {
		(void)!snprintf(name, sizeof(name), "%s/index", w->spec.git_dir);
		tell(changed, name);
	}
	w->index = now;
}

void gitwatch_mark(struct gitwatch *w)
{
	look(w, PART_REFS, NULL);
	look_at_index(w, NULL);
}

void gitwatch_look(struct gitwatch *w, bool refs, struct buf *changed)
{
	look(w, PART_FIXED, changed);
	if (!refs)
		return;
	look(w, PART_REFS, changed);
	look_at_index(w, changed);
}

int gitwatch_open(const struct gitwatch_spec *spec, struct gitwatch **out, bool *partial, struct err *err)
{
	struct gitwatch *w = mem_alloc(sizeof(*w));

	*w = (struct gitwatch){ .spec = *spec, .dirs = !spec->dot_git ? 0 : strcmp(spec->git_dir, spec->common_dir) == 0 ? 1 : 2 };
	if (getrandom(w->key, sizeof(w->key), 0) != (ssize_t)sizeof(w->key)) {
		gitwatch_close(w);
		return err_sys(err, errno, "get random bytes");
	}
	for (int p = 0; p < PARTS; p++)
		w->parts[p] = take_list(w, (enum part)p, NULL);
	if ((spec->dot_git && !find(&w->parts[PART_FIXED], spec->dot_git)) || w->parts[PART_FIXED].entries.n > GITWATCH_MAX) {
		gitwatch_close(w);
		return err_set(err, ERR_UNSUPPORTED, "%s cannot be watched: it is gone, or has more than %d hooks and settings",
			spec->dot_git ? spec->dot_git : "the .git of what is granted for writing", GITWATCH_MAX);
	}
	*partial = w->skip[PART_REFS] = w->parts[PART_REFS].entries.n > GITWATCH_MAX;
	*out = w;
	return 0;
}

void gitwatch_close(struct gitwatch *w)
{
	if (!w)
		return;
	for (int p = 0; p < PARTS; p++)
		list_fini(&w->parts[p]);
	free(w);
}
