# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# The unit tests of the sandbox, as an ordinary user and as root. What this kernel cannot do they skip, and say so.
units() { # WHO LINE-PREFIX
	for t in cell_ jail_ once_ zygote_ guard_ confine_ seccomp_ landlock_ probe_ policy_ group_ gitwatch_ newgit_ toolpath_; do
		case_ "the unit tests $t of the sandbox pass as $1" "$2 'cd /tmp && timeout 400 unit $t' >/tmp/o 2>&1"
		grep -a '^SKIPPED' /tmp/o | sort -u | sed 's/^/vm: skipped: /'
	done
}
units user 'su user -c'
units root 'sh -c'
