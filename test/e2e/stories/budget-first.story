# a first request that passes a bound however its text packs into tokens is not made
config   budget.max_input_tokens = 100
commit   start
model    call finish_run {"summary": "never asked"}
run      agent6 run --run-id one "look"
exit     3
requests 0
event    run.end reason is budget_exhausted
output   contains "budget.max_input_tokens would be passed"
run      agent6 replay one
exit     0
