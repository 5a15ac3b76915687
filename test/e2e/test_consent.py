# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Before anything is changed: what somebody who is there is asked first."""
import json
import os
import subprocess

import pytest

from conftest import call, finish, script, turn
from test_terminal import screen  # noqa: F401 (a fixture)

IMPLEMENT = '\n[workflow]\ndefault = "implement"\n'
PLAN = turn(text=json.dumps({"summary": "write two files", "steps": [
    {"title": "write one", "files": ["one"], "acceptance": "one is there"}, {"title": "write two"}]}))
OK = turn(text=json.dumps({"verdict": "ok"}))
YES = turn(text=json.dumps({"approved": True}))


def write(name):
    return turn(call("apply_edit", path=name, edits=[{"kind": "create", "new_string": "x\n"}]))


def planned():
    return script(PLAN, OK, write("one"), finish(), YES, write("two"), finish(), YES)


@pytest.mark.parametrize("typed", ["y", "n"])
def test_who_is_there_says_yes_to_the_plan_before_its_first_step(lab, screen, typed):  # noqa: F811
    lab.repo()
    mock = lab.mock(planned(), extra=IMPLEMENT)
    s = screen("run", "--run-id", "mine", "do it")
    s.until("Proceed with this plan? (y/n)")
    shown = " ".join(s.text().split())
    assert "1. write one Files: one Done when: one is there" in shown and "2. write two" in shown
    assert len(mock.model_requests()) == 2 and not lab.events("step.start")
    s.keys("perhaps", "Enter")
    s.until("not understood: y or n.")
    lab.wait_for(lambda: s.text().rstrip().endswith("your answer:"))
    s.keys(typed, "Enter")
    assert s.status() == (0 if typed == "y" else 2), s.text()
    assert os.path.exists(os.path.join(lab.ws, "two")) is (typed == "y")
    assert [e["answers"] for e in lab.events("question.answer")] == [["perhaps"], [typed]]
    assert "plan.md" in os.listdir(os.path.join(lab.run_dirs()[-1], "record"))
    r = lab.agent6("replay", "mine")
    assert r.returncode == 0, r.both
    if typed == "y":
        return
    assert lab.events("run.end")[-1]["reason"] == "plan_declined" and len(mock.model_requests()) == 2
    assert "resume" in s.text() and "plans anew" in s.text()
    mock = lab.mock(planned(), extra=IMPLEMENT)
    r = lab.agent6("resume", "--auto-approve", "mine", "--steer", "three files")  # nobody is there
    assert r.returncode == 0, r.both
    assert "three files" in json.dumps(mock.model_requests()[0]["body"])
    assert os.path.exists(os.path.join(lab.ws, "two"))
    assert lab.agent6("replay", "mine").returncode == 0


@pytest.mark.parametrize("how", ["watch", "file"])
def test_a_plan_is_said_yes_to_from_wherever_questions_are_answered(lab, screen, how):  # noqa: F811
    lab.repo()
    lab.mock(planned(), extra=IMPLEMENT)
    s = screen("run", "do it")
    s.until("Proceed with this plan?")
    if how == "watch":
        w = screen("watch")
        w.until("Proceed with this plan?")
        w.keys("y", "Enter")
        assert w.status() == 0
    else:
        folder = os.path.join(lab.run_dirs()[-1], "answers")
        with open(os.path.join(folder, ".begun"), "w", encoding="ascii") as f:
            f.write("yes\n")
        os.rename(os.path.join(folder, ".begun"), os.path.join(folder, lab.events("question.prompt")[0]["id"]))
    assert s.status() == 0
    assert len(lab.events("question.answer")) == 1
    assert os.path.exists(os.path.join(lab.ws, "two"))


@pytest.mark.parametrize("how", ["--yes", "--unattended"])
def test_a_plan_that_nobody_is_to_be_asked_about_is_carried_out(lab, screen, how):  # noqa: F811
    lab.repo()
    lab.mock(planned(), extra=IMPLEMENT)
    s = screen("run", "--auto-approve", how, "do it")
    assert s.status() == 0, s.text()
    assert os.path.exists(os.path.join(lab.ws, "two")) and not lab.events("question.prompt")


# What is typed, git.auto_stash_pop, whether there is something that cannot be set aside.
@pytest.mark.parametrize("typed, pop, announced", [("3", True, False), ("stash", False, False), ("3", False, True),
                                                    ("2", True, False)])
def test_what_is_not_committed_is_set_aside_when_the_person_says_so(lab, screen, typed, pop, announced):  # noqa: F811
    lab.repo(old="1\n")
    lab.write("old", "2\n")
    if announced:
        lab.write("new", "n\n")
        subprocess.run(["git", "add", "-N", "new"], cwd=lab.ws, check=True)
    lab.mock(script(turn(call("run_command", argv=["cp", "old", "seen"])), finish()),
             extra=f"\n[git]\nauto_stash_pop = {str(pop).lower()}\n")
    s = screen("run", "--auto-approve", "--run-id", "mine", "do it")
    s.until("set them aside first")
    s.until("your answer:")
    assert subprocess.run(["git", "stash", "list"], cwd=lab.ws, capture_output=True, text=True, check=True).stdout == ""
    s.keys(typed, "Enter")
    code, text = s.status(), s.text()
    ref = subprocess.run(["git", "for-each-ref", "--format=%(objectname)", "refs/agent6-stash/mine"], cwd=lab.ws, capture_output=True,
                         text=True, check=True).stdout.strip()
    with open(os.path.join(lab.ws, "old"), encoding="ascii") as f:
        now = f.read()
    if announced:  # nothing is changed, nothing was begun, and nobody is asked the same again
        assert code == 2 and "set aside: new cannot be set aside" in " ".join(text.split()), text
        assert now == "2\n" and not ref and not lab.run_dirs()
        return
    if typed == "2":
        assert code == 2 and "cancelled" in text and now == "2\n" and not ref and not lab.run_dirs(), text
        return
    assert code == 0, text
    assert len(lab.run_dirs()) == 1 and not lab.events("question.prompt")
    with open(os.path.join(lab.ws, "seen"), encoding="ascii") as f:
        assert f.read() == "1\n"
    assert (now, bool(ref)) == (("2\n", False) if pop else ("1\n", True)), text
    assert ("set aside before mine is back" if pop else "git stash apply --index " + ref) in text.replace("\n", ""), text
