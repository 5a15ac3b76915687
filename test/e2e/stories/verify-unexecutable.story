# a gate that cannot be executed ends the run as broken, naming it
config   workflow.verify_command = ["./no-such-gate", "--all"]
file     a.txt | one
commit   start
model    call run_verify_command {}
model    times 3
run      agent6 run "look"
exit     1
requests 1
event    run.end reason is verify_command_unexecutable
output   contains "no-such-gate"
