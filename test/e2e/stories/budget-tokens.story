# tokens are a hard limit: the run stops before the next request, with status 3, and keeps its work
wire     both
config   budget.max_input_tokens = 1500
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    set {"usage": {"input": 1000, "output": 20}}
model    call grep {"pattern": "two"}
model    set {"usage": {"input": 1000, "output": 20}}
model    text "never asked for"
run      agent6 run "change one to two"
exit     3
requests 1
event    run.end reason is budget_exhausted
event    budget.update input_total is 1000
output   contains "would be passed"
commits  1
