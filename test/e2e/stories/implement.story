# a run with workflow implement goes through planner, critic, and for each step worker, gate and reviewer
wire     both
file     calc.py | def add(a, b):
file     calc.py |     return a - b
file     verify.sh | grep -q 'a + b' calc.py
commit   start
config   workflow.default = "implement"
config   models.planner.model = "planner-model"
config   models.critic.model = "critic-model"
config   models.reviewer.model = "reviewer-model"
model    text "I would do this."
model    text "{\"summary\":\"fix it\",\"steps\":[{\"title\":\"make add add\",\"files\":[\"calc.py\"],\"acceptance\":\"a + b\"},{\"title\":\"write it down\",\"files\":[\"README\"]}]}"
model    text "{\"verdict\":\"ok\"}"
model    call add_task {"title": "mine"}
model    and call finish_run {"summary": "I think it is done"}
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a - b", "new_string": "a + b"}]}
model    call finish_run {"summary": "step one"}
model    text "{\"approved\":false,\"fixes\":[\"calc.py:1 wants a comment\"]}"
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "def add", "new_string": "# adds\ndef add"}]}
model    call finish_run {"summary": "step one, with a comment"}
model    text "{\"approved\":true}"
model    call apply_edit {"path": "README", "edits": [{"kind": "create", "new_string": "it adds\n"}]}
model    call finish_run {"summary": "all done"}
model    text "{\"approved\":true,\"fixes\":[]}"
run      agent6 run "make add() add"
exit     0
requests 13
sent     [0].model is planner-model
sent     [0].first contains "TASK:\nmake add() add"
sent     [0].tools is []
sent     [1].last contains "That answer cannot be used"
sent     [2].model is critic-model
sent     [2].first contains "1. make add add\n   Files: calc.py\n   Done when: a + b"
sent     [3].model is mock-model
sent     [3].last contains "Now step 1 of 2:\n<step>\n1. make add add"
sent     [4].last contains "The step is not done: the verify command is red (exit 1)"
sent     [6].model is reviewer-model
sent     [6].first contains "-    return a - b\n+    return a + b"
sent     [7].last contains "- calc.py:1 wants a comment"
sent     [10].last contains "Now step 2 of 2:\n<step>\n2. write it down"
event    1 plan.ready
event    2 step.start
event    2 step.end
event    step.end status is passed
event    run.end reason is finish_run
event    run.end all_passed is true
event    run.end summary is "all done"
chain    README is "it adds\n"
chain    calc.py contains "# adds"
run      agent6 runs graph
output   matches "\\[x\\] make add add  passed\n  \\[x\\] write it down  passed"
