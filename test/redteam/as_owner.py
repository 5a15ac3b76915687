#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""as_owner.py DIR CMD...: runs CMD while DIR belongs to an ordinary user, and gives it back afterwards.

Under hardened root becomes the owner of the workspace and refuses one of root's own, which is what the corpus has as root. It
compares owners, set-id bits and file capabilities before and after; a change of owner takes the last two away, so they are put
back as they were found."""
import ctypes
import os
import signal
import stat
import subprocess
import sys

OWNER = 64123


def give(top, uid):
    for folder, dirs, files in os.walk(top):
        for name in [""] + [d for d in dirs if os.path.islink(os.path.join(folder, d))] + files:
            path = os.path.join(folder, name) if name else folder
            st = os.lstat(path)
            kept = {n: os.getxattr(path, n, follow_symlinks=False) for n in os.listxattr(path, follow_symlinks=False)
                    if n == "security.capability"}
            os.lchown(path, uid, uid)
            if not stat.S_ISLNK(st.st_mode) and st.st_mode & 0o6000:
                os.chmod(path, stat.S_IMODE(st.st_mode))
            for n, value in kept.items():
                os.setxattr(path, n, value, follow_symlinks=False)


def main(top, *argv):
    give(top, OWNER)
    try:
        return subprocess.call(argv, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))  # PR_SET_PDEATHSIG
    finally:
        give(top, 0)


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.exit(status if status >= 0 else 128 - status)
