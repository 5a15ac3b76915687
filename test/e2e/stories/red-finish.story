# finishing over a red gate is said with status 4, and the work is kept as a checkpoint that says so
wire     both
file     calc.py | return a - b
file     verify.sh | grep -q 'a + b' calc.py || { echo not added; exit 1; }
commit   start
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a - b", "new_string": "a * b"}]}
model    call run_verify_command {}
model    call finish_run {"summary": "gave up"}
run      agent6 run "make add() add"
exit     4
event    run.end reason is finish_run
event    run.end all_passed is false
event    run.end verified is failed
event    loop.auto_commit subject matches "^checkpoint"
commits  1
output   matches "(?i)verif|gate"
output   matches "(?s)^(?!.*not added.*not added).*not added"
