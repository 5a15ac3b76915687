# a command may not write beside the workspace, though its user could, and the model is told
wire     both
config   sandbox = { run_commands = "yes" }
commit   start
model    call run_command {"argv": ["touch", "../outside"]}
model    call finish_run {"summary": "not allowed"}
run      agent6 run "create ../outside"
exit     0
sent     [1].calls[0].result.stderr matches "Permission denied|Read-only file system"
absent   ../outside
