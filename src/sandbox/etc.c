/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The /etc of a cell: what toolchains need, by name, and nothing else. */
#include "sandbox/mnt.h"
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_MAX (1024 * 1024)

/* Mounted read-only as they are: a mount is no dearer than reading and writing a few kilobytes. Names are tried, not
 * listed: a look through the host's /etc costs as much as half of this table. A link is copied as a link where it
 * leads into /usr, else its target's bytes are. */
const char *const etc_names[] = { "R", "alternatives", "chromium", "chromium.d", "crypto-policies", "fonts", "java", "java-8-openjdk",
	"java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk", "java-openjdk", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "mime.types", "os-release", "perl",
	"protocols", "python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14",
	"services", "terminfo", "texmf", "timezone", NULL };

/* Certificates without the private keys that lie beside them. */
const char *const etc_nested[] = { "maven/m2.conf", "maven/logging", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem",
	"pki/ca-trust/extracted", NULL };

bool root_shows_etc(const char *path)
{
	static const char etc[] = "/etc/";
	const char *const *const tables[] = { etc_names, etc_nested };

	if (strncmp(path, etc, strlen(etc)) != 0)
		return false;
	for (size_t t = 0; t < COUNT(tables); t++)
		for (const char *const *name = tables[t]; *name; name++)
			if (path_beneath(path + strlen(etc), *name))
				return true;
	return false;
}

static int copy_file(int host, int etc, const char *name, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(COPY_MAX);

	if (file_read(host, name, &text, ERR_DISCARD) < 0)
		return 0; /* missing, unreadable or odd: the cell does without */
	return root_write_file(etc, name, buf_str(&text), err);
}

static int take_link(int host, int etc, const char *name, struct err *err)
{
	char to[256];
	ssize_t n = readlinkat(host, name, to, sizeof(to) - 1);

	if (n <= 0)
		return 0;
	to[n] = '\0';
	if (strncmp(to, "/usr/", 5) != 0 && strncmp(to, "../usr/", 7) != 0)
		return copy_file(host, etc, name, err);
	return symlinkat(to, etc, name) < 0 ? err_sys(err, errno, "make /etc/%s in the cell", name) : 0;
}

/* Nothing is cloned that is not mounted: letting go of a detached mount waits for every processor. */
static int take_entry(const struct root *r, int host, int etc, const char *name, struct err *err)
{
	struct stat st;
	int made;

	if (fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			return 0;
		return err_sys(err, errno, "look at /etc/%s", name);
	}
	if (S_ISLNK(st.st_mode))
		return take_link(host, etc, name, err);

	autoclose int tree = mnt_clone_attr(host, name, AT_RECURSIVE | AT_SYMLINK_NOFOLLOW,
		MNT_FLOOR | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);
	if (tree < 0)
		return err_sys(err, errno, "copy and restrict the mount of /etc/%s", name);
	made = S_ISDIR(st.st_mode) ? mkdirat(etc, name, 0755) : root_place_file(r, etc, name);
	if (made < 0)
		return err_sys(err, errno, "make /etc/%s in the cell", name);
	if (mnt_move(tree, etc, name) < 0)
		return err_sys(err, errno, "mount /etc/%s in the cell", name);
	return 0;
}

static int take_table(const struct root *r, int host, int etc, struct err *err)
{
	for (const char *const *name = etc_names; *name; name++)
		TRY(take_entry(r, host, etc, *name, err));
	return 0;
}

static int take_nested(const struct root *r, int host, int etc, struct err *err)
{
	for (const char *const *name = etc_nested; *name; name++) {
		char parent[64];
		struct str rest = str_from(*name);

		if (faccessat(host, *name, F_OK, 0) < 0)
			continue;
		for (struct str part = str_cut(&rest, '/'); rest.n > 0; part = str_cut(&rest, '/')) {
			size_t at = (size_t)(part.p + part.n - *name);

			memcpy(parent, *name, at);
			parent[at] = '\0';
			if (mkdirat(etc, parent, 0755) < 0 && errno != EEXIST)
				return err_sys(err, errno, "make /etc/%s in the cell", parent);
		}
		TRY(take_entry(r, host, etc, *name, err));
	}
	return 0;
}

static int write_accounts(const struct root *r, int etc, struct err *err)
{
	auto_buf struct buf passwd = BUF_MAX(1024);
	auto_buf struct buf group = BUF_MAX(1024);

	TRY(buf_addz(&passwd, "root:x:0:0:root:/root:/bin/sh\n", err));
	TRY(buf_addz(&group, "root:x:0:\n", err));
	if (r->spec.uid != 0)
		TRY(buf_addf(&passwd, err, "user:x:%u:%u:user:/tmp:/bin/sh\n", (unsigned)r->spec.uid,
			(unsigned)r->spec.gid));
	if (r->spec.gid != 0)
		TRY(buf_addf(&group, err, "user:x:%u:\n", (unsigned)r->spec.gid));
	TRY(buf_addz(&passwd, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", err));
	TRY(buf_addz(&group, "nogroup:x:65534:\n", err));
	TRY(root_write_file(etc, "passwd", buf_str(&passwd), err));
	return root_write_file(etc, "group", buf_str(&group), err);
}

static int write_network(const struct root *r, int host, int etc, struct err *err)
{
	TRY(root_write_file(etc, "nsswitch.conf",
		STR("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
		    "protocols: files\nservices: files\n"),
		err));
	if (r->spec.host_network) {
		TRY(copy_file(host, etc, "hosts", err));
		return copy_file(host, etc, "resolv.conf", err);
	}
	TRY(root_write_file(etc, "hosts",
		STR("127.0.0.1 localhost cell\n::1 localhost ip6-localhost ip6-loopback\n"), err));
	return root_write_file(etc, "resolv.conf", STR(""), err);
}

int etc_build(const struct root *r, int etc, struct err *err)
{
	autoclose int host = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (host < 0)
		return err_sys(err, errno, "open /etc");
	TRY(take_table(r, host, etc, err));
	TRY(take_nested(r, host, etc, err));
	TRY(write_accounts(r, etc, err));
	return write_network(r, host, etc, err);
}
