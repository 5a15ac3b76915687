# a plan that has open questions ends the run with them, a resume brings the answers; a step that stays red ends it too
file     a.txt | one
file     verify.sh | grep -q three a.txt
commit   start
config   workflow.default = "implement"
model    text "{\"summary\":\"change a\",\"steps\":[{\"title\":\"change a.txt\"}]}"
model    text "{\"verdict\":\"questions\",\"questions\":[{\"id\":\"q\",\"question\":\"Two or three?\"}]}"
run      agent6 run --run-id mine "change it"
exit     2
output   contains "Two or three?"
event    run.end reason is open_questions
shell    grep -q '"question":"Two or three?"' ~/.local/state/agent6/*/runs/mine/record/questions.json
model    text "{\"summary\":\"change a to three\",\"steps\":[{\"title\":\"write three\"}]}"
model    text "{\"verdict\":\"ok\"}"
model    call finish_run {"summary": "no"}
model    times 4
run      agent6 resume mine --steer "three, please"
exit     1
sent     [0].first contains "three, please"
sent     [2].last contains "Now step 1 of 1:\n<step>\n1. write three"
shell    grep -q '"reason":"no_progress"' ~/.local/state/agent6/*/runs/mine/record/logs.jsonl
shell    grep -q '"type":"step.end","index":1,"title":"write three","status":"failed"' ~/.local/state/agent6/*/runs/mine/record/logs.jsonl
run      agent6 replay mine
exit     0
run      agent6 runs graph mine
output   contains "write three  failed"
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "three"}]}
model    call finish_run {"summary": "yes"}
model    text "{\"approved\":true}"
run      agent6 resume mine
exit     0
requests 3
shell    test "$(git show refs/agent6/mine/head:a.txt)" = three
shell    git checkout -q a.txt
model    text "{\"summary\":\"x\",\"steps\":[{\"title\":\"y\"}]}"
model    text "{\"verdict\":\"abort\",\"reason\":\"it would delete everything\"}"
run      agent6 run --run-id other "rm -rf"
exit     2
output   contains "it would delete everything"
model    text "no plan"
model    times forever
run      agent6 run "x"
exit     2
output   contains "planner gave no answer that can be used"
