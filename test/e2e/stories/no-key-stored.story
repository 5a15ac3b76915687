# a key that is looked for where keys are kept, and is not there, is as much the person's to mend as a file that is not there
wire     both
config   providers.mock.api_key_env = "NO_SUCH_KEY"
file     ~/.config/agent6/secrets.toml | [providers.other]
file     ~/.config/agent6/secrets.toml | api_key = "k"
file     ~/.config/agent6/secrets.toml mode 600
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "REFUSING: there is no key for provider mock"
output   contains "agent6 connect mock"
run      agent6 check keys
exit     1
output   contains "NO_SUCH_KEY is not set"
