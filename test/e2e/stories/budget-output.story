# tokens answered with are limited as well
config   budget.max_output_tokens = 100
commit   start
model    call grep {"pattern": "two"}
model    set {"usage": {"input": 10, "output": 200}}
run      agent6 run "look"
exit     3
requests 1
event    run.end reason is budget_exhausted
