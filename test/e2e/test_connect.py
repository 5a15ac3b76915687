# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""How a provider comes to be known: connect and model, their questions on a real terminal, and what is stored of a key."""
import errno
import http.server
import os
import pty
import select
import signal
import stat
import subprocess
import termios
import threading

import pytest

from conftest import AGENT6, finish, script

KEY = "sk-hush-0123456789"


def config_path(lab, name="config.toml"):
    return os.path.join(lab.home, ".config", "agent6", name)


def read(path):
    with open(path, "rb") as f:
        return f.read().decode()


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def put(path, data):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


class Server:
    """Answers every GET with one status."""

    def __init__(self, status):
        self.seen = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.seen.append((self.path, self.headers.get("authorization")))
                body = b'{"data": [{"id": "m-1"}, {"id": "m-2"}]}'
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.http.shutdown()
        self.http.server_close()


@pytest.mark.parametrize("status, says", [(200, "offers 2 models"), (401, "rejects the key (HTTP 401)"),
                                          (500, "the server answered HTTP 500")])
def test_a_piped_key_is_stored_privately_and_verified(lab, status, says):
    with Server(status) as s:
        r = lab.agent6("connect", "mine", "--format", "openai", "--base-url", s.url, stdin=KEY + "\r\nnext line\n")
        assert r.returncode == 0, r.both
        assert says in r.both and KEY not in r.both
        assert s.seen == [("/v1/models", f"Bearer {KEY}")]
    secrets = config_path(lab, "secrets.toml")
    assert mode(secrets) == 0o600 and mode(os.path.dirname(secrets)) == 0o700
    assert read(secrets) == f'[providers.mine]\napi_key = "{KEY}"\n'
    assert KEY not in read(config_path(lab))
    for args in (("config", "show"), ("config", "show", "--json"), ("config", "show", "providers"), ("check", "keys")):
        assert KEY not in lab.agent6(*args).both
    out = lab.agent6("connect", "mine", "--logout")
    assert out.returncode == 0 and KEY not in read(secrets)
    assert "providers.mine" in read(config_path(lab))


def test_connect_without_a_server_says_that_nothing_was_verified(lab):
    r = lab.agent6("connect", "mine", "--format", "openai", "--base-url", "http://127.0.0.1:1/v1", stdin=KEY + "\n")
    assert r.returncode == 0 and "the key was not verified" in r.err and "Connection refused" in r.err
    assert KEY in read(config_path(lab, "secrets.toml"))


@pytest.mark.parametrize("args, says", [
    (("my provider",), "is not a provider's name"),
    (("mine",), "name a format"),
    (("mine", "--format", "cohere"), "not one of anthropic, openai, responses"),
    (("mine", "--format", "openai", "--base-url", "ftp://x"), "ftp"),
    (("mine", "--format", "openai", "--base-url", "http://example.com/v1"), "https"),
])
def test_connect_refuses_before_it_writes(lab, args, says):
    r = lab.agent6("connect", *args, stdin=KEY + "\n")
    assert r.returncode == 2 and says in r.err, r.both
    assert not os.path.exists(config_path(lab)) and not os.path.exists(config_path(lab, "secrets.toml"))


def test_connect_refuses_a_secrets_file_others_can_read_and_writes_nothing(lab):
    put(config_path(lab, "secrets.toml"), "[providers.a]\napi_key = \"old\"\n")
    os.chmod(config_path(lab, "secrets.toml"), 0o644)
    r = lab.agent6("connect", "openai", "--no-verify", stdin=KEY + "\n")
    assert r.returncode == 2 and "chmod 600" in r.err
    assert KEY not in read(config_path(lab, "secrets.toml")) and not os.path.exists(config_path(lab))
    check = lab.agent6("check", "keys")
    assert check.returncode == 1 and "[FAIL] keys.file" in check.out
    lab.config("".join(f'[providers.{name}]\napi_format = "openai"\n' for name in ("one", "two")))
    check = lab.agent6("check", "keys")
    assert check.returncode == 1 and check.out.count("chmod 600") == 1, check.out
    assert "[INFO] keys.one: not known" in check.out and "[INFO] keys.two: not known" in check.out, check.out


class Terminal:
    """A command on a pseudo terminal of its own."""

    def __init__(self, lab, *args):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.seen = ""
        self.proc = subprocess.Popen([AGENT6, *args], env=lab.env, cwd=lab.ws, stdin=slave, stdout=slave, stderr=slave,
                                     start_new_session=True)

    def modes(self):
        return termios.tcgetattr(self.slave)

    def stopped(self):
        with open(f"/proc/{self.proc.pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"

    def more(self):
        try:
            self.seen += os.read(self.master, 4096).decode("utf-8", "replace")
        except OSError as e:
            if e.errno != errno.EIO:
                raise

    def expect(self, text):
        while text not in self.seen:
            assert select.select([self.master], [], [], 300)[0], f"{text!r} never came: {self.seen}"
            self.more()

    def expect_times(self, text, n):
        while self.seen.count(text) < n:
            assert select.select([self.master], [], [], 300)[0], f"{text!r} came {self.seen.count(text)} times: {self.seen}"
            self.more()

    def say(self, text):
        os.write(self.master, text.encode())

    def end(self):
        try:
            code = self.proc.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.proc.kill()  # a process that stays would be every later test's
            raise
        mode_now = termios.tcgetattr(self.slave)
        os.set_blocking(self.master, False)
        try:
            seen = None
            while seen != self.seen:
                seen = self.seen
                self.more()
        except BlockingIOError:
            pass
        os.close(self.slave)
        os.close(self.master)
        return code, mode_now == self.before


def test_on_a_terminal_the_key_is_not_shown(lab):
    t = Terminal(lab, "connect", "--no-verify")
    t.expect("provider [anthropic]: ")
    t.say("mine\n")
    t.expect("format, anthropic, openai or responses [openai]: ")
    t.say("\n")
    t.expect("base URL")
    t.say("https://example.com/v1\n")
    t.expect("API key (not shown): ")
    t.say("wrong\x15" + KEY + "x\x7f\n")
    t.expect("Stored the key")
    code, restored = t.end()
    assert code == 0 and restored, t.seen
    assert KEY not in t.seen and "wrong" not in t.seen
    assert read(config_path(lab, "secrets.toml")) == f'[providers.mine]\napi_key = "{KEY}"\n'
    assert 'base_url = "https://example.com/v1"' in read(config_path(lab))


def test_a_slip_in_an_answer_is_told_and_asked_again(lab):
    t = Terminal(lab, "connect", "--no-verify")
    t.expect("provider [anthropic]: ")
    for n, (typed, says) in enumerate((("opnai", "did you mean openai?"), ("my server", "is not a provider's name")), 2):
        t.say(typed + "\n")
        t.expect(says)
        t.expect_times("provider [anthropic]: ", n)
    t.say("mine\n")
    t.expect("[openai]: ")
    t.say("opena\n")
    t.expect('the format "opena" is not one of')
    t.expect_times("[openai]: ", 2)
    t.say("\n")
    t.expect("base URL")
    t.say("htp://example.com/v1\n")
    t.expect_times("base URL, such as", 2)
    t.say("https://example.com/v1\n")
    t.expect("API key (not shown): ")
    t.say("two words\n")
    t.expect("printable characters without spaces")
    t.expect_times("API key (not shown): ", 2)
    t.say(KEY + "\n")
    t.expect("Stored the key")
    code, restored = t.end()
    assert code == 0 and restored and KEY not in t.seen and "two words" not in t.seen, t.seen
    assert read(config_path(lab, "secrets.toml")) == f'[providers.mine]\napi_key = "{KEY}"\n'
    assert 'base_url = "https://example.com/v1"' in read(config_path(lab)) and 'api_format = "openai"' in read(config_path(lab))


@pytest.mark.parametrize("typed,code", [("a b\nc d\ne f\n", 2), ("a b\n\x04", 1)])
def test_an_answer_is_asked_for_three_times_and_the_end_of_the_input_is_the_end(lab, typed, code):
    t = Terminal(lab, "connect", "--no-verify")
    t.expect("provider [anthropic]: ")
    t.say(typed)
    got, restored = t.end()
    assert got == code and restored, t.seen
    assert not os.path.exists(config_path(lab)) and not os.path.exists(config_path(lab, "secrets.toml"))


def test_a_name_that_is_nearly_a_known_one_is_taken_when_it_is_typed_once_more(lab):
    t = Terminal(lab, "connect", "--no-verify")
    t.expect("provider [anthropic]: ")
    t.say("opnai\nopnai\n")
    t.expect("[openai]: ")
    t.say("\nhttps://example.com/v1\n")
    t.expect("API key (not shown): ")
    t.say("\n")
    code, restored = t.end()
    assert code == 0 and restored and "[providers.opnai]" in read(config_path(lab)), t.seen


def test_ctrl_c_at_the_key_leaves_the_terminal_and_the_files_as_they_were(lab):
    t = Terminal(lab, "connect", "openai")
    t.expect("API key (not shown): ")
    t.say("sk-half\x03")
    code, restored = t.end()
    assert code == 130 and restored, t.seen
    assert "sk-half" not in t.seen
    assert not os.path.exists(config_path(lab)) and not os.path.exists(config_path(lab, "secrets.toml"))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGABRT"])
def test_whatever_ends_it_at_the_key_the_terminal_is_as_it_was(lab, name):
    t = Terminal(lab, "connect", "openai")
    t.expect("API key (not shown): ")
    t.say("sk-half")
    t.proc.send_signal(getattr(signal, name))
    code, restored = t.end()
    assert code == -getattr(signal, name) and restored, (code, t.seen)
    assert "sk-half" not in t.seen
    assert not os.path.exists(config_path(lab)) and not os.path.exists(config_path(lab, "secrets.toml"))


def test_stopped_at_the_key_it_gives_the_terminal_back_and_hides_the_key_again_afterwards(lab):
    t = Terminal(lab, "connect", "openai", "--no-verify")
    t.expect("API key (not shown): ")
    hidden = t.modes()
    t.proc.send_signal(signal.SIGTSTP)
    lab.wait_for(lambda: t.stopped())
    assert t.modes() == t.before != hidden
    t.proc.send_signal(signal.SIGCONT)
    lab.wait_for(lambda: t.modes() == hidden)
    t.say(KEY + "\n")
    t.expect("Stored the key")
    code, restored = t.end()
    assert code == 0 and restored and KEY not in t.seen, t.seen


def test_who_stopped_a_question_and_comes_back_is_asked_again(lab):
    t = Terminal(lab, "connect", "--no-verify")
    for asked in (1, 2):
        t.expect("provider [anthropic]: " * asked)
        t.proc.send_signal(signal.SIGSTOP)
        lab.wait_for(lambda: t.stopped())
        t.proc.send_signal(signal.SIGCONT)
    t.expect("provider [anthropic]: " * 3)
    t.say("openai\n")
    t.expect("API key (not shown): ")
    t.say("\x03")
    code, restored = t.end()
    assert code == 130 and restored and t.seen.count("provider [anthropic]: ") == 3, t.seen


def test_models_are_listed_and_chosen(lab):
    lab.mock(script(finish(), models=["mock-model", "big", "m2"]))
    assert lab.agent6("model", "worker", "mock").out.split() == ["mock-model", "big", "m2"]
    r = lab.agent6("model", "planner", "mock", "big", "--effort", "high")
    assert r.returncode == 0, r.both
    rows = lab.agent6("model").out.splitlines()
    assert rows[0].startswith("worker      mock/mock-model") and "[global]" in rows[0]
    assert rows[1].startswith("planner     mock/big  effort=high")
    assert "(unset, as worker)" in rows[2]
    before = read(config_path(lab))
    for args, says in ((("worker", "nope", "m"), "not a configured provider"), (("wroker", "mock", "m"), "is not one of"),
                       (("worker", "mock", "big", "--effort", "huge"), "is not one of")):
        r = lab.agent6("model", *args)
        assert r.returncode == 2 and says in r.err, r.both
    assert read(config_path(lab)) == before
    assert lab.agent6("model", "all", "mock", "m2").returncode == 0
    assert all("mock/m2" in row for row in lab.agent6("model").out.splitlines())
