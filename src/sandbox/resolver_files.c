/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/resolver_files.h"

#define FILE_RULE(p) { .kind = LL_PATH, .path = (p), .access = LL_READ_FILE, .optional = true }
/* A directory, because the file in it is replaced when the network changes. */
#define DIR_RULE(p) { .kind = LL_PATH, .path = (p), .access = LL_READ_FILE, .optional = true }

const struct ll_rule resolver_rules[RESOLVER_RULES] = {
	FILE_RULE("/etc/hosts"),
	FILE_RULE("/etc/resolv.conf"),
	FILE_RULE("/etc/nsswitch.conf"),
	FILE_RULE("/etc/host.conf"),
	FILE_RULE("/etc/gai.conf"),
	FILE_RULE("/etc/services"),
	FILE_RULE("/etc/protocols"),
	FILE_RULE("/mnt/wsl/resolv.conf"),
	DIR_RULE("/run/systemd/resolve"),
	DIR_RULE("/run/NetworkManager"),
	DIR_RULE("/run/resolvconf"),
	DIR_RULE("/run/connman"),
};
