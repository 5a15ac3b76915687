# a provider without a key is said before the run, with the command that stores one
config   providers.mock.api_key_env = "NO_SUCH_KEY"
config   providers.mock.base_url = "https://api.example.invalid/v1"
config   providers.mock.api_format = "anthropic"
commit   start
run      agent6 run "look"
exit     2
requests 0
output   contains "agent6 connect mock"
