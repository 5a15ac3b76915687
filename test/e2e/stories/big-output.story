# a flood of output keeps head and tail and says how much is missing
wire     both
commit   start
model    call run_command {"argv": ["sh", "-c", "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [1].calls[0].result.stdout matches "^first\n"
sent     [1].calls[0].result.stdout matches "\nlast\n$"
sent     [1].calls[0].result.stdout matches "29[0-9]{5}|298[0-9, ]+"
