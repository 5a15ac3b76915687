# prompt.structural_priors = false leaves the names out
file     src/a.c | int shared_name(int x) { return 2 * x; }
file     src/b.c | int main(void) { return shared_name(2); }
commit   start
config   prompt.structural_priors = false
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [0].first lacks "shared_name"
