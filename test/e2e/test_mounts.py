# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What is mounted a second time, or mounted inside of what a command sees: in a mount namespace of the test."""
import json
import os
import subprocess

import pytest
from conftest import AGENT6, as_hardened, call, finish, missing, script, turn


def in_mounts(lab, setup, *command):
    """Runs a command where the lines of `setup` have been executed, with what is mounted there; $HOME and $WS are the lab's."""
    enter = ["unshare", *([] if os.geteuid() == 0 else ["-Ur"]), "-m"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        missing("unshare -m")
    return subprocess.run([*enter, "sh", "-ec", setup + '\ncd "$WS"; exec "$@"', "sh", *command], cwd=lab.folder,
                          env=dict(lab.env, AGENT6_ALLOW_ROOT="1", WS=lab.ws), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)


OWN = [(".config/agent6", "configuration directory"), (".local/state/agent6", "state directory"), (".local/share/agent6", "data directory")]


@pytest.mark.parametrize("key", ["extra_read_paths", "extra_write_paths"])
def test_a_grant_shows_and_changes_nothing_of_agent6s_own_under_a_second_name(lab, key):
    lab.repo(a="1\n")
    other = os.path.join(lab.folder, "other")
    path = os.path.join(lab.home, ".config", "agent6", "config.toml")
    os.mkdir(other)
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", f"cat {other}/beside; grep -r CANARY {other}; echo x >> {other}/.config/agent6/config.toml;"
                                                      f" mv {other}/.config {other}/moved && echo x >> {other}/moved/agent6/config.toml"])),
                        turn(call("read_file", path=f"{other}/.config/agent6/config.toml"), call("list_dir", path=f"{other}/.local/state/agent6")),
                        turn(call("apply_edit", path=f"{other}/.config/agent6/new", edits=[{"old_string": "", "new_string": "x"}])), finish()))
    lab.write(os.path.join(lab.home, "beside"), "seen\n")
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"\n[sandbox]\nrun_commands = \"yes\"\n{key} = [\"{other}\"]\n# CANARY-8d1\n")
    with open(path, encoding="utf-8") as f:
        before = f.read()
    r = in_mounts(lab, f'mount --bind "$HOME" {other}', AGENT6, "run", "--auto-approve", "look")
    assert r.returncode == 0, r.stdout + r.stderr
    said = "".join(str(x["body"]["messages"]) for x in m.model_requests())
    assert "seen" in said and "CANARY-8d1" not in said and "mock-model" not in said, said
    with open(path, encoding="utf-8") as f:
        assert f.read() == before
    assert os.listdir(os.path.dirname(path)) == ["config.toml"]


@pytest.mark.parametrize("key", ["sandbox.extra_read_paths", "sandbox.extra_write_paths"])
@pytest.mark.parametrize("own, what", OWN)
def test_a_grant_in_a_second_name_of_what_is_agent6s_own_is_refused(lab, key, own, what):
    lab.repo(a="1\n")
    other = os.path.join(lab.folder, "other")
    os.makedirs(os.path.join(lab.home, own, "sub"), exist_ok=True)
    os.mkdir(other)
    for source, granted in (("$HOME", f"{other}/{own}/sub"), (f"$HOME/{own}", other), (f"$HOME/{own}/sub", other)):
        lab.config(f'{key} = ["{granted}"]\n')
        r = in_mounts(lab, f'mount --bind "{source}" {other}', AGENT6, "exec", "--", "true")
        assert r.returncode == 2 and f"{key}: {granted} lies in the {what}" in r.stderr and "hint:" in r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("own, what", OWN)
def test_a_workspace_that_is_a_second_name_of_what_holds_agent6s_own_is_refused(lab, own, what):
    lab.repo(a="1\n")
    os.makedirs(os.path.join(lab.home, own), exist_ok=True)
    other = os.path.join(lab.ws, "inside")
    os.mkdir(other)
    for setup in (f'mount --bind "$HOME/{own}" "$WS/inside"', f'mount --bind "$HOME/{os.path.dirname(own)}" "$WS"'):
        r = in_mounts(lab, setup, AGENT6, "exec", "--", "true")
        assert r.returncode == 2 and f"and the {what}" in r.stderr and "it is mounted at" in r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("profile", ["strict", "hardened"])
def test_what_is_hidden_is_hidden_by_every_name_or_refused(lab, profile):
    if profile == "hardened":
        lab = as_hardened(lab)
    lab.repo(a="1\n")
    secret = os.path.join(lab.home, "secret")
    lab.write(os.path.join(secret, "key"), "CANARY-77e\n")
    os.mkdir(os.path.join(lab.ws, "other"))
    m = lab.mock(script(turn(call("run_command", argv=["cat", "other/key"]), call("read_file", path="other/key"),
                             call("search", pattern="CANARY-77e"), call("list_dir", path="other")), finish()),
                 extra=f'[sandbox]\nhide_paths = ["{secret}"]\n')
    r = in_mounts(lab, f'mount --bind {secret} "$WS/other"', AGENT6, "run", "--auto-approve", "look")
    if profile == "hardened":
        assert r.returncode == 2 and f"cannot hide {lab.ws}/other" in r.stderr and "hint:" in r.stderr, r.stdout + r.stderr
        return
    assert r.returncode == 0, r.stdout + r.stderr
    said = "".join(str(x["body"]["messages"][1:]) for x in m.model_requests())
    assert "CANARY-77e\\n" not in said and "1: CANARY" not in said, said


@pytest.mark.parametrize("where", ["workspace", "grant"])
def test_a_program_at_a_second_name_of_what_the_model_writes_is_refused(lab, where):
    """What the spawner executes on this host: its own directory names no place of the model's, but a mount does."""
    lab.repo(a="1\n")
    other, source = os.path.join(lab.folder, "other"), lab.ws if where == "workspace" else os.path.join(lab.home, "w")
    os.makedirs(source, exist_ok=True)
    os.mkdir(other)
    lab.write(os.path.join(source, "hook"), "#!/bin/sh\n", 0o755)
    lab.config(f'notify.on_complete = ["{other}/hook"]\n' + (f'sandbox.extra_write_paths = ["{source}"]\n' if where == "grant" else ""))
    r = in_mounts(lab, f"mount --bind {source} {other}", AGENT6, "run", "--auto-approve", "x")
    assert r.returncode == 2 and f"{other}/hook lies in {other}, where the model may write" in r.stderr, r.stdout + r.stderr


# ---- what comes along with a grant ----

WINDOWS = 'for d in p c; do mkdir -p "$PLACE/tree/$d"; done; mount --rbind /proc "$PLACE/tree/p"; mount --rbind /sys "$PLACE/tree/c"; PLACE=""'


@pytest.mark.parametrize("key", [None, "extra_read_paths", "extra_write_paths"])
def test_a_window_into_the_kernel_in_what_was_granted_is_covered_or_refused(lab_of_each_profile, key):
    """A tree for chroot in the workspace or in a grant. As root its files would have to be mapped with the rest, which is refused."""
    lab = lab_of_each_profile.repo(a="1\n")
    place = lab.ws if key is None else os.path.join(lab.home, "granted")
    os.makedirs(place, exist_ok=True)
    look = f"cd {place}/tree; ls p c | grep -v :; cat p/version p/1/status c/kernel/*; echo 1 > p/self/oom_score_adj; rmdir p; mv p q; ls q; echo end"
    lab.config(f'[sandbox]\n{key} = ["{place}"]\n' if key else "")
    lab.env["PLACE"] = place
    r = in_mounts(lab, WINDOWS, AGENT6, "exec", "--", "sh", "-c", look + " 2>/dev/null")
    if lab.profile == "hardened" or os.geteuid() == 0:
        assert r.returncode == 2 and f"{place}/tree/" in r.stderr and "umount" in r.stderr and "file system" in r.stderr, r.stdout + r.stderr
        assert "ext4" not in r.stderr and "end" not in r.stdout, r.stdout + r.stderr
        return
    assert r.returncode == 0 and r.stdout.split() == ["end"], r.stdout + r.stderr
    assert f"a proc file system at {place}/tree/p" in r.stderr and f"a sysfs file system at {place}/tree/c" in r.stderr, r.stderr


def test_one_command_sees_no_window_into_the_kernel_either(lab):
    lab.env["PLACE"] = lab.ws
    policy = {"profile": "strict", "cwd": lab.ws, "argv": ["sh", "-c", "ls tree/p; cat tree/p/version; echo end"]}
    r = in_mounts(lab, WINDOWS, "sh", "-c", 'printf %s "$0" | "$1"', json.dumps(policy), os.path.join(os.path.dirname(AGENT6), "agent6-jail"))
    if os.geteuid() == 0:
        assert r.returncode != 0 and f"mounted at {lab.ws}/tree/" in r.stderr and "ext4" not in r.stderr, r.stdout + r.stderr
        return
    told = json.loads(r.stdout)
    assert told["stdout"] == "end\n" and f"a proc file system at {lab.ws}/tree/p" in told["stderr"], r.stdout + r.stderr
