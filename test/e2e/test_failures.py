# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What a provider's failure does to a whole run: it is tried again or it ends, and nothing is done twice for it."""
import collections
import concurrent.futures
import json
import os

import pytest

from conftest import call, finish, new_lab, turn

WIRES = ["openai", "anthropic", "responses"]
AGAIN = {  # what happens once to an answer that holds a call
    "408": {"status": 408}, "409": {"status": 409}, "429": {"status": 429}, "429-with-a-time": {"status": 429, "retry_after": "1"},
    "500": {"status": 500}, "502-a-page": {"status": 502, "body": "<html>Bad Gateway</html>"}, "503": {"status": 503}, "529": {"status": 529},
    "closed": {"drop": "close"}, "reset": {"drop": "reset"}, "reset-in-the-stream": {"cut": {"after_events": 5, "how": "reset"}},
    "end-in-the-stream": {"cut": {"after_events": 5, "how": "eof"}}, "cut-in-an-event": {"cut": {"after_events": 4, "extra_bytes": 20}},
    "error-in-the-stream": {"error_event": {"after_events": 4, "type": "overloaded_error", "message": "Overloaded"}},
    "silence-before-the-stream": {"cut": {"after_events": 0, "how": "hang", "hang_ms": 60000}},
    "silence-in-the-stream": {"cut": {"after_events": 4, "how": "hang", "hang_ms": 60000}},
}


def append(word):
    return call("run_command", argv=["sh", "-c", f"echo {word} >> done.txt"])


def count(what, api):
    with new_lab() as lab:
        lab.repo(a_DOT_txt="a\n")
        m = lab.mock({"turns": [turn(append("one")), turn(append("two"), text="a long word before the call, in several pieces",
                                                          fault={"attempts": 1, **AGAIN[what]}), turn(append("three")), finish()]}, api=api)
        if what.startswith("silence"):  # the client's own bound; the agent's is for models that think
            path = os.path.join(lab.home, ".config", "agent6", "config.toml")
            with open(path, encoding="utf-8") as f:
                text = f.read()
            lab.config(text.replace("[providers.mock]\n", "[providers.mock]\nhttp_timeout_s = 5\n"))
        r = lab.run("count")
        return r, lab.read("done.txt"), m.stop(), m.model_requests(), lab.journal()


@pytest.mark.parametrize("what", AGAIN)
def test_what_passes_is_tried_again_and_each_call_runs_once(what):
    """The first call has run when it happens, the second is in the answer that it happens to. Of a whole answer the request is
    never sent again; half an answer is never acted upon. All wires at once, since most of it is waiting."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for r, done, (status, complaints), asked, journal in pool.map(lambda api: count(what, api), WIRES):
            assert r.returncode == 0 and status == 0, r.both + complaints
            assert done == "one\ntwo\nthree\n"
            retries = [e for e in journal if e["type"] == "loop.provider.retry"]
            # A kept connection that was closed without an answer is opened again by the transport itself.
            assert len(retries) <= 1 and (retries or what in ("closed", "reset")), retries
            whole = collections.Counter(json.dumps(q["body"], sort_keys=True) for q in asked if not q.get("fault") and q["status"] == 200)
            assert max(whole.values()) == 1
            results = [e for e in journal if e["type"] == "tool.result" and e["name"] == "run_command"]
            assert len(results) == 3 and all(e["ok"] for e in results)
