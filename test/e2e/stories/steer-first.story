# a leg begins with words, or with what the run reads; a command for a run that is on is refused before anything happens
file     a.txt | one
commit   start
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "look"
exit     0
run      agent6 resume --steer "/compact the tests" mine
exit     2
output   contains "/compact the tests is said to a run that is on"
requests 0
run      agent6 resume --steer "/pin" mine
exit     2
run      agent6 resume --steer "/stats" mine
exit     2
output   contains "no such command"
run      agent6 resume --steer "   " mine
exit     2
output   contains "--steer must not be empty"
run      agent6 fork --steer "/undo" mine
exit     2
shell    test "$(ls ~/.local/state/agent6/*/runs)" = mine
run      agent6 fork --at-turn -1 mine
exit     2
run      agent6 fork --at-turn 0 mine
exit     2
shell    test "$(ls ~/.local/state/agent6/*/runs)" = mine
model    call finish_run {"summary": "read"}
run      agent6 resume --steer "/usr/include is where to look" mine
exit     0
requests 1
sent     [0].last contains "/usr/include is where to look"
model    call finish_run {"summary": "read"}
run      agent6 resume --steer "/pin keep tabs" mine
exit     0
sent     [0].last contains "keep tabs"
