/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The /etc of a cell: what toolchains need, by name, and nothing else. */
#include "sandbox/mnt.h"
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_MAX (256 * 1024)

enum how {
	BIND, /* a file or directory, mounted read-only */
	COPY, /* a plain file with the same bytes, through links: a directory of them would show more */
};

static const struct {
	const char *name;
	bool prefix; /* every name that starts so */
	enum how how;
} table[] = {
	{ "alternatives", false, BIND },
	{ "ca-certificates", false, BIND },
	{ "crypto-policies", false, BIND },
	{ "fonts", false, BIND },
	{ "java", true, BIND },
	{ "ld.so.", true, BIND },
	{ "locale", true, BIND }, /* .alias .conf .gen */
	{ "localtime", false, COPY },
	{ "maven", false, BIND },
	{ "mime.types", false, BIND },
	{ "os-release", false, COPY },
	{ "perl", false, BIND },
	{ "protocols", false, BIND },
	{ "python3", true, BIND },
	{ "services", false, BIND },
	{ "terminfo", false, BIND },
	{ "timezone", false, BIND },
};

/* Certificates without the private keys that lie beside them. */
static const char *const nested[] = { "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem",
	"pki/ca-trust/extracted" };

static int bind_entry(const struct root *r, int host, int etc, const char *name, struct err *err)
{
	autoclose int fd = file_openat2(host, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	autoclose int tree = -1;
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open /etc/%s", name);
	if (S_ISLNK(st.st_mode)) {
		char to[256];
		ssize_t n = readlinkat(host, name, to, sizeof(to) - 1);

		if (n <= 0)
			return 0;
		to[n] = '\0';
		return symlinkat(to, etc, name) < 0 ? err_sys(err, errno, "make /etc/%s in the cell", name) : 0;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode) ? mkdirat(etc, name, 0755) < 0 : false)
		return err_sys(err, errno, "make /etc/%s in the cell", name);
	if (S_ISREG(st.st_mode))
		TRY(root_write_file(etc, name, STR(""), err));
	tree = mnt_clone(fd, "", AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 || mnt_attr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
				MNT_FLOOR | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, -1) < 0)
		return err_sys(err, errno, "copy the mount of /etc/%s", name);
	if (mnt_move(tree, etc, name) < 0)
		return err_sys(err, errno, "mount /etc/%s in the cell", name);
	(void)r;
	return 0;
}

static int copy_entry(int host, int etc, const char *name, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(COPY_MAX);

	if (file_read(host, name, &text, ERR_DISCARD) < 0)
		return 0; /* missing, unreadable or odd: the cell does without */
	return root_write_file(etc, name, buf_str(&text), err);
}

static int take_entry(const struct root *r, int host, int etc, const char *name, struct err *err)
{
	for (size_t i = 0; i < COUNT(table); i++) {
		size_t n = strlen(table[i].name);

		if (table[i].prefix ? strncmp(name, table[i].name, n) != 0 : strcmp(name, table[i].name) != 0)
			continue;
		return table[i].how == BIND ? bind_entry(r, host, etc, name, err) : copy_entry(host, etc, name, err);
	}
	return 0;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int take_table(const struct root *r, int host, int etc, struct err *err)
{
	CLEANUP(close_dir) DIR *d = opendir("/etc");

	if (!d)
		return err_sys(err, errno, "list /etc");
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		TRY(take_entry(r, host, etc, e->d_name, err));
	return 0;
}

static int take_nested(const struct root *r, int host, int etc, struct err *err)
{
	for (size_t i = 0; i < COUNT(nested); i++) {
		char parent[64];
		struct str rest = str_from(nested[i]);
		size_t at = 0;

		if (faccessat(host, nested[i], F_OK, AT_EACCESS) < 0)
			continue;
		for (struct str part = str_cut(&rest, '/'); rest.n > 0; part = str_cut(&rest, '/')) {
			at = (size_t)(part.p + part.n - nested[i]);
			memcpy(parent, nested[i], at);
			parent[at] = '\0';
			if (mkdirat(etc, parent, 0755) < 0 && errno != EEXIST)
				return err_sys(err, errno, "make /etc/%s in the cell", parent);
		}
		TRY(bind_entry(r, host, etc, nested[i], err));
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
		TRY(copy_entry(host, etc, "hosts", err));
		return copy_entry(host, etc, "resolv.conf", err);
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
