/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/layout.h"

#include "session/words.h"

#include "base/time.h"
#include "base/vec.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define REPO_ID_MAX   100 /* bytes; a longer one is shortened to head, last part and hash */
#define REPO_ID_HEAD  33
#define REPO_ID_HASH  12
#define MINT_TRIES    8
#define ENTRIES_MAX   100000
#define AMBIGUOUS_MAX 5

static const struct { const char *bucket, *word; } kinds[SESSION_KINDS] = {
	[SESSION_RUN] = { "runs", "run" },
	[SESSION_PLAN] = { "plans", "plan" },
	[SESSION_ASK] = { "asks", "ask" },
	[SESSION_MACHINE] = { "machines", "machine" },
	[SESSION_REVIEW] = { "reviews", "review" },
};

const char *session_bucket(enum session_kind kind)
{
	BUG_IF(kind >= SESSION_KINDS);
	return kinds[kind].bucket;
}

const char *session_word(enum session_kind kind)
{
	BUG_IF(kind >= SESSION_KINDS);
	return kinds[kind].word;
}

/* ---- names ---- */

static int add_bitmap(struct str workspace, struct buf *out, struct err *err)
{
	unsigned nibble = 0, nbits = 0;

	for (size_t i = 0; i < workspace.n; i++) {
		if (workspace.p[i] != '/' && workspace.p[i] != '-')
			continue;
		nibble = nibble << 1 | (workspace.p[i] == '/');
		if (++nbits == 4) {
			TRY(buf_addf(out, err, "%x", nibble));
			nibble = nbits = 0;
		}
	}
	return nbits > 0 ? buf_addf(out, err, "%x", nibble << (4 - nbits)) : 0;
}

static int shorten(struct str workspace, struct buf *id, struct err *err)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];
	char *r = SHA256Data((const uint8_t *)workspace.p, workspace.n, hex);
	size_t slash = str_rfind(workspace, '/');
	struct str last = slash < workspace.n ? str_skip(workspace, slash + 1) : workspace;

	BUG_IF(!r);
	buf_shrink(id, REPO_ID_HEAD);
	TRY(buf_addz(id, "--", err));
	TRY(buf_add(id, str_tail(last, REPO_ID_MAX - REPO_ID_HEAD - 3 - REPO_ID_HASH), err));
	return buf_addf(id, err, "-%.*s", REPO_ID_HASH, hex);
}

int session_repo_id(struct str workspace, struct buf *out, struct err *err)
{
	auto_buf struct buf id = BUF_MAX(64 * 1024);

	if (workspace.n == 0 || workspace.p[0] != '/')
		return err_set(err, ERR_INVALID, "the workspace \"" STR_FMT "\" is not an absolute path",
			STR_ARG(workspace));
	TRY(buf_add(&id, workspace, err));
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] == '/')
			id.p[i] = '-';
	TRY(buf_addc(&id, '-', err));
	TRY(add_bitmap(workspace, &id, err));
	if (id.n > REPO_ID_MAX)
		TRY(shorten(workspace, &id, err));
	return buf_add(out, buf_str(&id), err);
}

int session_repo_dir(const char *state_dir, struct str workspace, struct arena *mem, const char **out,
	struct err *err)
{
	auto_buf struct buf id = BUF_MAX(4096);

	TRY(session_repo_id(workspace, &id, err));
	*out = str_printf(mem, "%s/" STR_FMT, state_dir, STR_ARG(buf_str(&id))).p;
	return 0;
}

const char *session_path(const char *repo_dir, const struct session_ref *ref, const char *part, struct arena *mem)
{
	return str_printf(mem, "%s/%s/%s%s%s", repo_dir, session_bucket(ref->kind), ref->id, part ? "/" : "",
		part ? part : "").p;
}

/* The id is also part of a branch's and a ref's name: git/gitop.h holds it to the same letters. */
bool session_id_ok(struct str id)
{
	if (id.n == 0 || id.n > SESSION_ID_MAX || id.p[0] == '-')
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '-' || c == '_';

		if (!plain)
			return false;
	}
	return true;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool taken(const char *repo_dir, const char *id)
{
	auto_arena struct arena *mem = arena_new();
	struct session_ref ref;

	snprintf(ref.id, sizeof(ref.id), "%s", id);
	for (int k = 0; k < SESSION_KINDS; k++) {
		ref.kind = (enum session_kind)k;
		if (exists(session_path(repo_dir, &ref, NULL, mem)))
			return true;
	}
	return false;
}

static int make_id(char out[SESSION_ID_MAX + 1], struct err *err)
{
	static const char base32[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint32_t ms = (uint32_t)time_now_ms();
	uint16_t rnd[3];

	if (getrandom(rnd, sizeof(rnd), 0) != sizeof(rnd))
		return err_sys(err, errno, "getrandom");
	snprintf(out, SESSION_ID_MAX + 1, "%s-%s-%c%c%c%c%c%c", word_adjective(rnd[0]), word_noun(rnd[1]),
		base32[ms >> 15 & 31], base32[ms >> 10 & 31], base32[ms >> 5 & 31], base32[ms & 31],
		base32[rnd[2] & 31], base32[rnd[2] >> 5 & 31]);
	return 0;
}

int session_mint(const char *repo_dir, enum session_kind kind, struct session_ref *out, struct err *err)
{
	struct session_ref ref = { .kind = kind };

	for (int i = 0; i < MINT_TRIES; i++) {
		TRY(make_id(ref.id, err));
		if (!taken(repo_dir, ref.id)) {
			*out = ref;
			return 0;
		}
	}
	return err_set(err, ERR_EXIST, "no free session name was found in %d tries", MINT_TRIES);
}

int session_create(const char *repo_dir, const struct session_ref *ref, struct err *err)
{
	static const char *const parts[] = { "record", "answers" };
	auto_arena struct arena *mem = arena_new();
	const char *dir = session_path(repo_dir, ref, NULL, mem);

	if (!session_id_ok(str_from(ref->id)))
		return err_set(err, ERR_INVALID, "\"%s\" cannot name a session: letters, digits, '-' and '_'",
			ref->id);
	TRY(dir_make(str_printf(mem, "%s/%s", repo_dir, session_bucket(ref->kind)).p, 0700, err));
	if (mkdir(dir, 0700) < 0)
		return errno == EEXIST ? err_set(err, ERR_EXIST, "there is a session called \"%s\" already", ref->id)
				       : err_sys(err, errno, "make directory %s", dir);
	for (size_t i = 0; i < COUNT(parts); i++)
		TRY(dir_make(session_path(repo_dir, ref, parts[i], mem), 0700, err));
	return 0;
}

/* ---- lists ---- */

struct entries {
	VEC(struct session_entry);
};

static int64_t mtime_ms(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

static int add_bucket(const char *repo_dir, enum session_kind kind, struct entries *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	autoclose int dir = -1;
	struct dir_entry *list;
	size_t n;
	const char *path = str_printf(mem, "%s/%s", repo_dir, session_bucket(kind)).p;

	if (mtime_ms(path) < 0) /* nothing of this kind yet */
		return 0;
	TRY(dir_open(AT_FDCWD, path, &dir, err));
	TRY(dir_list(dir, mem, ENTRIES_MAX, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		struct session_ref ref = { .kind = kind };

		if (list[i].type != DT_DIR || !session_id_ok(list[i].name))
			continue;
		memcpy(ref.id, list[i].name.p, list[i].name.n);
		int64_t log = mtime_ms(session_path(repo_dir, &ref, "record/logs.jsonl", mem));
		int64_t manifest = mtime_ms(session_path(repo_dir, &ref, "record/manifest.json", mem));
		if (log < 0 && manifest < 0)
			continue;
		*vec_new(out) = (struct session_entry){ .ref = ref, .active_ms = log >= 0 ? log : manifest };
	}
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct session_entry *x = a, *y = b;

	if (x->active_ms != y->active_ms)
		return x->active_ms < y->active_ms ? 1 : -1;
	return strcmp(x->ref.id, y->ref.id);
}

static int collect(const char *repo_dir, unsigned set, struct entries *out, struct err *err)
{
	for (int k = 0; k < SESSION_KINDS; k++)
		if (set & 1u << k)
			TRY(add_bucket(repo_dir, (enum session_kind)k, out, err));
	if (out->n > 0)
		qsort(out->p, out->n, sizeof(*out->p), newest_first);
	return 0;
}

int session_list(const char *repo_dir, unsigned set, struct arena *mem, struct session_entry **out, size_t *out_n,
	struct err *err)
{
	struct entries all = { 0 };
	int r = collect(repo_dir, set, &all, err);

	if (r == 0) {
		*out = arena_array(mem, all.n > 0 ? all.n : 1, sizeof(**out));
		for (size_t i = 0; i < all.n; i++) {
			(*out)[i] = all.p[i];
			(*out)[i].live = session_is_live(repo_dir, &all.p[i].ref);
		}
		*out_n = all.n;
	}
	vec_fini(&all);
	return r;
}

static int ambiguous(const struct entries *all, struct str word, size_t nfit, struct err *err)
{
	auto_buf struct buf names = BUF_MAX(4096);
	size_t shown = 0;

	for (size_t i = 0; i < all->n && shown < AMBIGUOUS_MAX; i++) {
		const struct session_ref *ref = &all->p[i].ref;

		if (str_starts(str_from(ref->id), word))
			TRY(buf_addf(&names, err, "%s%s/%s", shown++ ? ", " : "", session_bucket(ref->kind), ref->id));
	}
	return err_set(err, ERR_AMBIGUOUS, "\"" STR_FMT "\" fits %zu sessions: %s%s", STR_ARG(word), nfit, names.p,
		nfit > shown ? ", ..." : "");
}

/* What is wanted is named where it is of one kind. */
static int none(const struct entries *all, unsigned set, struct err *err)
{
	for (int k = 0; all->n > 0 && k < SESSION_KINDS; k++)
		if (set == 1u << k)
			return err_set(err, ERR_NOENT, "there is no %s of this repository yet", session_word((enum session_kind)k));
	return err_set(err, ERR_NOENT, "there are no sessions of this repository yet");
}

static int pick(const struct entries *all, struct str word, unsigned set, struct session_ref *out, struct err *err)
{
	const struct session_ref *fit = NULL;
	size_t nfit = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct session_ref *ref = &all->p[i].ref;

		if (word.n == 0 && (set & 1u << ref->kind)) {
			*out = *ref; /* the list is sorted, newest first */
			return 0;
		}
		if (word.n == 0 || !str_starts(str_from(ref->id), word))
			continue;
		fit = ref;
		nfit++;
		if (str_eqz(word, ref->id)) {
			nfit = 1;
			break;
		}
	}
	if (nfit > 1)
		return ambiguous(all, word, nfit, err);
	if (nfit == 0 && word.n == 0)
		return none(all, set, err);
	if (nfit == 0)
		return err_set(err, ERR_NOENT, "no session is called \"" STR_FMT "\" or begins so", STR_ARG(word));
	if (!(set & 1u << fit->kind))
		return err_set(err, ERR_INVALID, "%s is %s %s", fit->id, fit->kind == SESSION_ASK ? "an" : "a",
			session_word(fit->kind));
	*out = *fit;
	return 0;
}

int session_resolve(const char *repo_dir, struct str word, unsigned set, struct session_ref *out, struct err *err)
{
	struct entries all = { 0 };
	int r = collect(repo_dir, SESSION_ANY, &all, err);

	if (r == 0)
		r = pick(&all, word, set, out, err);
	vec_fini(&all);
	return r;
}

/* ---- locks ---- */

static struct flock whole_file(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

static bool is_held(int fd)
{
	struct flock l = whole_file(F_WRLCK);

	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* The body names the owner: "PID ID\n". It is for people; what counts is the lock itself. */
static int take_lock(const char *path, const char *id, int *out, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(512);
	autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct flock l = whole_file(F_WRLCK);

	if (fd < 0)
		return err_sys(err, errno, "open %s", path);
	if (fcntl(fd, F_OFD_SETLK, &l) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_sys(err, errno, "lock %s", path);
		TRY(file_read_fd(fd, &body, err));
		struct str owner = buf_str(&body), pid = str_cut(&owner, ' ');

		owner = str_trim(owner);
		return err_set(err, ERR_BUSY, STR_FMT " is running, as process " STR_FMT, STR_ARG(owner), STR_ARG(pid));
	}
	TRY(buf_addf(&body, err, "%d %s\n", (int)getpid(), id));
	if (ftruncate(fd, 0) < 0)
		return err_sys(err, errno, "write %s", path);
	if (file_write_fd(fd, buf_str(&body), err) < 0)
		return err_wrap(err, "%s", path);
	*out = take_fd(&fd);
	return 0;
}

int session_lock(const char *repo_dir, const struct session_ref *ref, int *out_fd, struct err *err)
{
	auto_arena struct arena *mem = arena_new();

	return take_lock(session_path(repo_dir, ref, "run.lock", mem), ref->id, out_fd, err);
}

int64_t session_owner(const char *repo_dir, const struct session_ref *ref)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf body = BUF_MAX(512);
	autoclose int fd = open(session_path(repo_dir, ref, "run.lock", mem), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int64_t pid;

	if (fd < 0 || !is_held(fd) || file_read_fd(fd, &body, ERR_DISCARD) < 0)
		return 0;
	struct str rest = buf_str(&body);
	return str_to_i64(str_cut(&rest, ' '), &pid, ERR_DISCARD) == 0 && pid > 0 ? pid : 0;
}

int session_owner_pidfd(const char *repo_dir, const struct session_ref *ref)
{
	int64_t pid = session_owner(repo_dir, ref);
	autoclose int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;

	/* Still the owner: then the descriptor cannot be of somebody who got its number later. */
	return fd >= 0 && session_owner(repo_dir, ref) == pid ? take_fd(&fd) : -1;
}

bool session_is_live(const char *repo_dir, const struct session_ref *ref)
{
	auto_arena struct arena *mem = arena_new();
	autoclose int fd = open(session_path(repo_dir, ref, "run.lock", mem), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && is_held(fd);
}

int repo_lock(const char *repo_dir, const char *run_id, int *out_fd, struct err *err)
{
	auto_arena struct arena *mem = arena_new();

	TRY(dir_make(repo_dir, 0700, err));
	return take_lock(str_printf(mem, "%s/repo.lock", repo_dir).p, run_id, out_fd, err);
}
