# an unknown key is refused with the nearest one that exists
config   workflow.verify_comand = ["true"]
commit   start
run      agent6 run "look"
exit     2
output   contains "verify_comand"
output   contains "verify_command"
