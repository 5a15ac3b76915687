# a server started in the background answers the commands after it, is read in pieces, and stops when told to
config   sandbox.tool_network = "block"
file     page.txt | served
commit   start
model    call run_command {"argv": ["python3", "-u", "-m", "http.server", "8765", "--bind", "127.0.0.1"], "background": true}
model    call run_command {"argv": ["python3", "-c", "import time, urllib.request as u\nend = time.monotonic() + 30\nwhile time.monotonic() < end:\n try:\n  print(u.urlopen('http://127.0.0.1:8765/page.txt').read().decode()); break\n except u.URLError as e: last = e\nelse: print(last)"]}
model    call read_background {"id": "bg1"}
model    call stop_background {"id": "bg1"}
model    call run_command {"argv": ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/page.txt')"]}
model    call finish_run {"summary": "done"}
run      agent6 run "serve"
exit     0
sent     [1].calls[0].result.returncode is null
sent     [1].calls[0].result.background_id is "bg1"
sent     [2].calls[1].result.stdout is "served\n\n"
sent     [3].calls[2].result.output contains "GET /page.txt HTTP/1.1"
sent     [3].calls[2].result.shells is ["[bg1] running: python3 -u -m http.server 8765 --bind 127.0.0.1"]
sent     [4].calls[3].result.shells is ["[bg1] stopped: python3 -u -m http.server 8765 --bind 127.0.0.1"]
sent     [5].calls[4].result.returncode is 1
event    command.backgrounded handed_back is false
event    command.ended state is "stopped"
output   contains "bg1 runs in the background: python3 -u -m http.server 8765"
output   contains "bg1 stopped"
