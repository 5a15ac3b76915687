# each leg has a budget of its own, and what the legs took adds up, each token at its price
config   models.worker.price_in = 10
config   models.worker.price_out = 10
config   budget.max_input_tokens = 150000
commit   start
model    call grep {"pattern": "two"}
model    set {"usage": {"input": 100000, "output": 100}}
run      agent6 run --run-id one --max-usd 1.5 "look"
exit     3
requests 1
event    run.end reason is budget_exhausted
output   contains "TOTAL: in=100000/150000 out=100/200000 cost~$1.00 of $1.50"
model    call finish_run {"summary": "looked"}
model    set {"usage": {"input": 100000, "output": 200}}
run      agent6 resume one
exit     0
requests 1
output   contains "TOTAL: in=100000/150000 out=200/200000 cost~$1.00 of $10.00"
output   contains "all      2 legs: in=200000 out=300 cost~$2.0030"
run      agent6 runs show one
exit     0
output   contains "100000 in, 200 out (latest leg), $2.00 (all 2 legs)"
run      agent6 runs list
exit     0
output   contains "$2.00"
# what the last leg's last request took is known when the next leg asks for the first time
run      agent6 resume one --steer "more" --max-usd 0.5
exit     3
requests 0
output   contains "budget.max_usd would be passed"
config   budget.max_input_tokens = 90000
run      agent6 resume one --steer "more"
exit     3
requests 0
output   contains "budget.max_input_tokens would be passed"
run      agent6 replay one
exit     0
