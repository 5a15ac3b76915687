# a mistake in the configuration is named with its place and what would be right, and no run starts
config   sandbox.run_commands = "always"
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "config.toml:"
output   contains "always"
output   matches "yes, no, ask|ask, yes, no"
