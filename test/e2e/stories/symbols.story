# names of the code are found by the index worker in its own jail; a hidden file has none
file     src/a.c | int twice(int x) { return 2 * x; }
file     src/b.py | from a import twice
file     src/b.py | def main():
file     src/b.py |     return twice(2)
file     private/c.c | int twice(void) { return 0; }
commit   start
config   sandbox.hide_paths = ["{workspace}/private"]
model    call outline {"path": "src/b.py"}
model    call find_definition {"symbol": "twice"}
model    call find_references {"symbol": "twice"}
model    call outline {"path": "private/c.c"}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [4].calls[0].result matches "main"
sent     [4].calls[1].result matches "src/a.c"
sent     [4].calls[1].result.truncated is false
sent     [4].calls[2].result matches "src/b.py"
sent     [4].calls[1].result lacks "private"
sent     [4].calls[3].result matches "error"
