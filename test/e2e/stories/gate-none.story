# that nothing checks the work stands in a line when the run begins
file     a.txt | one
commit   start
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
output   contains "── no gate: no command checks the work; set workflow.verify_command"
config   sandbox.run_commands = "no"
model    call finish_run {"summary": "nothing to do"}
run      agent6 run "look"
exit     0
output   contains "── no gate: commands may not run (sandbox.run_commands)"
# who only looks has none to miss
model    text "it is one"
run      agent6 ask "what is in it?"
exit     0
output   lacks "no gate"
