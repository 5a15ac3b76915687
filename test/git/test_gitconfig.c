/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitconfig.h"
#include "git/gitindex.h"
#include "git/head.h"
#include "git/plain.h"
#include "sys/file.h"
#include "test/git/git_lib.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Files made of what such a file is made of, and git beside us: the same is read, or we ask. */

static uint64_t seed;

static void put(struct fixture *f, const char *path, struct str bytes)
{
	autoclose int fd = openat(f->dir.fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
}

static uint32_t dice(uint32_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % sides;
}

static const char *const pieces[] = { "[core]", "[core]\n", "[Core]\n", "[core \"Sub\"]\n", "[a.B]\n", "[a.b \"c\"]\n", "[core\t \"x\\\"y\\\\\"]",
	"[filter \"x\"]\n", "[ core]\n", "[core", "]\n", "key", "worktree", "bare", "WorkTree", "key-2 = ", "key_3", "=", " = ", "\t", " ", "\n",
	"\r\n", "\r", "v", "/a path", "\"q", "\"", "\\\n", "\\\"", "\\t", "\\q", "# c", ";", "\n\n", "\xEF\xBB\xBF", "\xFF", "true\n", "= 1 ; c\n",
	"[core \"\"]\n", "[core \"\"", "[a.b \"\"]\n", "[a.]\n", "[]\n", "[ \"x\"]\n", "= \"a # b\" c\n", "\tkey = v\n", "\tworktree = ../x\n", "[include]\n", "repositoryformatversion = 0\n" };

static const char *const lines[] = { "[core]\n", "[Core \"Sub\"]\n", "[a.B]\n", "[core] x = 1\n", "\tkey = v\n", "\tkey\n", "WorkTree = ../x # y\n", "k=\"a # b\" c ; d\n",
	"k = a \\\n  b\r\n", "; c [x\n", "k = \\\"q\\\\\n", "k = a\t b \n", "k = \" a\"\n", "bare = true\n", "k =\n", "[x \"\\y\"] z=1\n", "[core \"\"] worktree = ../x\n",
	"[core\t \"\"]\n", "[core.]\n" };

/* 0: read to the end; else -1. Each setting as git config --null --list says it, blanks all alike. */
static int all_settings(struct str bytes, struct buf *out)
{
	auto_gitconfig struct gitconfig c = gitconfig_from(bytes);
	struct err err = { 0 };
	int r;

	while ((r = gitconfig_next(&c)) > 0) {
		CHECK_OK(buf_addf(out, &err, STR_FMT "%s" STR_FMT "." STR_FMT "=" STR_FMT "|", STR_ARG(buf_str(&c.section)), c.has_sub ? "." : "",
			STR_ARG(buf_str(&c.sub)), STR_ARG(buf_str(&c.key)), STR_ARG(buf_str(&c.value))));
	}
	for (size_t i = 0; i < out->n; i++)
		out->p[i] = strchr("\t\r", out->p[i]) ? ' ' : out->p[i] == '\b' ? '?' : out->p[i];
	return r;
}

static void compares(struct fixture *f)
{
	int told = 0, refused = 0;

	if (f->jailed)
		return; /* no git of ours runs here */
	shell(f, "git init -q");
	seed = 88172645463325252u;
	for (int n = 0; n < 250; n++) {
		auto_buf struct buf text = BUF_MAX(4096), ours = BUF_MAX(65536);
		struct err err = { 0 };
		struct str said, wanted;
		int r;

		CHECK_OK(buf_addz(&text, n % 5 ? "[core]\n" : "", &err));
		for (uint32_t i = 2 + dice(7); i > 0; i--)
			CHECK_OK(buf_addz(&text, dice(4) ? lines[dice(COUNT(lines))] : pieces[dice(COUNT(pieces))], &err));
		put(f, "c", buf_str(&text));
		/* A setting without '=' has no value, which we say as an empty one. */
		said = shell(f, "if git config -f c --null --list >said 2>/dev/null; then sed -z 's/\\n/=/; t; s/$/=/' said | tr '\\0\\t\\r\\b' '|  ?'; else "
			"echo bad; fi");
		r = all_settings(buf_str(&text), &ours);
		wanted = str_trim(buf_str(&ours));
		told += r == 0;
		refused += r < 0;
		if (r == 0 && !str_eq(said, wanted))
			print_message("%d:\n" STR_FMT "\nours " STR_FMT "\ngit's " STR_FMT "\n", n, STR_ARG(buf_str(&text)), STR_ARG(wanted), STR_ARG(said));
		CHECK(r < 0 || str_eq(said, wanted));
	}
	CHECK(told > 60 && refused > 60); /* both are tried */
}

TEST(gitconfig_reads_what_git_reads_or_nothing)
{
	each_host(compares);
}

/* ---- an index that somebody changed ---- */

static const char *const indexes[] = { "true", "git update-index --index-version 4", "touch n; git add -N n; git update-index --skip-worktree a.txt",
	"git update-index --assume-unchanged a.txt; git update-index --force-untracked-cache; git status -s >/dev/null",
	/* as many entries as git reads in blocks, each with a thread */
	"h=$(git hash-object -w a.txt); seq 30000 | sed \"s|.*|100644 $h\\tmany/f&|\" | git -c index.threads=4 -c index.version=4 update-index --index-info" };

static void changed(struct fixture *f)
{
	const size_t row = *(size_t *)f->row;
	auto_buf struct buf b = BUF_MAX((size_t)16 << 20), was = BUF_MAX((size_t)16 << 20);
	struct discovered d;
	struct err err = { 0 };
	int told = 0;

	if (f->jailed)
		return;
	repo_with_commit(f);
	shell(f, indexes[row]);
	shell(f, "git config index.threads 4");
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	CHECK_OK(file_read(f->dir.fd, ".git/index", &was, &err));
	seed = 1181783497276652981u + row;
	for (int n = 0; n < 45; n++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf names = BUF_MAX((size_t)4 << 20);
		struct str_list files;
		size_t total;

		buf_clear(&b);
		CHECK_OK(buf_add(&b, buf_str(&was), &err));
		for (uint32_t i = n == 0 ? 0 : 1 + dice(2); i > 0; i--) /* most of what tells stands at the beginning and at the end */
			b.p[dice(2) ? dice((uint32_t)(b.n < 300 ? b.n : 300)) : b.n - 1 - dice((uint32_t)(b.n < 150 ? b.n : 150))] ^= (char)(1u << dice(8));
		put(f, ".git/index", buf_str(&b));
		if (!plain_files(&d, 100000, mem, &files, &total))
			continue;
		told++;
		for (size_t i = 0; i < files.n; i++) {
			CHECK_OK(buf_add(&names, files.p[i], &err));
			CHECK_OK(buf_addc(&names, '\0', &err));
		}
		put(f, "ours", buf_str(&names));
		/* A git that breaks over it said nothing. */
		struct str said = shell(f, "git ls-files --cached --deduplicate -z >said 2>why || s=$?; test ${s-0} -gt 128 || cmp ours said 2>&1 || cat why");

		if (said.n > 0)
			print_message("%s, %d: " STR_FMT "\n", indexes[row], n, STR_ARG(said));
		CHECK_INT(said.n, 0);
	}
	CHECK(told > 5);
}

TEST(plain_files_of_an_index_that_somebody_changed_are_gits_or_none)
{
	for (size_t i = 0; i < COUNT(indexes); i++)
		each_host_for(changed, &i);
}

/* ---- refs that somebody wrote ---- */

static const char *const places[] = { ".git/HEAD", ".git/refs/heads/main", ".git/packed-refs", ".git/" CHAIN };

static void add_ref(struct buf *b, const char *sha)
{
	static const char *const shapes[] = { "%s\n", "%s", " %s\n", "%s \n", "%s\t(x)\n", "ref: refs/heads/main\n", "ref:refs/heads/main", " ref: refs/heads/main\n",
		"ref: refs/heads/a b\n", "ref: refs/heads/main.lock\n", "ref: HEAD\n", "# pack-refs with: peeled fully-peeled sorted \n%s refs/heads/main\n",
		"%s refs/heads/main\n", "# pack-refs with: peeled fully-peeled sorted \n%s refs/heads/zz\n%s refs/heads/main\n", "%s refs/heads/main", "%s  refs/heads/main\n",
		"%s refs/heads/main\n%s refs/heads/main\n", "%s0000000000000000000000\n", "0000000000000000000000000000000000000000\n", "" };
	const char *shape = shapes[dice(COUNT(shapes))], *at;
	struct err err = { 0 };

	for (; (at = strstr(shape, "%s")); shape = at + 2) {
		CHECK_OK(buf_add(b, str_of(shape, (size_t)(at - shape)), &err));
		CHECK_OK(buf_addz(b, sha, &err));
	}
	CHECK_OK(buf_addz(b, shape, &err));
}

static void written(struct fixture *f)
{
	struct discovered d;
	struct err err = { 0 };
	const char *sha;
	int told = 0;

	if (f->jailed)
		return;
	repo_with_commit(f);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	sha = sha_of(f, "HEAD").p;
	shell(f, "mkdir -p .git/refs/agent6/" RUN_ID "; rm -rf .git/hooks .git/logs; cp -r .git kept");
	seed = 2463534242u;
	for (int n = 0; n < 70; n++) {
		auto_arena struct arena *mem = arena_new();
		struct repo_head head;
		struct str chain = STR("");

		shell(f, "rm -rf .git; cp -r kept .git");
		for (uint32_t i = 1 + dice(2); i > 0; i--) {
			auto_buf struct buf b = BUF_MAX(4096);
			const char *place = places[dice(COUNT(places))];

			add_ref(&b, sha);
			if (dice(6) == 0 && strcmp(place, ".git/HEAD") != 0)
				(void)!unlinkat(f->dir.fd, place, 0); /* it may be gone already */
			else
				put(f, place, buf_str(&b));
		}
		int r = head_read(&d, mem, &head, &err), c = plain_ref(&d, STR(CHAIN), mem, &chain);
		struct str said = shell(f, "for c in 'symbolic-ref -q --short HEAD' 'rev-parse -q --verify HEAD' 'rev-parse -q --verify " CHAIN "'; do "
			"echo \"=$(git $c 2>/dev/null)\"; done; git show-ref >/dev/null 2>&1 || echo =$?");
		struct str branch = str_skip(str_trim(str_line(&said)), 1), at = str_skip(str_trim(str_line(&said)), 1),
			   tip = str_skip(str_trim(str_line(&said)), 1);
		bool broken = str_eqz(str_trim(said), "=128"); /* git says so, whatever it is asked */
		bool right = broken || (r <= 0 || (str_eq(branch, head.branch) && str_eq(at, head.sha)));

		right = right && (broken || c < 0 || str_eq(tip, chain));

		told += r > 0;
		if (!right)
			print_message("%d: HEAD %d " STR_FMT " " STR_FMT ", git's " STR_FMT " " STR_FMT "; chain %d " STR_FMT ", git's " STR_FMT "\n" STR_FMT "\n", n, r,
				STR_ARG(r > 0 ? head.branch : STR("")), STR_ARG(r > 0 ? head.sha : STR("")), STR_ARG(branch), STR_ARG(at), c, STR_ARG(chain), STR_ARG(tip),
				STR_ARG(shell(f, "head -9 .git/HEAD .git/refs/heads/main .git/packed-refs .git/" CHAIN " 2>&1 || true")));
		CHECK(right);
	}
	CHECK(told > 12);
}

TEST(refs_that_somebody_wrote_are_read_as_git_reads_them_or_not_at_all)
{
	each_host(written);
}

/* ---- files kept elsewhere, however that is written ---- */

static const struct {
	const char *why, *text;
	bool elsewhere;
} kept[] = {
	{ "in quotes", "[core]\n\tworktree = \"../else\"\n", true },
	{ "in other letters", "[CORE]\n\tWorkTree = ../else\n", true },
	{ "behind its section", "[core] worktree = ../else ; there\n", true },
	{ "on two lines", "[core]\n\tworktree = ../el\\\nse\n", true },
	{ "here after all", "[core]\n\tworktree = ../else\n\tworktree = ..\n", false },
	{ "a place that is not there", "[core]\n\tworktree = ../nowhere\n", false },
	{ "somebody else's key", "[x]\n\tworktree = ../else\n[core \"y\"]\n\tworktree = ../else\n", false },
	{ "an empty subsection", "[core \"\"]\n\tworktree = ../else\n", false },
	{ "the old way to write that", "[core.] worktree = ../else\n", false },
	{ "an empty subsection, and then none", "[core \"\"]\n\tworktree = ..\n[core]\n\tworktree = ../else\n", true },
	{ "none, and then an empty subsection", "[core]\n\tworktree = ../else\n[core \"\"]\n\tworktree = ..\n", true },
	{ "a comment", "[core]\n\t; worktree = ../else\n", false },
};

static void leads(struct fixture *f)
{
	const size_t i = *(size_t *)f->row;
	struct discovered d;
	struct err err = { 0 };

	if (f->jailed)
		return;
	shell(f, "git init -q; mkdir else");
	put(f, ".git/config", str_from(kept[i].text));
	bool refused = discover_repo(f->dir.path, f->mem, &d, &err) < 0;

	if (refused != kept[i].elsewhere)
		print_message("%s\n", kept[i].why);
	CHECK(refused == kept[i].elsewhere && (!refused || strstr(err.msg, "core.worktree")));
}

TEST(discover_sees_that_files_are_kept_elsewhere_however_git_is_told)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		each_host_for(leads, &i);
}
