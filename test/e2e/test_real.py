# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""A task in a real checkout of each kind, its own toolchain running inside the jail, the model scripted."""
import os
import shutil
import subprocess

from conftest import SOURCE, call, finish, missing, script, turn


def edit(path, old, new):
    return call("apply_edit", path=path, edits=[{"old_string": old, "new_string": new}])


def gate_turns(path, old, new):
    """Red first, then the edit, then green."""
    return script(
        turn(call("run_verify_command"), text="Let me see it fail."),
        turn(edit(path, old, new), expect=[{"tool_result": -1, "matches": "\"returncode\": ?[1-9]"}]),
        turn(call("run_verify_command")),
        turn(call("finish_run", summary="green"), expect=[{"tool_result": -1, "matches": "\"returncode\": ?0"}]),
        require_all=True, on_exhausted="error")


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            missing(f"{p} is not installed")


def complete(lab, scenario, timeout=300):
    m = lab.mock(scenario)
    r = lab.run("make the tests pass", timeout=timeout)
    status, complaints = m.stop()
    assert r.returncode == 0, r.both[-3000:]
    assert status == 0, complaints
    run_id = os.path.basename(lab.run_dirs()[-1])
    assert lab.git("rev-parse", f"refs/agent6/{run_id}/head").strip()
    return r


def test_a_c_project_with_cc_and_make(lab):
    need("cc", "make")
    lab.repo(**{
        "stack_DOT_h": "int stack_push(int v);\nint stack_pop(void);\n",
        "stack_DOT_c": "#include \"stack.h\"\nstatic int at[16], n;\nint stack_push(int v)\n{\n\tat[n] = v;\n\treturn n;\n}\n"
                       "int stack_pop(void)\n{\n\treturn at[--n];\n}\n",
        "test_DOT_c": "#include \"stack.h\"\n#include <assert.h>\n#include <stdio.h>\nint main(void)\n{\n\tstack_push(1);\n"
                      "\tstack_push(2);\n\tassert(stack_pop() == 2);\n\tassert(stack_pop() == 1);\n\tputs(\"ok\");\n}\n",
        "Makefile": "check: t\n\t./t\nt: test.c stack.c stack.h\n\t$(CC) -Wall -o $@ test.c stack.c\n",
        "_DOT_gitignore": "t\n"})
    complete(lab, gate_turns("stack.c", "at[n] = v;", "at[n++] = v;"))


def test_a_python_project_with_pytest(lab):
    if subprocess.run(["/usr/bin/python3", "-c", "import pytest"], capture_output=True).returncode:
        missing("pytest for /usr/bin/python3")
    lab.repo(**{
        "pyproject_DOT_toml": "[project]\nname = \"slug\"\nversion = \"1\"\n",
        "slug_DOT_py": "import re\n\n\ndef slug(text):\n    return re.sub(r\"[^a-z0-9]+\", \"_\", text.lower())\n",
        "tests__test_slug_DOT_py": "import sys, os\nsys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))\n"
                                   "from slug import slug\n\n\ndef test_slug():\n    assert slug(\"Hello World\") == \"hello-world\"\n"})
    complete(lab, gate_turns("slug.py", '"_"', '"-"'))


def test_a_node_project_with_its_own_test_runner(lab):
    need("node", "npm")
    lab.repo(**{
        "package_DOT_json": "{\n  \"name\": \"sum\",\n  \"scripts\": {\"test\": \"node --test\"}\n}\n",
        "sum_DOT_js": "exports.sum = (list) => list.reduce((a, b) => a + b);\n",
        "sum_DOT_test_DOT_js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
                               "const { sum } = require('./sum.js');\n"
                               "test('an empty list sums to zero', () => assert.strictEqual(sum([]), 0));\n"})
    complete(lab, gate_turns("sum.js", "(a, b) => a + b)", "(a, b) => a + b, 0)"))


def test_this_project_itself_with_its_unit_suite_as_the_gate(lab):
    """A real checkout of agent6: the model breaks nothing, edits a message, and the unit suite says so."""
    need("meson", "ninja", "cc")
    shutil.rmtree(lab.ws)
    shutil.copytree(SOURCE, lab.ws, symlinks=True, ignore=shutil.ignore_patterns("build*", ".git", "__pycache__"))
    lab.write("verify.sh", "#!/bin/sh\nset -e\n[ -d build ] || meson setup build -Donly=base,fmt >/dev/null\n"
                           "ninja -C build unit >/dev/null\n./build/unit pack\n", 0o755)
    lab.repo()
    m = lab.mock(script(
        turn(call("grep", pattern="the message is too long")),
        turn(edit("src/fmt/pack.c", "the message is too long", "the message does not fit"),
             expect=[{"tool_result": -1, "contains": "src/fmt/pack.c"}]),
        turn(call("run_verify_command")),
        turn(call("finish_run", summary="green"), expect=[{"tool_result": -1, "matches": "\"returncode\": ?0"}]),
        require_all=True, on_exhausted="error"))
    r = lab.run("say it better", timeout=400)
    status, complaints = m.stop()
    assert r.returncode == 0, r.both[-3000:]
    assert status == 0, complaints
