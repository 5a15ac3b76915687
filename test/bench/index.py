#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""index.py BUILD [MB]: what the code index costs on a tree of C beside ctags and ripgrep. Processor time.

The tree is made of this project's own C files, copied under many names with their function names made different, so that
it is as large as a large project's and its names are as rare."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1])
MB = int(sys.argv[2]) if len(sys.argv) > 2 else 100


def make(folder):
    texts = []
    for top, _, names in os.walk(os.path.join(SOURCE, "src")):
        for n in sorted(names):
            if n.endswith((".c", ".h")):
                with open(os.path.join(top, n), encoding="utf-8") as f:
                    texts.append((n, f.read()))
    total, copy = 0, 0
    while total < MB * 1000000:
        place = os.path.join(folder, f"d{copy:03}")
        os.makedirs(place)
        for n, t in texts:
            t = re.sub(r"\b([a-z]\w+_\w+)\(", rf"\1_{copy}(", t) # a function's name is of its copy
            with open(os.path.join(place, n), "w", encoding="utf-8") as f:
                f.write(t)
            total += len(t)
        copy += 1
    return total, copy


def clock(argv, stdin=b"", cwd=None):
    """Processor time of the cheapest of three: how long it takes depends on what else the machine does."""
    best, out = 1e9, None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        r = subprocess.run(argv, input=stdin, cwd=cwd, capture_output=True, check=False, timeout=300)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        out = r.stdout
    return best, out


def ask(folder, what, name, kept=b""):
    """kept: what the search before left, as the agent hands it on; what this one leaves comes last."""
    request = json.dumps({"what": what, "symbol": name, "pattern": rf"\Q{name}\E", "path": "."})
    seconds, out = clock([os.path.join(BUILD, "agent6-index")], request.encode() + b"\n" + kept, folder)
    end = out.index(b"\n", out.index(b'{"done"')) + 1
    last = json.loads(out[:end].splitlines()[-1])
    return seconds, last["count"], last, out[end:] or kept


def main():
    folder = tempfile.mkdtemp(prefix="agent6-bench-")
    try:
        total, copies = make(folder)
        print(f"a tree of {total / 1e6:.0f} MB of C, {copies} copies; nproc {os.cpu_count()}")
        rare, common = f"buf_add_{copies // 2}", "err"
        rg = shutil.which("rg")
        floor = clock([rg, "-c", "-w", rare, "."], cwd=folder)[0] if rg else None
        print(f"ripgrep -w {rare}: {floor:.2f} s" if rg else "ripgrep is not installed")
        for what, name in (("definitions", rare), ("references", rare), ("definitions", common), ("references", common)):
            seconds, count, last, kept = ask(folder, what, name)
            beside = f"{seconds / floor:5.1f} x ripgrep" if rg else ""
            print(f"{what:12} {name:14} {seconds:6.2f} s {beside:16} {count} rows, {last.get('source')}, "
                  f"truncated {last['truncated']} {last.get('note', '')}")
            if what == "definitions" and name == common:
                again, _, _, kept = ask(folder, what, name, kept)
                other, _, _, more = ask(folder, what, "buf", kept)
                other_again = ask(folder, what, "buf", more)[0]
                print(f"  the same again       {again:6.2f} s {again / floor:5.1f} x ripgrep, {again / seconds:.2f} of the first; {len(kept)} bytes kept\n"
                      f"  another common name  {other:6.2f} s, again {other_again:.2f} s" if rg else f"  the same again {again:.2f} s")
        if shutil.which("ctags"):
            seconds, _ = clock(["ctags", "--options=NONE", "-R", "-f", "tags", "."], cwd=folder)
            beside = f"{seconds / floor:5.1f} x ripgrep" if rg else ""
            print(f"ctags, the whole tree   {seconds:6.2f} s {beside}")
    finally:
        shutil.rmtree(folder)


main()
