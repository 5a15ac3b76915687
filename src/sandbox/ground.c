/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/ground.h"
#include "sandbox/landlock.h"
#include "sandbox/probe.h"
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#define RULES_MAX (4 * POLICY_PATHS_MAX + 128)

static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };

static int refuse_cover(const struct grant *c, struct err *err)
{
	if (c->found) {
		err_set(err, ERR_UNSUPPORTED, "%s lies at %s, in what is granted, and profile \"hardened\" cannot cover it: Landlock grants a "
					      "directory whole", c->found, c->path);
		err_hint(err, "unmount it (umount %s), or use profile \"strict\"", c->path);
		return -ERR_UNSUPPORTED;
	}
	err_set(err, ERR_UNSUPPORTED, "%s %s: profile \"hardened\" cannot: Landlock grants a directory whole",
		c->kind == GRANT_HIDE ? "hide" : "protect", c->path);
	err_hint(err, "use profile \"strict\"%s", c->kind == GRANT_HIDE ? ", or take it out of hide_paths" : "");
	return -ERR_UNSUPPORTED;
}

static enum opened_kind kind_of(enum grant_kind k)
{
	switch (k) {
	case GRANT_WORKSPACE:
		return OPENED_WORKSPACE;
	case GRANT_RW:
		return OPENED_GRANT;
	case GRANT_SYSTEM:
		return OPENED_SYSTEM;
	default:
		return OPENED_TOOL;
	}
}

/* The object that was pinned, never through a link planted meanwhile. */
static int open_grant(struct ground *g, const struct grant *gr, struct err *err)
{
	struct stat st;

	if (S_ISLNK(gr->st.st_mode))
		return 0;
	autoclose int fd = file_openat2(AT_FDCWD, gr->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return err_sys(err, errno, "open %s", gr->path);
	if (fstat(fd, &st) < 0 || st.st_dev != gr->st.st_dev || st.st_ino != gr->st.st_ino)
		return err_set(err, ERR_CONFLICT, "open %s: it was exchanged for something else", gr->path);
	*vec_new(&g->opened) = (struct opened){ .path = str_dupz(g->mem, str_from(gr->path)), .kind = kind_of(gr->kind),
		.fd = take_fd(&fd) };
	return 0;
}

int ground_open(const struct sandbox_policy *p, const char *tmp, struct arena *mem, struct ground *out, struct err *err)
{
	struct root_spec spec = { .workspace = p->bare ? NULL : p->cwd, .ro_paths = p->extra_ro_paths, .rw_paths = p->extra_rw_paths,
		.tool_paths = p->tool_paths, .hide_paths = p->hide_paths, .protect_paths = p->extra_protect_paths };
	CLEANUP(ground_close) struct ground g = { .mem = mem, .workspace = p->cwd, .tmp = tmp,
		.host_network = p->network == NETWORK_HOST, .read_only = p->read_only };
	auto_root struct root *root = NULL;

	TRY(root_pin(&spec, mem, &root, err));
	TRY(beneath_cover(root, err));
	for (size_t i = 0; i < root->covers.n; i++)
		if (root->covers.p[i].kind != GRANT_PIN)
			return refuse_cover(&root->covers.p[i], err);
	if (landlock_abi() < PROBE_LANDLOCK_MIN) {
		err_set(err, ERR_UNSUPPORTED, "profile \"hardened\" needs Landlock ABI %d, this kernel has %d", PROBE_LANDLOCK_MIN, landlock_abi());
		err_hint(err, "%s", landlock_remedy(landlock_forbidden()));
		return -ERR_UNSUPPORTED;
	}
	for (size_t i = 0; i < root->mounts.n; i++)
		TRY(open_grant(&g, &root->mounts.p[i], err));
	*out = g;
	g.opened.p = NULL;
	g.opened.n = 0;
	return 0;
}

void ground_close(struct ground *g)
{
	for (size_t i = 0; i < g->opened.n; i++)
		close(g->opened.p[i].fd);
	vec_fini(&g->opened);
}

struct rules {
	size_t n;
	struct ll_rule rule[RULES_MAX];
};

static void add(struct rules *r, struct ll_rule rule)
{
	BUG_IF(r->n == RULES_MAX);
	if (rule.access != 0 || rule.kind == LL_NET_FREE)
		r->rule[r->n++] = rule;
}

/* Not the whole of /etc: much in it is for root alone, and one-shot commands of root keep its id. */
static void add_etc(const struct ground *g, struct rules *r, uint64_t access)
{
	/* From gitconfig on: of one that is there and does not open programs complain on every call, or, as pip does, fail. */
	static const char *const accounts[] = { "passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "gitconfig",
		"debian_version", "lsb-release", "redhat-release", "fedora-release", "centos-release", "system-release",
		"alpine-release", "arch-release", "magic", "manpath.config", "inputrc", NULL };
	const char *const *const lists[] = { etc_names, etc_nested, accounts };

	for (size_t i = 0; i < COUNT(lists); i++)
		for (const char *const *name = lists[i]; *name; name++)
			add(r, (struct ll_rule){ .kind = LL_PATH, .path = str_printf(g->mem, "/etc/%s", *name).p,
				       .access = access, .optional = true, .follow = true });
}

static uint64_t access_of(const struct ground *g, const struct jail_class *class, enum opened_kind kind)
{
	const uint64_t by_kind[] = { [OPENED_SYSTEM] = class->system, [OPENED_TOOL] = class->tools,
		[OPENED_GRANT] = class->grants, [OPENED_WORKSPACE] = g->read_only ? class->workspace & LL_RX : class->workspace };

	return by_kind[kind];
}

/* In a cell a rule for "/" shows what the mounts left; here it would show the host. */
static void fill(const struct ground *g, const struct jail_class *class, const int *exe, size_t n, struct rules *r)
{
	if (g->host_network && !class->own_network)
		add(r, (struct ll_rule){ .kind = LL_NET_FREE });
	add_etc(g, r, class->etc | class->root);
	add(r, (struct ll_rule){ .kind = LL_PATH, .path = "/proc", .access = class->root, .optional = true });
	for (size_t i = 0; i < COUNT(devices); i++)
		add(r, (struct ll_rule){ .kind = LL_PATH, .path = devices[i], .access = LL_DEVICE });
	if (g->tmp)
		add(r, (struct ll_rule){ .kind = LL_PATH, .path = g->tmp, .access = class->tmp });
	for (size_t i = 0; i < g->opened.n; i++)
		add(r, (struct ll_rule){ .kind = LL_FD, .fd = g->opened.p[i].fd,
			       .access = access_of(g, class, g->opened.p[i].kind) });
	for (size_t i = 0; class->exec_paths && class->exec_paths[i]; i++)
		add(r, (struct ll_rule){ .kind = LL_PATH, .path = class->exec_paths[i],
			       .access = LL_READ_FILE | LL_EXECUTE, .optional = true, .follow = true });
	for (size_t i = 0; i < n; i++)
		if (exe[i] >= 0)
			add(r, (struct ll_rule){ .kind = LL_FD, .fd = exe[i], .access = LL_READ_FILE | LL_EXECUTE });
}

int ground_rules(const struct ground *g, const struct jail_class *class, int exe, int *out, struct err *err)
{
	autofree struct rules *r = mem_alloc(sizeof(*r));

	fill(g, class, &exe, 1, r);
	return landlock_ruleset(r->rule, r->n, out, err);
}

int ground_enter(const struct ground *g, enum job_class most, const int *exe, size_t n, struct err *err)
{
	autofree struct rules *r = mem_alloc(sizeof(*r));
	char *parent = str_dupz(g->mem, str_from(g->tmp));
	autoclose int ruleset = -1;

	fill(g, jail_class_find(most), exe, n, r);
	*strrchr(parent, '/') = '\0';
	add(r, (struct ll_rule){ .kind = LL_PATH, .path = parent, .access = LL_REMOVE_DIR });
	/* There it finds the children that it has to end. */
	add(r, (struct ll_rule){ .kind = LL_PATH, .path = "/proc", .access = LL_RO, .optional = true });
	TRY(landlock_ruleset(r->rule, r->n, &ruleset, err));
	return landlock_enter(ruleset, err);
}

void ground_written(const struct ground *g, const struct jail_class *class, struct policy_list *out)
{
	for (size_t i = 0; i < g->opened.n; i++)
		if (access_of(g, class, g->opened.p[i].kind) & LL_WRITE_FILE)
			policy_list_add(out, g->mem, g->opened.p[i].path);
	if (g->tmp && (class->tmp & LL_WRITE_FILE))
		policy_list_add(out, g->mem, g->tmp);
}
