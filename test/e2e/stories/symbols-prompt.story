# what files define, and which names most of them use, is told before the first turn; a hidden file is not
file     src/a.c | int shared_name(int x) { return 2 * x; }
file     src/b.c | int main(void) { return shared_name(2); }
file     private/c.c | int private_name(void) { return shared_name(1); }
commit   start
config   sandbox.hide_paths = ["{workspace}/private"]
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [0].first contains "shared_name (2) src/a.c"
sent     [0].first contains "src/b.c: main"
sent     [0].first lacks "private_name"
