# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# The unit tests of the sandbox, as an ordinary user and as root. What this kernel cannot do they skip, and say so.
# VM_UNITS on the kernel's command line chooses (VM_UNITS=seccomp_,cell_).
names=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^VM_UNITS=//p' | tr ',' ' ')
units() { # WHO, AND HOW THAT ONE RUNS A LINE
	for t in ${names:-seccomp_ confine_ landlock_ no_role_ policy_ probe_ cell_ jail_ once_ guard_ group_ gitwatch_ newgit_ toolpath_ zygote_}; do
		case_ "the unit tests \"$t\" pass as $1" "$2 'cd /tmp && timeout 900 unit $t' >/tmp/o 2>&1"
		grep -a '^SKIPPED' /tmp/o | sort -u | sed 's/^/vm: skipped: /'
	done
}
units user 'su user -c'
units root 'sh -c'
