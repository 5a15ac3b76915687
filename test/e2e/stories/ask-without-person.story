# commands under "ask" with nobody to ask are refused before anything exists
config   sandbox.run_commands = "ask"
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "sandbox.run_commands"
output   contains "--auto-approve"
