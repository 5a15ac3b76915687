# a fork knows what the run knew before that turn, its chain begins at that step, and the run it came from stays as it was
file     a.txt | one
file     b.txt | bee
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call apply_edit {"path": "b.txt", "edits": [{"old_string": "bee", "new_string": "wasp"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id first "change both"
exit     0
commits  2
run      agent6 fork first --at-turn 9 --no-run
exit     2
output   contains "it has no checkpoint of turn 9; the only ones are of turns 1, 2, 3, 4"
shell    test "$(ls ~/.local/state/agent6/*/runs)" = first
run      agent6 fork first --at-turn 2 --no-run --run-id second
exit     0
output   contains "forked first at turn 2 -> second (branch agent6/second at "
requests 0
shell    test "$(git rev-parse agent6/second)" = "$(git rev-parse agent6/first~1)"; test "$(git rev-parse agent6/second)" = "$(git rev-parse refs/agent6/second/head)"
shell    grep -q '"child":"second","parent":"first","turn":2,"sha":"' ~/.local/state/agent6/*/lineage.jsonl
run      agent6 runs show second
output   contains "first"
output   contains "created"
model    call finish_run {"summary": "done the other way"}
run      agent6 resume second
exit     0
requests 1
sent     [0].calls[0].name is apply_edit
sent     [0].body lacks "wasp"
run      agent6 runs verify first
exit     0
run      agent6 fork first --no-run --steer "look again"
exit     2
output   contains "exclude each other"
run      agent6 fork first --no-run --run-id first
exit     2
output   contains "there is a run first already"
run      agent6 fork nobody --no-run
exit     2
run      agent6 replay second
exit     0
run      agent6 replay first
exit     0
