# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What is done with runs of the past: searched, read as a transcript, removed."""
import json
import os
import random
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn

EVIL = 'say "one\ttwo"\\ and \x1b]0;gotcha\x07 \u202e \u009b31m ```'


def past(lab, run_id="mine", text="a needle in \"quotes\"\nand more"):
    if not os.path.exists(os.path.join(lab.ws, ".git")):
        lab.repo(a_DOT_txt="one\n", evil_DOT_txt=EVIL)
    lab.mock(script(turn(call("read_file", path="evil.txt"), text=text),
                    turn(call("apply_edit", path="a.txt", edits=[{"old_string": lab.read("a.txt").strip(), "new_string": run_id}])),
                    finish()))
    r = lab.agent6("run", "--auto-approve", "--run-id", run_id, "find the haystack")
    assert r.returncode == 0, r.both
    lab.git("stash", "-q", check=False)
    return os.path.join(lab.run_dirs()[-1])


def test_words_are_found_with_run_turn_and_line(lab):
    past(lab)
    hits = json.loads(lab.agent6("history", "search", "--json", 'needle in "quotes"').out)
    assert hits and all(h["run_id"] == "mine" for h in hits), hits
    first = hits[0]
    assert first["file"] == "logs.jsonl" and first["type"] == "role.result" and first["turn"] == 1, first
    with open(os.path.join(lab.run_dirs()[-1], "record", first["file"]), encoding="utf-8") as f:
        assert "needle" in f.read().splitlines()[first["line"] - 1]
    assert first["text"] == 'a needle in "quotes"' and first["match"] == 'needle in "quotes"' and first["who"] == "model", first
    assert len(hits) == 1, hits  # the journal, the conversation and two transcripts have it
    plain = lab.agent6("history", "search", "haystack")
    assert plain.returncode == 0 and plain.out == "mine            you      find the haystack\n", plain.both
    assert "place" in plain.err
    assert lab.agent6("history", "haystack").returncode == 0  # search is what history does
    assert lab.agent6("history", "search", "HAYSTACK").returncode == 1
    assert lab.agent6("history", "search", "--ignore-case", "HAYSTACK").returncode == 0
    assert lab.agent6("history", "search", "--regex", r"hay\w+k").returncode == 0
    nowhere = lab.agent6("history", "search", "--json", "no such words anywhere")
    assert nowhere.returncode == 1 and json.loads(nowhere.out) == []
    bad = lab.agent6("history", "search", "--regex", "(")
    assert bad.returncode == 2 and "the pattern at" in bad.err, bad.both


def test_what_json_is_made_of_is_no_word_of_anybody(lab):
    past(lab, text='she said "well": {"a": [1, 2]}, and a \\\\ stood there')
    hits = json.loads(lab.agent6("history", "search", "--json", '"').out)
    assert hits and all('"' in h["text"] and h["match"] == '"' for h in hits), hits
    assert not [h for h in hits if h["text"].startswith('{"ts"') or '"seq":' in h["text"] or '"call_id"' in h["text"] or '\\"' in h["text"]], hits
    assert [h for h in hits if h["who"] == "model" and h["text"].startswith("she said")], hits
    for words in ('said "well"', '{"a": [1', '": {"', "\\\\ stood"):
        found = json.loads(lab.agent6("history", "search", "--json", words).out)
        assert {(h["who"], h["match"]) for h in found} == {("model", words)}, (words, found)
    for syntax in ('"},{"', '":"', '\\"', "}}", '{"ts":"', '"type":"run.start"', '\\n'):
        r = lab.agent6("history", "search", syntax)
        assert r.returncode == 1 and r.out == "", (syntax, r.both)
    # Who wants the line as it stands asks with a regular expression.
    assert lab.agent6("history", "search", "--regex", '"type":"run.start"').returncode == 0


def test_who_said_it_is_told_and_the_match_is_marked_on_a_terminal(lab):
    past(lab)
    who = {h["text"]: h["who"] for h in json.loads(lab.agent6("history", "search", "--json", "evil.txt").out)}
    assert who["evil.txt"] == "model", who
    # The first message holds the task and what the repository is: only the one is the person's.
    words = {h["who"] for h in json.loads(lab.agent6("history", "search", "--json", "find the haystack").out)}
    facts = {h["who"] for h in json.loads(lab.agent6("history", "search", "--json", "Top level:").out)}
    assert words == {"you"} and facts == {"request"}, (words, facts)
    link = [e["h"] for e in lab.events("tool.call")][0]
    assert [(h["who"], h["type"]) for h in json.loads(lab.agent6("history", "search", "--json", link).out)] == [("agent6", "tool.call")]
    tool = json.loads(lab.agent6("history", "search", "--json", 'one\ttwo').out)
    assert tool and tool[0]["who"] == "tool", tool
    assert not [h for h in json.loads(lab.agent6("history", "search", "--json", "haystack").out) if "{" in h["text"] or "\\" in h["text"]]
    cut = json.loads(lab.agent6("history", "search", "--json", "workspace").out)
    assert all(len(h["text"]) < 700 and "workspace" in h["match"] for h in cut), cut
    r = subprocess.run(["script", "-qec", f"{AGENT6} history search haystack", "/dev/null"], cwd=lab.ws, env=lab.env, capture_output=True,
                       stdin=subprocess.DEVNULL, text=True)
    assert "find the \x1b[1;31mhaystack\x1b[0m" in r.stdout, r.stdout


def test_what_was_streamed_in_pieces_is_found_as_it_was_said_and_not_by_the_piece(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(turn(call("read_file", path="a-very-long-name/of-a-needle/in-a-haystack.txt"), text="the needle, again and again the needle"),
                    finish(), defaults={"wire": {"delta_chars": 9}}))
    assert lab.run("look").returncode == 0
    hits = json.loads(lab.agent6("history", "search", "--json", "needle").out)
    assert {h["text"] for h in hits if h["who"] == "model"} == {"the needle, again and again the needle",
                                                                 "a-very-long-name/of-a-needle/in-a-haystack.txt"}, hits
    assert not [h for h in hits if h["who"] == "answer"], hits


def test_a_word_is_not_found_in_a_piece_nor_in_our_own_names_of_things(lab):
    """A piece of an answer may be just that word; "prefix" is a name in a transcript, and there is no fix."""
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(turn(call("read_file", path="a.txt"), text="I fix it, and then it is done"), finish(), defaults={"wire": {"delta_chars": 5}}))
    assert lab.run("look").returncode == 0
    assert [e for e in lab.events("role.text_delta") if "fix" in e["text"]]
    assert "prefix" in "".join(open(os.path.join(lab.run_dirs()[-1], "record", "transcripts", n), encoding="utf-8").read()
                               for n in os.listdir(os.path.join(lab.run_dirs()[-1], "record", "transcripts")))
    model = [h["text"] for h in json.loads(lab.agent6("history", "search", "--json", "fix").out) if h["who"] == "model"]
    rest = [h for h in json.loads(lab.agent6("history", "search", "--json", "fix").out) if h["who"] not in ("model", "request")]
    assert model == ["I fix it, and then it is done"] and rest == [], (model, rest)
    assert lab.agent6("history", "search", "--regex", '"prefix":[0-9]').returncode == 0  # as it stands, for who wants that


def test_a_search_can_be_for_one_session(lab):
    past(lab, "first")
    past(lab, "second")
    both = json.loads(lab.agent6("history", "search", "--json", "haystack").out)
    assert {h["run_id"] for h in both} == {"first", "second"}
    one = json.loads(lab.agent6("history", "search", "--json", "--session", "first", "haystack").out)
    assert {h["run_id"] for h in one} == {"first"}


@pytest.mark.parametrize("args", [("runs", "transcript"), ("runs", "transcript", "--json"), ("history", "search", "gotcha"),
                                  ("history", "search", "--json", "gotcha")])
def test_nothing_of_a_record_reaches_the_terminal_raw(lab, args):
    past(lab)
    r = lab.agent6(*args)
    assert r.returncode == 0 and "gotcha" in r.out, r.both
    for bad in ("\x1b", "\x07", "\u202e", "\u009b"):
        assert bad not in r.both, (bad, r.both)


def test_a_transcript_is_the_conversation_in_its_order(lab):
    past(lab)
    text = lab.agent6("runs", "transcript", "mine").out
    order = ["## To the model, turn 1", "find the haystack", "## Model, turn 1", "a needle in", "**read_file**", "result:",
             "## Model, turn 2", "**apply_edit**", "**finish_run**"]
    at = [text.index(o) for o in order]
    assert at == sorted(at), text
    assert "````" in text  # longer than any fence in what was read
    items = json.loads(lab.agent6("runs", "transcript", "mine", "--json").out)
    assert [i["kind"] for i in items[:4]] == ["person", "model", "call", "result"]
    assert items[2]["name"] == "read_file" and json.loads(items[2]["text"]) == {"path": "evil.txt"}
    assert EVIL in json.loads(items[3]["text"])["content"]
    calls = json.loads(lab.agent6("runs", "transcript", "mine", "--json", "--tools", "none").out)
    assert not {"call", "result"} & {i["kind"] for i in calls}


def refs(lab):
    return lab.git("for-each-ref", "--format=%(refname)").split()


def test_a_run_is_removed_only_when_its_work_is_merged_or_that_is_said(lab):
    past(lab)
    r = lab.agent6("runs", "rm", "mine")
    assert r.returncode == 2 and "in no branch" in r.err and "--unmerged" in r.err, r.both
    assert len(lab.run_dirs()) == 1 and "refs/agent6/mine/head" in refs(lab)
    assert lab.agent6("runs", "merge", "mine").returncode == 0
    r = lab.agent6("runs", "rm", "mine")
    assert r.returncode == 0 and r.out == "removed mine (merged into main)\n", r.both
    assert lab.run_dirs() == [] and refs(lab) == ["refs/heads/main"] or "refs/stash" in refs(lab)
    assert not [x for x in refs(lab) if "agent6" in x]
    past(lab, "other")
    r = lab.agent6("runs", "rm", "--unmerged", "other")
    assert r.returncode == 0 and "no branch" in r.out, r.both
    assert lab.run_dirs() == [] and not [x for x in refs(lab) if "agent6" in x]
    assert lab.agent6("runs", "rm", "other").returncode == 2


def test_a_branch_that_is_checked_out_or_was_moved_is_not_removed(lab):
    past(lab)
    lab.git("switch", "-q", "agent6/mine")
    r = lab.agent6("runs", "rm", "--unmerged", "mine")
    assert r.returncode == 2 and "checked out" in r.err, r.both
    assert len(lab.run_dirs()) == 1
    lab.git("commit", "-q", "--allow-empty", "-m", "mine now")
    mine = lab.git("rev-parse", "HEAD").strip()
    lab.git("switch", "-q", "main")
    r = lab.agent6("runs", "rm", "--unmerged", "mine")
    assert r.returncode == 0 and "branch agent6/mine was left" in r.err, r.both
    assert lab.git("rev-parse", "agent6/mine").strip() == mine and "refs/agent6/mine/head" not in refs(lab)


def test_prune_keeps_what_is_young_unmerged_or_at_work(lab):
    past(lab, "merged")
    assert lab.agent6("runs", "merge", "merged").returncode == 0
    past(lab, "loose")
    assert "0 of 2 sessions removed; kept: 2 newer than 30 days, merged or not; 0 older" in lab.agent6("runs", "prune").err
    assert "30 unless given" in lab.agent6("runs", "prune", "--help").out
    r = lab.agent6("runs", "prune", "--older-than", "0", "--dry-run")
    assert r.returncode == 0 and r.out.splitlines()[-2:] and "would remove merged (merged into main)" in r.out, r.both
    assert len(lab.run_dirs()) == 2
    r = lab.agent6("runs", "prune", "--older-than", "0")
    assert "removed merged" in r.out and "kept loose: its commits are in no branch" in r.out and "0 newer than 0 days, merged or not; 1 older" in r.err, r.both
    assert [os.path.basename(d) for d in lab.run_dirs()] == ["loose"]
    r = lab.agent6("runs", "prune", "--older-than", "0", "--unmerged")
    assert r.returncode == 0 and lab.run_dirs() == [], r.both


def test_what_a_script_would_want_is_json(lab):
    def of(*words, code=0):
        r = lab.agent6(*words, "--json")
        assert r.returncode == code, r.both
        return json.loads(r.out)
    past(lab)
    assert [(set(c), c["subject"]) for c in of("runs", "commits", "mine")] == [({"sha", "subject", "time_s"}, "agent6 iter 2: edits")]
    proof = of("runs", "verify", "mine")
    assert proof["whole"] and proof["events"] > 5 and len(proof["head"]) == 64 and proof["bad_line"] is None, proof
    assert of("runs", "prune", "--older-than", "0", "--dry-run") == [
        {"run_id": "mine", "what": "kept", "merged_into": None, "why": "its commits are in no branch"}]
    lab.git("checkout", "-q", "-f", "--", ".")
    done = of("runs", "merge", "mine")
    assert done["outcome"] == "merged" and done["sha"] == lab.git("rev-parse", "main").strip() and done["paths"] == [], done
    assert of("runs", "merge", "mine")["outcome"] == "nothing to do"
    assert of("runs", "prune", "--older-than", "0")[0]["what"] == "removed" and lab.run_dirs() == []
    past(lab, "other")
    path = os.path.join(lab.run_dirs()[-1], "record", "logs.jsonl")
    with open(path, "r+b") as f:
        f.seek(30)
        f.write(b"X")
    proof = of("runs", "verify", "other", code=1)
    assert not proof["whole"] and proof["bad_line"] == 1 and proof["reason"], proof


def test_runs_are_compared_by_their_gate_then_by_cost(lab):
    lab.repo(a_DOT_txt="one\n", verify_DOT_sh="test \"$(cat a.txt)\" = good\n")
    gate = '[workflow]\nverify_command = ["sh", "verify.sh"]\n'

    def one(run_id, word):
        lab.git("checkout", "-q", "-f", "--", ".")
        lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": word}])),
                        turn(call("run_verify_command")), finish()), extra=gate)
        lab.agent6("run", "--auto-approve", "--run-id", run_id, "make it good")
    one("bad", "bad")
    one("right", "good")
    rows = json.loads(lab.agent6("runs", "compare", "bad", "right", "--json").out)
    assert [(r["run_id"], r["rank"], r["all_passed"]) for r in rows] == [("right", 1, True), ("bad", 2, False)], rows
    assert rows[0]["changes"].startswith("1 file changed") and rows[0]["commits"] == 1, rows
    table = lab.agent6("runs", "compare", "bad", "right")
    assert table.returncode == 0 and table.out.splitlines()[1].split()[:3] == ["1", "right", "passed"], table.both
    assert lab.agent6("runs", "compare", "bad").returncode == 2
    assert "twice" in lab.agent6("runs", "compare", "bad", "bad").err


def test_the_hour_in_the_list_is_the_persons_own(lab):
    past(lab)
    there = {zone: lab.agent6("runs", "list", env={"TZ": zone}).out.splitlines()[1][:11] for zone in ("Asia/Tokyo", "UTC")}
    if not os.path.exists("/usr/share/zoneinfo/Asia/Tokyo"):
        there["Asia/Tokyo"] = lab.agent6("runs", "list", env={"TZ": "JST-9"}).out.splitlines()[1][:11]
    assert there["Asia/Tokyo"] != there["UTC"], there


# ---- what is passed over ----

def odd_events(rng, n):
    """Members of events as the recorder writes them: texts with quotes and JSON in them, over and over, beside what holds no text."""
    texts = ["", "plain words", 'say "well"', "{", "}", "a: b, c", "path\\to", "line\nline e", "ends in \\", '\\"', "[1, 2]", "Z é 語",
             json.dumps({"e": "path", "list": ["a, b", {"type": "e"}]}), json.dumps(json.dumps({"k": 'deep "e"'}, ensure_ascii=False)),
             '{"broken": ', "[", '"', "e" * 40]
    types = ["tool.call", "tool.result", "loop.budget", "role.result", "question.answer", "loop.btw.answer", "verify.end", "run.start", "diff.applied"]

    def value(depth):
        kind = rng.randrange(7 if depth < 3 else 4)
        if kind < 3:
            return rng.choice(texts)
        if kind == 3:
            return rng.choice([0, -1.5, True, None, 12345])
        if kind < 6:
            return {rng.choice(["type", "h", "path", "e", "text", "question"]): value(depth + 1) for _ in range(rng.randrange(4))}
        return [value(depth + 1) for _ in range(rng.randrange(4))]

    first = [("tool.result", {"text": t}) for t in texts]  # what a tool hands over is judged otherwise than what somebody says
    return first + [(rng.choice(types), {k: value(0) for k in rng.sample(["text", "path", "args", "question", "result", "e"], 3)}) for _ in range(n)]


def write_events(path, events, more):
    with open(path, "w", encoding="utf-8") as f:
        for i, (kind, members) in enumerate(events):
            f.write('{"ts":"2026-11-29T20:00:%02d.123456Z","seq":%d,"type":"%s",' % (i % 60, i + 1, kind) +
                    json.dumps(members, ensure_ascii=False, separators=(",", ":"))[1:-1] + more + ',"h":"%064x"}\n' % i)


def test_an_event_that_is_passed_over_holds_nothing_that_is_not_told(lab):
    """A line that spells a character otherwise than the recorder does is always taken apart: the same events with such a member
    at their end are searched the long way."""
    record = os.path.join(past(lab), "record")
    for name in os.listdir(record):
        if name not in ("logs.jsonl", "manifest.json", "transcripts"):
            os.remove(os.path.join(record, name))
    for name in os.listdir(record + "/transcripts"):
        os.remove(os.path.join(record, "transcripts", name))
    events = odd_events(random.Random(7), 400)

    def hits(words, more, *flags):
        write_events(record + "/logs.jsonl", events, more)
        r = lab.agent6("history", "search", "--json", *flags, "--", words)
        assert r.returncode in (0, 1), r.both
        # What is shown as the line stands is cut out of a line that is longer by what was added.
        return [{k: v for k, v in h.items() if k != "text" or h["who"] != "agent6"} for h in json.loads(r.out)]

    found = 0
    for words in ("e", "{", "}", '"', ",", ":", "[", "path", "well", 'say "well"', "\\", "Z", "é", "type", "a, b", '": "', '{"', "plain words",
                  "2026", "loop.budget", "000000", "deep", "line", "seq", 'deep \\"e', "k", "null", "h"):
        for flags in ([], ["--ignore-case"]):
            told = hits(words, "", *flags)
            assert told == hits(words, ',"@":"@\\/"', *flags), words
            found += len(told)
    assert found > 1000
