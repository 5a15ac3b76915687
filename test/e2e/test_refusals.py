# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What keeps a run from starting, and what is said at its start: every condition with the test that tries it.

Those that no other file tries are tried below the table.
"""
import os
import re

import pytest

import conftest
from conftest import as_hardened, call, finish, script, turn

# Condition, what comes of it, the test.
TABLE = [
    ("the profile cannot be had", "refused, with the reason", "test_a_profile_becomes_what_the_host_can_do_or_is_refused_with_the_reason"),
    ("auto is less than strict", "said, with the reason", "test_without_user_namespaces_auto_is_hardened_and_says_why"),
    ("strict without Landlock", "said", "test_a_profile_becomes_what_the_host_can_do_or_is_refused_with_the_reason"),
    ("hardened with Landlock before ABI 3", "refused", "probe_resolution_never_weakens_in_silence"),
    ("none", "UNSANDBOXED", "test_the_sandbox_can_be_disabled_by_hand_and_that_is_loud"),
    ("none and nobody is asked about commands, at a terminal", "asked once", "test_without_a_sandbox_and_without_questions_a_person_is_asked_once"),
    ("run_commands ask with nobody to answer", "refused", "test_commands_under_ask_with_nobody_to_answer_are_refused_before_anything_exists"),
    ("root without --allow-root", "refused", "test_root_is_refused_without_allow_root"),
    ("root", "says as whom commands run", "test_root_is_told_once_as_whom_commands_run_and_that_is_true"),
    ("hardened as root, in a workspace of root's", "refused", "test_root_becomes_the_owner_of_the_workspace_or_refuses"),
    ("hardened with protect_git set", "refused", "test_what_landlock_cannot_do_is_refused_when_it_is_asked_for_by_name"),
    ("hardened with hide_paths", "refused", "test_what_landlock_cannot_do_is_refused_when_it_is_asked_for_by_name"),
    ("hardened and a hidden path that holds a grant", "refused", "test_what_cannot_be_hidden_is_refused_in_either_direction"),
    ("hardened and a grant to read that lies where commands write", "refused",
     "test_without_namespaces_what_is_granted_to_be_read_where_commands_write_is_refused"),
    ("hardened and the same of a server's", "refused", "test_without_namespaces_a_server_has_nothing_to_read_alone_where_it_writes"),
    ("hardened, by itself", ".git can be written", "test_a_whole_run_works_and_leaves_nothing"),
    ("hardened and a grant around what is agent6's own", "refused", "test_without_namespaces_a_grant_around_what_is_agent6s_own_is_refused"),
    ("a grant in what is agent6's own", "refused by its key", "test_a_grant_that_cannot_be_given_is_refused_by_the_name_of_its_key"),
    ("the workspace and what is agent6's own in one another", "refused", "test_a_workspace_and_what_is_agent6s_own_do_not_lie_in_one_another"),
    ("commands or servers with the host's network", "said", "test_what_a_command_reaches"),
    ("agent_network open", "said", "test_open_dials_by_itself_and_honours_the_proxy_and_says_both"),
    ("a credential over plain http to elsewhere", "refused", "test_plain_http_leaves_this_machine_for_nobody"),
    ("a gate or a metric whose program is not there", "said", "test_a_gate_that_is_not_there_is_said_before_the_model_is_asked"),
    ("a program that the jail has not", "said once", "test_a_program_that_the_jail_has_not_is_told_once"),
]


def test_every_condition_of_the_table_has_a_test():
    known = set()
    for top, _, names in os.walk(os.path.join(conftest.SOURCE, "test")):
        for n in names:
            if n.endswith((".c", ".py")):
                with open(os.path.join(top, n), encoding="utf-8") as f:
                    known.update(re.findall(r"^(?:TEST\(|def )(\w+)", f.read(), re.M))
    assert [(c, t) for c, _, t in TABLE if t not in known] == []


@pytest.mark.parametrize("how", ["the workspace holds it", "it holds the workspace", "a link leads into the workspace"])
@pytest.mark.parametrize("name", ["AGENT6_CONFIG_HOME", "AGENT6_STATE_HOME", "AGENT6_DATA_HOME"])
def test_a_workspace_and_what_is_agent6s_own_do_not_lie_in_one_another(lab, name, how):
    lab.repo(a="1\n")
    own = os.path.join(lab.ws, "own")
    if how == "it holds the workspace":
        own = os.path.dirname(lab.ws)
    else:
        os.mkdir(own, 0o700)
    if how == "a link leads into the workspace":
        os.symlink(own, os.path.join(lab.home, "link"))
        own = os.path.join(lab.home, "link")
    r = lab.agent6("run", "--auto-approve", "do it", env={name: own})
    assert r.returncode == 2 and "lie in one another" in r.err and "hint:" in r.err and name in r.err, r.both
    assert lab.agent6("exec", "--", "true", env={name: own}).returncode == 2
    assert not os.path.exists(os.path.join(lab.ws, "own")) or os.listdir(os.path.join(lab.ws, "own")) == []


@pytest.mark.parametrize("which", ["config", "state", "data"])
@pytest.mark.parametrize("key", ["extra_read_paths", "extra_write_paths"])
def test_without_namespaces_a_grant_around_what_is_agent6s_own_is_refused(lab, key, which):
    """Where it cannot be hidden; under strict it is."""
    lab = as_hardened(lab)
    lab.repo(a="1\n")
    around = {"config": ".config", "state": ".local/state", "data": ".local/share"}[which]
    lab.mock(script(finish()), extra=f'[sandbox]\n{key} = ["{lab.home}/{around}"]\n')
    r = lab.run()
    assert r.returncode == 2 and f"sandbox.{key}" in r.err and "cannot hide it" in r.err and "hint:" in r.err, r.both
    assert lab.run_dirs() == []


@pytest.mark.parametrize("hidden, granted", [("granted/secret", "granted"), ("private", "private/part")])
def test_what_cannot_be_hidden_is_refused_in_either_direction(lab, hidden, granted):
    lab = as_hardened(lab)
    lab.repo(a="1\n")
    for d in (hidden, granted):
        os.makedirs(os.path.join(lab.home, d), exist_ok=True)
    lab.mock(script(finish()), extra=f'[sandbox]\nhide_paths = ["{lab.home}/{hidden}"]\nextra_read_paths = ["{lab.home}/{granted}"]\n')
    r = lab.run()
    assert r.returncode == 2 and f"{lab.home}/{hidden}" in r.err and "hint" in r.err, r.both
    assert lab.run_dirs() == []


def test_a_program_that_the_jail_has_not_is_told_once(lab_of_each_profile):
    """A directory of PATH in the home that is none of tools alone is not shown."""
    lab = lab_of_each_profile.repo(a="1\n")
    lab.write(os.path.join(lab.home, "tool"), "#!/bin/sh\necho works\n", 0o755)
    lab.env["PATH"] = lab.home + ":" + lab.env["PATH"]
    lab.mock(script(turn(call("run_command", argv=["tool"])), turn(call("run_command", argv=["true"])), turn(call("run_command", argv=["tool"])),
                    finish()))
    r = lab.run()
    assert r.returncode == 0, r.both
    told = lab.events("loop.sandbox_tool_unreachable")
    assert [e["binary"] for e in told] == ["tool"], told


HELD = [("", "vendor", "the workspace"), ("{home}/out", "{home}/out/ro", "sandbox.extra_write_paths makes writable"),
        ("{home}/out", "{home}/out/ro/x", "sandbox.extra_write_paths makes writable")]


@pytest.mark.parametrize("writes, reads, says", HELD)
def test_without_namespaces_what_is_granted_to_be_read_where_commands_write_is_refused(lab, writes, reads, says):
    """Landlock cannot keep it read-only there; a session that writes nowhere may have it."""
    lab = as_hardened(lab)
    lab.repo(a="1\n", vendor__x="1\n")
    lab.write(os.path.join(lab.home, "out", "ro", "x"), "1\n")
    writes, reads = writes.format(home=lab.home), os.path.join(lab.ws, reads.format(home=lab.home))
    grants = f'extra_read_paths = ["{reads}"]\n' + (f'extra_write_paths = ["{writes}"]\n' if writes else "")
    lab.mock(script(finish()), extra=f"[sandbox]\n{grants}")
    r = lab.run()
    assert r.returncode == 2 and f"sandbox.extra_read_paths: profile \"hardened\" cannot keep {reads} read-only" in r.err, r.both
    assert (writes or lab.ws) in r.err and says in r.err and "hint: take it out of sandbox.extra_read_paths" in r.err, r.both
    assert lab.run_dirs() == []
    assert lab.agent6("exec", "--", "true").returncode == 2
    assert lab.agent6("ask", "--no-commands", "what is it?").returncode != 2


def test_without_namespaces_a_server_has_nothing_to_read_alone_where_it_writes(lab):
    lab = as_hardened(lab)
    lab.repo(a="1\n")
    lab.write(os.path.join(lab.home, "out", "ro", "x"), "1\n")
    lab.mock(script(finish()), extra=f'[mcp.lab]\ncommand = ["true"]\nextra_read_paths = ["{lab.home}/out/ro"]\n'
             f'extra_write_paths = ["{lab.home}/out"]\n')
    r = lab.run()
    assert "mcp.lab.extra_read_paths: profile \"hardened\" cannot keep" in r.err and r.returncode == 2, r.both
