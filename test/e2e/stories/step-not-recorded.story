# a command that shuts the work tree makes every later step unrecordable: the model hears it, and the end says so with status 5
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"kind": "create", "new_string": "x\n"}]}
model    call run_command {"argv": ["chmod", "000", "."]}
model    call finish_run {"summary": "done"}
run      agent6 run "shut it"
exit     5
commits  1
sent     [2].last contains "could not be recorded as a step"
event    loop.auto_commit.failed error contains "Permission denied"
event    run.end reason is finish_run
event    run.end exit_code is 5
output   contains "what was done last is in no step"
shell    chmod 755 .
