# a model that edits, sees the gate green and finishes leaves one step on a chain, and the branch as it was
wire     both
file     calc.py | def add(a, b):
file     calc.py |     return a - b
file     verify.sh | grep -q 'a + b' calc.py && echo ok
commit   start
model    text "Let me look."
model    and call read_file {"path": "calc.py"}
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a - b", "new_string": "a + b"}]}
model    and text "Add adds."
model    call run_verify_command {}
model    call finish_run {"summary": "add() adds now"}
run      agent6 run "make add() add"
exit     0
requests 4
sent     [0].first contains "make add() add"
sent     [0].tools is ["read_file", "list_dir", "grep", "outline", "find_definition", "find_references", "apply_edit", "apply_patch", "run_verify_command", "run_command", "ask_user", "add_task", "update_task", "list_tasks", "add_memory", "invalidate_memory", "finish_run", "read_background", "stop_background"]
sent     [1].calls[0].result.content contains "return a - b"
sent     [3].calls[2].result.returncode is 0
event    run.end reason is finish_run
event    run.end all_passed is true
event    run.end verified is passed
event    run.end summary is "add() adds now"
file     calc.py contains "a + b"
commits  1
chain    calc.py contains "a + b"
output   contains "runs merge"
