# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Figures: measured by turns, printed as they come and as a table at the end. What bench.py's parts share."""
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from conftest import BUILD  # noqa: E402

rows = []


def say(what, measured, bound="", notes=""):
    rows.append((what, measured, bound, notes))
    print(f"  {what}: {measured}" + (f" (bound {bound})" if bound else ""), file=sys.stderr, flush=True)


def tool(name):
    return os.path.join(BUILD, name)


def both(values, form="{:.2f}"):
    """The median, and the least in brackets."""
    return f"{form.format(statistics.median(values))} [{form.format(min(values))}]"


def times(rounds, *programs, env=None, cwd=None):
    """[(median, least, ...)] of programs run in turns, in microseconds; each is a list of words, maybe after -s FILE. What follows
    is the median of its time over each program's of the same round."""
    words = []
    for p in programs:
        words += (["--"] if words else []) + list(p)
    out = subprocess.run([tool("bench_time"), str(rounds), *words], env=env, cwd=cwd, check=True, capture_output=True,
                         text=True).stdout
    return [tuple(float(x) for x in l.split()) for l in out.splitlines()]


def over(t, one, floor):
    """The median of the rounds' ratios, and the ratio of the least in brackets."""
    return f"{t[one][2 + floor]:.2f} x [{t[one][1] / t[floor][1]:.2f}]"


def print_table():
    head = ("what", "measured: median [least]", "bound", "notes")
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(3)]
    for r in [head, *rows]:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths)) + "  " + r[3])
