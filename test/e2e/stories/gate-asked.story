# where no rule knows the verify command a model is asked for it; what it says is shown, held to what a jail can run, and never stored
wire     both
file     a.txt | one
file     CMakeLists.txt | add_test(NAME all COMMAND check.sh)
file     check.sh | grep -q two a.txt
commit   start
config   models.reviewer.model = "reviewer-model"
model    text "```json\n{\"command\": [\"sh\", \"check.sh\"]}\n```"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    and call run_verify_command {}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "change it"
exit     0
requests 3
sent     [0].model is reviewer-model
sent     [0].tools is []
sent     [0].first contains "<file path=\"CMakeLists.txt\">\nadd_test(NAME all"
sent     [0].first contains "TOP LEVEL:\n"
sent     [1].model is mock-model
sent     [1].system contains "[\"sh\",\"check.sh\"]"
output   contains "gate (named by the reviewer's model): sh check.sh"
output   lacks "\"command\""
event    loop.verify_inferred source is llm
event    run.end verified is passed
commits  1
shell    ! grep -rq verify_command ~/.config/agent6/config.toml
# the next leg keeps it and asks nobody
model    call finish_run {"summary": "nothing more"}
run      agent6 resume mine --steer "is that all?"
exit     0
requests 1
# a command that looks at nothing, or that the jail has no program for, is no gate, and the person is told
shell    git checkout -q .
model    text "{\"command\": [\"true\"]}"
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
requests 2
output   contains "no verify command: asked for one, but it looks at nothing (true)"
event    loop.verify_inferred source is none
event    run.end verified is not_applicable
model    text "{\"command\": [\"no-such-runner\", \"\\u001b[31mred\"]}"
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
output   contains "but its program is not there (no-such-runner"
output   lacks "\u001b[31m"
# none is an answer
model    text "{\"command\": []}"
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
requests 2
output   lacks "no verify command"
# no answer that can be used, or none at all, keeps no run from beginning
model    text "run make"
model    times 3
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
requests 4
output   contains "gave no answer that can be used"
model    status 403
model    set {"match": {"model": "reviewer"}}
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
requests 2
event    run.end reason is finish_run
# nobody is asked where no model is there for reviews: the worker's first request is the first
config   models.reviewer.model = ""
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
requests 1
config   models.reviewer.model = "reviewer-model"
# or where that was turned off, where no command may run, or where one is set
config   workflow.verify_infer = false
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
requests 1
config   workflow.verify_infer = true
model    call finish_run {"summary": "nothing to do"}
run      agent6 run --no-commands "look"
requests 1
config   workflow.verify_command = ["sh", "check.sh"]
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
requests 1
