# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The configuration, as a person and a script use it: config, check, presets, and the words that commands take."""
import json
import os
import subprocess

import pytest

from conftest import AGENT6, finish, script, shared
from test_connect import KEY, Terminal, config_path, mode, put, read


def repo_file(lab):
    row = next(l for l in lab.agent6("config", "path").out.splitlines() if l.startswith("repo config"))
    return row.split()[2]


# ---------------------------------------------------------------- config

def test_a_key_is_set_shown_and_unset_and_the_rest_of_the_file_stays(lab):
    lab.config("# mine\n\n[sandbox]\n  profile = \"auto\"   # the default\n")
    r = lab.agent6("config", "set", "sandbox.run_commands", "yes")
    assert r.returncode == 0, r.both
    assert r.out.startswith('Set sandbox.run_commands = "yes" in ')
    assert "security" in r.err
    assert lab.agent6("config", "get", "sandbox.run_commands").out.startswith('sandbox.run_commands = "yes"  [global, ')
    assert "* sandbox.run_commands" in lab.agent6("config").out
    assert read(config_path(lab)) == \
        "# mine\n\n[sandbox]\n  profile = \"auto\"   # the default\n  run_commands = \"yes\"\n"
    assert lab.agent6("config", "unset", "sandbox.run_commands").returncode == 0
    assert read(config_path(lab)) == "# mine\n\n[sandbox]\n  profile = \"auto\"   # the default\n"
    again = lab.agent6("config", "unset", "sandbox.run_commands")
    assert again.returncode == 0 and "nothing to do" in again.err


@pytest.mark.parametrize("key,strict,loose", [
    ("sandbox.profile", "strict", "none"), ("sandbox.run_commands", "no", "yes"), ("sandbox.agent_network", "local", "open")])
def test_only_what_loosens_is_called_a_matter_of_security(lab, key, strict, loose):
    for value, warned in ((strict, False), (loose, True)):
        r = lab.agent6("config", "set", key, value)
        assert r.returncode == 0 and ("security:" in r.err) == warned, r.both


def test_layers_are_shown_with_their_sources(lab):
    lab.repo(a="1")
    lab.config("[budget]\nmax_usd = 1\n")
    assert lab.agent6("config", "set", "--repo", "budget.max_usd", "2").returncode == 0
    put(os.path.join(lab.folder, "c.toml"), "[budget]\nmax_usd = 3\n")
    assert "= 2.0  [repo, " in lab.agent6("config", "get", "budget.max_usd").out
    assert "= 3.0  [--config, " in lab.agent6("--config", "../../c.toml", "config", "get", "budget.max_usd").out
    shown = json.loads(lab.agent6("config", "show", "--json", "budget").out)
    assert shown["budget.max_usd"]["value"] == 2.0 and shown["budget.max_usd"]["source"] == "repo"
    hidden = lab.agent6("--config", "../../c.toml", "config", "set", "budget.max_usd", "4")
    assert hidden.returncode == 0 and "--config" in hidden.err


@pytest.mark.parametrize("args, says", [
    (("set", "sandbox.profil", "none"), "did you mean sandbox.profile?"),
    (("set", "sandbox.profile", "nope"), '"nope" is not one of auto, strict, hardened, none'),
    (("set", "workflow.max_iterations", "12x"), "expected an integer"),
    (("set", "workflow.verify_command", "make test"), "a list is written"),
    (("add", "budget.max_usd", "1"), "not a list"),
    (("get", "budget"), "is a table, not a key"),
    (("show", "buget"), "buget: unknown key"),
    (("set", "providers.x.base_url", "https://example.com"), "providers.x.api_format: required"),
])
def test_what_would_be_wrong_is_refused_and_nothing_is_written(lab, args, says):
    lab.config("[budget]\nmax_usd = 1\n")
    r = lab.agent6("config", *args)
    assert r.returncode == 2, r.both
    assert says in r.err
    assert read(config_path(lab)) == "[budget]\nmax_usd = 1\n"


BROKEN = ["C01/dotted.toml", "C01/dup_key.toml", "C01/dup_table.toml", "C01/redefine.toml", "C03/nested.toml",
          "C03/swallowed.toml", "C03/typo.toml", "C06/arr.toml", "C06/ctl.toml", "C06/esc.toml", "C06/nul.toml",
          "C06/open.toml", "C06/sur.toml", "C06/utf8.toml"]


@pytest.mark.parametrize("layer", ["global", "repo", "file"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_error_with_a_place_and_no_run_starts(lab, name, layer):
    lab.repo(a="1")
    source = shared("cases", "open", name)
    path = {"global": config_path(lab), "repo": repo_file(lab), "file": os.path.join(lab.folder, "f.toml")}[layer]
    with open(source, "rb") as f:
        put(path, f.read())
    front = ["--config", path] if layer == "file" else []
    for command in (["config", "show"], ["run", "--auto-approve", "x"]):
        r = lab.agent6(*front, *command)
        assert r.returncode == 2, r.both
        assert f"{path}:" in r.err and "ERROR" in r.err
    assert lab.run_dirs() == []
    check = lab.agent6(*front, "check", "config")
    assert check.returncode == 1 and f"[FAIL] config.files: {path}:" in check.out


def test_the_line_and_a_caret_are_shown(lab):
    lab.config("[sandbox]\nrun_commands = \"always\"\n")
    r = lab.agent6("config")
    assert f"{config_path(lab)}:2:16: sandbox.run_commands: \"always\" is not one of ask, yes, no" in r.err
    assert "run_commands = \"always\"" in r.err and "^" in r.err


def test_hostile_files_end_at_once(lab):
    path = os.path.join(lab.folder, "f.toml")
    for data in (b"a = " + b"[" * 100000, b's = "' + b"x" * 50_000_000 + b'"\n', b"[" + b"a." * 3000 + b"a]\n",
                 b"".join(b"k%d=1\n" % i for i in range(100000))):
        put(path, data)
        r = lab.agent6("--config", path, "config")
        assert r.returncode == 2 and "ERROR" in r.err
    os.remove(path)
    os.mkfifo(path)
    r = lab.agent6("--config", path, "config")
    assert r.returncode == 2 and "not a regular file" in r.err


def test_a_byte_order_mark_and_crlf_survive_every_saving_command(lab):
    put(config_path(lab), b"\xef\xbb\xbf[budget]\r\nmax_usd = 1\r\n")
    assert lab.agent6("config", "set", "budget.max_input_tokens", "7").returncode == 0
    assert lab.agent6("config", "add", "sandbox.allow_urls", "example.com").returncode == 0
    assert lab.agent6("connect", "ollama", "--no-verify").returncode == 0
    with open(config_path(lab), "rb") as f:
        data = f.read()
    assert data.startswith(b"\xef\xbb\xbf[budget]\r\nmax_usd = 1\r\nmax_input_tokens = 7\r\n")
    assert data.count(b"\xef\xbb\xbf") == 1 and b"\n" not in data.replace(b"\r\n", b"")
    assert lab.agent6("config").returncode == 0


def test_linked_files_stay_linked_and_private(lab):
    dot = os.path.join(lab.home, "dot")
    put(os.path.join(dot, "config.toml"), "[budget]\nmax_usd = 1\n")
    put(os.path.join(dot, "secrets.toml"), "")
    for name in ("config.toml", "secrets.toml"):
        os.chmod(os.path.join(dot, name), 0o600)
        os.makedirs(os.path.dirname(config_path(lab)), exist_ok=True)
        os.symlink(os.path.join(dot, name), config_path(lab, name))
    assert lab.agent6("config", "set", "budget.max_usd", "2").returncode == 0
    assert lab.agent6("connect", "openai", "--no-verify", stdin=KEY + "\n").returncode == 0
    for name in ("config.toml", "secrets.toml"):
        assert os.path.islink(config_path(lab, name)) and mode(os.path.join(dot, name)) == 0o600
    assert "max_usd = 2.0" in read(os.path.join(dot, "config.toml"))
    assert KEY in read(os.path.join(dot, "secrets.toml"))
    os.remove(os.path.join(dot, "config.toml"))
    r = lab.agent6("config", "set", "budget.max_usd", "3")
    assert r.returncode == 2 and "link to nothing" in r.err


def test_many_writers_at_once_lose_nothing(lab):
    lab.config("")
    keys = ["max_input_tokens", "max_output_tokens", "max_usd"]
    keys = [f"budget.{k}" for k in keys] + ["workflow.max_iterations", "workflow.verify_timeout_s",
                                            "workflow.command_timeout_s", "sandbox.memory_limit_mb"]
    running = [subprocess.Popen([AGENT6, "config", "set", k, str(100 + i)], env=lab.env, cwd=lab.ws,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i, k in enumerate(keys)]
    assert [p.wait(timeout=300) for p in running] == [0] * len(keys)
    shown = json.loads(lab.agent6("config", "show", "--json").out)
    assert [shown[k]["value"] for k in keys] == [100 + i for i in range(len(keys))]
    assert os.listdir(os.path.dirname(config_path(lab))) == ["config.toml"]


def test_nothing_in_a_repository_is_configuration(lab):
    evil = "[sandbox]\nrun_commands = \"yes\"\n[providers.p]\napi_format = \"openai\"\nbase_url = \"http://127.0.0.1:9999\"\n"
    names = ["agent6.toml", ".agent6/config.toml", ".config/agent6/config.toml", ".agent6.toml", "config.toml"]
    lab.repo(a="1")
    for name in names:
        lab.write(name, evil)
        put(os.path.join(os.path.dirname(lab.ws), name), evil)
    shown = json.loads(lab.agent6("config", "show", "--json").out)
    assert all(not leaf["modified"] for leaf in shown.values())
    assert "providers.p.base_url" not in shown


@pytest.mark.parametrize("below", ["", "/not/there/yet"])
def test_a_state_directory_that_a_link_leads_into_the_workspace_starts_no_run(lab, below):
    lab.repo(a="1\n")
    inside = os.path.join(lab.ws, "inside")
    os.mkdir(inside)
    os.symlink(inside, os.path.join(lab.home, "link"))
    r = lab.agent6("run", "do it", env={"AGENT6_STATE_HOME": os.path.join(lab.home, "link") + below})
    assert r.returncode == 2 and "lie in one another" in r.err, r.both
    assert "AGENT6_STATE_HOME" in r.err
    assert os.listdir(inside) == []


def test_a_linked_configuration_in_the_workspace_starts_no_run(lab):
    lab.repo(a="1")
    lab.write("mine.toml", "[sandbox]\nrun_commands = \"yes\"\n")
    os.makedirs(os.path.dirname(config_path(lab)))
    os.symlink(os.path.join(lab.ws, "mine.toml"), config_path(lab))
    r = lab.run("x")
    assert r.returncode == 2 and "the model could change it" in r.err
    assert lab.run_dirs() == []


def test_unsetting_all_of_a_table_leaves_no_empty_header(lab):
    mine = "# mine\n\n[sandbox]\nprofile = \"auto\"\n"
    lab.config(mine)
    assert lab.agent6("config", "set", "budget.max_usd", "3").returncode == 0
    assert "\n[budget]\n" in read(config_path(lab))
    assert lab.agent6("config", "unset", "budget.max_usd").returncode == 0
    assert read(config_path(lab)) == mine
    lab.config("[budget]\nmax_usd = 3\n# a word of mine\n\n[providers.a]\nbase_url = \"https://x/v1\"\n")
    for key in ("budget.max_usd", "providers.a.base_url"):
        assert lab.agent6("config", "unset", key).returncode == 0
    assert read(config_path(lab)) == "[budget]\n# a word of mine\n\n[providers.a]\n"


# ---------------------------------------------------------------- the words of a command

@pytest.mark.parametrize("words, says, hint", [
    (("runn", "x"), '"runn" is not a command', 'did you mean "agent6 run"?'),
    (("runs", "foo"), '"runs foo" is not a command', "--help lists them"),
    (("run",), "agent6 run: the task is missing", "usage: agent6 run [flags] TASK"),
    (("run", "fix", "it"), 'does not take "it"', "needs quotes"),
    (("connect", "mine", "https://x/v1"), 'does not take "https://x/v1"', "agent6 connect --help"),
    (("connect", "opnai"), "name a format", 'did you mean "agent6 connect openai"?'),
    (("connect", "mine"), "name a format", "agent6 connect mine --format openai --base-url"),
    (("connect",), "which provider", "agent6 connect anthropic < key"),
    (("run", "--pin", "", "do it"), "--pin must not be empty", "hint: "),
    (("run", "--pin= ", "do it"), "--pin must not be empty", "hint: "),
    (("run", "--skill", "", "do it"), "--skill must not be empty", "hint: "),
    (("resume", "--steer", ""), "--steer must not be empty", "hint: "),
    (("runs", "merge", "--into", ""), "--into must not be empty", "The branch to change"),
    (("connect", "mine", "--base-url", ""), "--base-url must not be empty", "Address of the server's API"),
    (("model", ""), "role must not be empty", "worker, planner"),
    (("model", "worker"), "the provider is missing", "agent6 connect"),
    (("help", "nope"), '"nope" is not a command', "--help lists them"),
    (("version",), '"version" is not a command', "hint: agent6 --version"),
    (("-V",), '"-V" is not a command', "hint: agent6 --version"),
])
def test_words_that_make_no_command_are_named_with_what_would(lab, words, says, hint):
    r = lab.agent6(*words, stdin=KEY + "\n")
    assert r.returncode == 2 and says in r.err and hint in r.err, r.both
    assert KEY not in r.both and not os.path.exists(config_path(lab))


@pytest.mark.parametrize("words,flag", [
    (("resume", "--steer", "--auto-approve"), "--auto-approve"), (("run", "--from-plan", "--auto-approve"), "--auto-approve"),
    (("run", "do it", "--pin", "--max-usd=1"), "--max-usd=1"), (("run", "do it", "--preset", "-i"), "-i"),
    (("run", "do it", "--preset", "--allow-root"), "--allow-root"),
    (("runs", "commits", "--config", "--allow-root"), None),
])
def test_a_flag_is_no_value_of_the_one_before_it(lab, words, flag):
    lab.repo()
    r = lab.agent6(*words)
    assert r.returncode == 2, r.both
    if flag is None:
        assert "--config needs a file" in r.err, r.both
    else:
        assert f"{words[-2]} wants a" in r.err and f"and {flag} is a flag" in r.err and f"hint: {words[-2]}={flag} if that is meant" in r.err, r.both


def test_what_is_no_flag_of_the_command_is_a_value_however_it_begins(lab):
    lab.repo()
    for words in (("--steer", "--nope"), ("--steer=--auto-approve",), ("--steer", "-1"), ("--steer", "--"), ("--steer", "-")):
        r = lab.agent6("resume", *words)
        assert r.returncode == 2 and "there are no sessions" in r.err, (words, r.both)


def test_who_is_missing_is_told_with_all_that_are_there(lab):
    lab.repo()
    lab.config("".join(f'[providers.{name}]\napi_format = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n' for name in ("one", "two", "three")))
    for words in (("model", "worker"), ("model", "worker", "X")):
        r = lab.agent6(*words)
        assert r.returncode == 2 and "configured: one, two, three" in r.err, r.both
    r = lab.agent6("plan", "edit")
    assert r.returncode == 2 and "there are no sessions of this repository yet" in r.err, r.both
    lab.mock(script(finish()))
    lab.run()
    for words in (("plan", "edit"), ("plan", "show"), ("plan", "revise", "shorter")):
        r = lab.agent6(*words)
        assert r.returncode == 2 and "there is no plan of this repository yet" in r.err, r.both


def test_help_before_a_command_is_its_help(lab):
    assert lab.agent6("help", "run").out == lab.agent6("run", "--help").out
    assert lab.agent6("help").out == lab.agent6("--help").out
    runs = lab.agent6("runs", "--help")
    assert runs.returncode == 0 and runs.out == lab.agent6("help", "runs").out == lab.agent6("runs", "-h").out
    assert "\n  runs merge " in runs.out and "usage: agent6 runs list" in runs.out
    assert lab.agent6("runs", "list", "--help").out == runs.out[runs.out.index("usage: agent6 runs list"):]
    assert lab.agent6("check", "--help").out.startswith("usage: agent6 check [flags]")
    assert "--max-usd NUMBER" in lab.agent6("run", "--help").out


def test_a_key_in_the_wrong_table_is_told_by_its_line(lab):
    lab.repo()
    lab.mock(script(finish()), api="anthropic")
    lab.config(read(config_path(lab)).replace('api_key_env = "MOCK_API_KEY"\n', ""))
    put(config_path(lab, "secrets.toml"), f'[provider.mock]\napi_key = "{KEY}"\n')
    os.chmod(config_path(lab, "secrets.toml"), 0o600)
    for r, status in ((lab.agent6("check", "keys"), 1), (lab.run("x"), 2)):
        assert r.returncode == status and KEY not in r.both, r.both
        assert "line 1 " in r.both and "[providers.NAME]" in r.both, r.both


# ---------------------------------------------------------------- check

def test_check_tells_facts_and_fails_when_one_is_wrong(lab):
    lab.config("[sandbox]\nrun_commands = \"yes\"\n[providers.a]\napi_format = \"anthropic\"\n")
    r = lab.agent6("check-config")  # the old spelling
    assert r.returncode == 0 and "section=config" in r.out
    r = lab.agent6("check", "config")
    assert r.returncode == 0 and "[PASS] config.files" in r.out
    assert '[INFO] config.set: sandbox.run_commands = "yes" (global)' in r.out
    r = lab.agent6("check", "keys")
    assert r.returncode == 1 and "[FAIL] keys.a: there is none" in r.out
    lab.config("[providers.a]\napi_format = \"anthropic\"\napi_key_env = \"SOME_KEY\"\n")
    r = lab.agent6("check", "keys", env={"SOME_KEY": KEY})
    assert r.returncode == 0 and "from the environment, SOME_KEY" in r.out and KEY not in r.both


def test_check_sandbox_tries_what_must_not_work(lab):
    before = {d: set(os.listdir(d)) for d in ("/tmp", "/etc")}
    r = lab.agent6("check", "sandbox")
    assert "[PASS] profile: auto asked for, strict it is" in r.out or "hardened" in r.out, r.both
    if "strict it is" in r.out:
        for name in ("jail_true", "jail_blocks_network", "jail_blocks_etc_write"):
            assert f"[PASS] {name}" in r.out, r.both
    # What is new goes away; a check of another test's may be under way beside this one.
    new = {(d, n) for d, names in before.items() for n in set(os.listdir(d)) - names if n.startswith("agent6-check-")}
    lab.wait_for(lambda: not [n for d, n in new if n in os.listdir(d)])
    lab.config("[sandbox]\nprofile = \"none\"\n")
    r = lab.agent6("check", "sandbox")
    assert r.returncode == 1 and "confines nothing" in r.out


@pytest.mark.parametrize("answer", ["\n", "n\n", "y\n"])
def test_without_a_sandbox_and_without_questions_a_person_is_asked_once(lab, answer):
    lab.repo()
    del lab.env["CI"]  # there is a person
    m = lab.mock(script(finish()))
    t = Terminal(lab, "run", "--auto-approve", "--dangerously-disable-sandbox", "do it")
    t.expect("Continue? (y/n) [n]: ")
    assert "runs as you" in t.seen and lab.run_dirs() == [] and m.requests() == []
    t.say(answer)
    if answer == "y\n":
        lab.wait_for(lambda: len(m.model_requests()) > 0)
        t.proc.kill()
    code, restored = t.end()
    assert code != 0 and (answer == "y\n" or (restored and "nothing was started" in t.seen and m.requests() == []))


def test_without_a_sandbox_but_with_questions_nobody_is_asked_beforehand(lab):
    lab.repo()
    del lab.env["CI"]
    m = lab.mock(script(finish()))
    t = Terminal(lab, "run", "--dangerously-disable-sandbox", "do it")
    lab.wait_for(lambda: len(m.model_requests()) > 0)
    t.proc.kill()
    t.end()
    assert "Continue?" not in t.seen


# ---------------------------------------------------------------- presets

def test_a_preset_is_chosen_listed_shown_and_hides_what_it_sets(lab):
    lab.repo(a="1")
    lab.config('[review]\nquorum = 2\n\n[presets.mine]\nreview.quorum = 3\nmodels.reviewer.effort = "high"\n')
    assert lab.agent6("config", "set", "preset", "nope").returncode == 2
    assert lab.agent6("config", "set", "preset", "mine").returncode == 0
    got = lab.agent6("config", "get", "review.quorum").out
    assert got.startswith("review.quorum = 3  [preset mine, ") and "config.toml:" in got
    assert "preset mine" in lab.agent6("config", "show").out
    hidden = lab.agent6("config", "set", "review.quorum", "5")
    assert hidden.returncode == 0 and "the preset mine sets review.quorum too, and wins" in hidden.err
    listed = lab.agent6("config", "presets")
    assert "mine is chosen  [global, " in listed.out and "* mine" in listed.out
    listed = json.loads(lab.agent6("config", "presets", "--json").out)
    assert listed["chosen"] == "mine" and listed["source"] == "global"
    by_name = {p["name"]: p for p in listed["presets"]}
    assert by_name["mine"]["keys"] == {"review.quorum": 3, "models.reviewer.effort": "high"} and not by_name["mine"]["built_in"]
    assert set(by_name) == {"standard", "quick", "ultra", "paranoid", "mine"}
    shown = json.loads(lab.agent6("config", "show", "--json", "review", "--preset", "ultra").out)
    assert shown["review.trigger"]["source"] == "preset" and shown["review.trigger"]["preset"] == "ultra"
    assert shown["review.trigger"]["value"] == "before_finish"
    assert shown["review.quorum"]["value"] == 5 and shown["review.quorum"]["source"] == "global"


def test_a_preset_of_a_flag_goes_with_the_run_and_one_that_is_wrong_refuses_it(lab):
    lab.repo(a="1")
    m = lab.mock(script({"text": "Nothing yet."}, {"text": "Nor now."}, finish()), extra="[presets.once]\nworkflow.max_iterations = 1\n")
    r = lab.run("do it", "--preset", "nope")
    assert r.returncode == 2 and '--preset: "nope" is not one of' in r.err and not lab.run_dirs()
    lab.run("do it", "--preset", "once")
    manifest = json.loads(read(os.path.join(lab.run_dirs()[-1], "record", "manifest.json")))
    assert manifest["workflow"]["preset"] == "once"
    assert lab.events("run.end")[-1]["reason"] == "max_iterations" and len(m.model_requests()) == 1
    lab.agent6("resume", "--auto-approve")
    assert lab.events("run.end")[-1]["reason"] == "max_iterations" and len(m.model_requests()) == 2


def test_what_is_taken_from_the_wrong_file_says_which_file_has_it(lab):
    lab.repo(a="1")
    assert lab.agent6("config", "add", "--repo", "sandbox.hide_paths", "/opt/x").returncode == 0
    r = lab.agent6("config", "remove", "sandbox.hide_paths", "/opt/x")  # there is no global file
    assert r.returncode == 2 and "say --repo" in r.err
    lab.config("[budget]\nmax_usd = 1\n")
    r = lab.agent6("config", "unset", "sandbox.hide_paths")
    assert r.returncode == 0 and "nothing to do" in r.err and "say --repo" in r.err
    assert lab.agent6("config", "remove", "--repo", "sandbox.hide_paths", "/opt/x").returncode == 0
    r = lab.agent6("config", "unset", "--repo", "budget.max_usd")
    assert r.returncode == 0 and "leave --repo out" in r.err
