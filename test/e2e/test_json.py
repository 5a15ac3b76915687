# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""--json: what a script reads is JSON, whether it went well or not, and the exit status is the same."""
import json
import re

import pytest

from conftest import finish, script


def commands(lab):
    """Every command that help lists, as words."""
    found = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?: [A-Z\[].*)?  +\S", lab.agent6("help").out, re.M)
    return [f.split() for f in found]


def test_every_command_that_offers_json_says_its_errors_in_json_with_the_same_status(lab):
    offered = [c for c in commands(lab) if "--json" in lab.agent6(*c, "--help").out]
    assert len(offered) >= 15, offered
    for c in offered:
        plain, as_json = lab.agent6(*c, "--no-such-flag"), lab.agent6(*c, "--json", "--no-such-flag")
        assert plain.returncode == as_json.returncode == 2, c
        assert not as_json.out
        error = json.loads(as_json.err)
        assert error["exit"] == 2 and "--no-such-flag" in error["error"]["message"] and error["error"]["code"], c
        assert plain.err.startswith("ERROR: ") and error["error"]["message"] in plain.err, c


def test_an_error_with_a_place_says_it_in_members(lab):
    lab.config('[sandbox]\nprofile = "nope"\n')
    r = lab.agent6("config", "show", "--json")
    error = json.loads(r.err)["error"]
    assert r.returncode == 2 and not r.out
    assert (error["line"], error["column"]) == (2, 11) and error["file"].endswith("config.toml")
    assert "is not one of" in error["message"]


@pytest.mark.parametrize("command", [
    ("config", "show"), ("config", "presets"), ("memory", "list"), ("runs", "list"), ("skills", "list"), ("prompt", "show"),
    ("runs", "show"), ("runs", "transcript"), ("runs", "graph"), ("history", "search", "nothing"), ("replay",), ("check", "config"),
    ("mcp", "list"),
])
def test_what_is_printed_parses(lab, command):
    lab.repo(a="1\n")
    lab.mock(script({"text": "Nothing."}, finish()))
    lab.agent6("memory", "add", "build", "make")
    assert lab.run("nothing").returncode == 0
    plain, r = lab.agent6(*command), lab.agent6(*command, "--json")
    assert r.returncode == plain.returncode, r.both
    lines = [line for line in r.out.splitlines() if line]
    assert lines, r.both
    try:
        json.loads(r.out)
    except ValueError:  # a long list comes as one object a line
        assert all(isinstance(json.loads(line), dict) for line in lines)


def test_a_session_that_is_refused_says_so_in_json(lab):
    r = lab.agent6("ask", "--json", "why?")
    error = json.loads([line for line in r.err.splitlines() if line.startswith("{")][-1])
    assert r.returncode == error["exit"] == 2 and "model" in error["error"]["message"]
