# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Where models run and how one signs in there: token commands, presets, servers on this machine."""
import json
import os
import stat

import pytest

from conftest import call, finish


def token_script(lab, body):
    path = os.path.join(lab.home, "token.sh")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + body)
    os.chmod(path, 0o755)
    return path


def everything_recorded(lab):
    text = b""
    for top, _, files in os.walk(os.path.join(lab.home, ".local")):
        for name in files:
            with open(os.path.join(top, name), "rb") as f:
                text += f.read()
    return text


def with_token(lab, script, turns, key, ttl=300):
    m = lab.mock({"turns": turns, "api_key": key})
    text = open(os.path.join(lab.home, ".config", "agent6", "config.toml"), encoding="utf-8").read()
    lab.config(text.replace('api_key_env = "MOCK_API_KEY"',
                            f'token_command = ["{script}", "two words"]\ntoken_command_ttl_s = {ttl}'))
    return m


def test_a_token_command_signs_the_requests_and_is_asked_again_when_the_token_is_refused(lab):
    """The first token is stale: the server says 401, the command runs once more, the request is sent again. The agent
    never hears of it, and neither token is in the record."""
    lab.repo(a_DOT_txt="a\n")
    script = token_script(lab, f'echo "$1" >> {lab.home}/asked\nn=$(wc -l < {lab.home}/asked)\necho "tok-number-$n-0123456789"\n')
    m = with_token(lab, script, [{"tool_calls": [call("grep", pattern="a")]}, finish()], "tok-number-2-0123456789")
    r = lab.run("look")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    assert open(os.path.join(lab.home, "asked"), encoding="utf-8").read() == "two words\ntwo words\n"
    assert [q["status"] for q in m.model_requests()] == [401, 200, 200]
    assert not lab.events("loop.provider.retry") and not lab.events("loop.provider.fatal")
    assert b"tok-number" not in everything_recorded(lab)


@pytest.mark.parametrize("body, says", [("echo half-a-secret; exit 3\n", "token_command ended with status 3"),
                                        (":\n", "token_command printed nothing"),
                                        ("printf 'a\\001b'\n", "holds bytes that a header cannot")])
def test_a_token_command_that_fails_ends_the_run_with_what_to_do(lab, body, says):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, body), [finish()], "none")
    r = lab.run("look")
    assert r.returncode == 1 and says in r.both, r.both
    assert "half-a-secret" not in r.both and b"half-a-secret" not in everything_recorded(lab)
    m.stop()
    assert not m.model_requests()


def test_a_token_that_stays_refused_is_asked_for_twice_and_no_more(lab):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, f"echo x >> {lab.home}/asked; echo wrong-token-0123456789\n"), [finish()], "right")
    r = lab.run("look")
    assert r.returncode == 1 and "agent6 connect mock" in r.both, r.both
    m.stop()
    assert [q["status"] for q in m.model_requests()] == [401, 401]
    assert open(os.path.join(lab.home, "asked"), encoding="utf-8").read() == "x\nx\n"


def test_the_list_of_models_is_asked_for_with_the_token(lab):
    lab.repo(a_DOT_txt="a\n")
    m = with_token(lab, token_script(lab, "echo right-token-0123456789\n"), [finish()], "right-token-0123456789")
    r = lab.agent6("model", "worker", "mock")
    assert r.returncode == 0 and "mock-small" in r.out, r.both
    m.stop()
