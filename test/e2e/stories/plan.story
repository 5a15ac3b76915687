# a plan is written without changing anything, shown, revised, edited by hand, and carried out
wire     both
file     a.txt | one
commit   start
config   models.planner.model = "planner-model"
model    call read_file {"path": "a.txt"}
model    text "I would change it."
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_planning {"summary": "one step", "plan_markdown": "# Plan\n1. Change a.txt to two.", "questions": ["Two or three?", "\u001b[31mRed?"]}
run      agent6 plan new --run-id p1 --questions-file ../q.json "change a"
exit     0
requests 4
sent     [0].model is planner-model
sent     [0].tools is ["read_file", "list_dir", "grep", "outline", "find_definition", "find_references", "add_task", "update_task", "list_tasks", "finish_planning"]
sent     [2].last contains "Text alone is no plan"
sent     [3].calls[1].result.error contains "not available in plan mode"
output   contains "1. Change a.txt to two."
output   contains "run --from-plan p1"
output   contains "The plan leaves open:\n1. Two or three?\n2. "
output   contains "agent6 plan revise \"...\" p1"
output   lacks "\u001b[31m"
file     a.txt is "one\n"
shell    grep -q '"question":"Two or three?","answer":""' ../q.json; sed -i 's/"answer":""/"answer":"three"/' ../q.json
run      agent6 plan show
exit     0
output   contains "The plan leaves open:\n1. Two or three?\n2. "
output   lacks "\u001b[31m"
output   contains "1. Change a.txt to two."
model    call finish_planning {"summary": "again", "plan_markdown": "# Plan\n1. Change a.txt to three."}
run      agent6 plan revise --run-id p2 --answers-file ../q.json "make it three" p1
exit     0
sent     [0].first contains "1. Change a.txt to two."
sent     [0].first contains "The person wants it changed:\nmake it three"
sent     [0].first contains "Q: Two or three?\nA: three"
sent     [0].first contains "TASK:\nchange a"
shell    printf '#!/bin/sh\nsed -i s/three/four/ "$1"\n' > ../ed; chmod 755 ../ed
env      EDITOR=../ed
run      agent6 plan edit p2
exit     0
run      agent6 plan show p2
output   contains "Change a.txt to four."
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "four"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --from-plan p2
exit     0
sent     [0].model is mock-model
sent     [0].first contains "Change a.txt to four."
sent     [0].first contains "TASK:\nchange a"
file     a.txt is "four\n"
commits  1
run      agent6 run --from-plan p2 "and a task"
exit     2
run      agent6 plan show nothing
exit     2
run      agent6 plan list
exit     2
requests 0
output   contains "plan takes: new, show, revise, edit"
run      agent6 plan shwo
exit     2
requests 0
run      agent6 runs lst
exit     2
output   contains "did you mean \"agent6 runs list\"?"
run      agent6 plan new ""
exit     2
output   contains "ERROR: task must not be empty"
run      agent6 check sandbx
exit     2
output   lacks "section: section"
