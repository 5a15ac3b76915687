# a whole provider is unset in one go
config   providers.Other.api_format = "openai"
config   providers.Other.base_url = "https://other.invalid/v1"
run      agent6 config show providers.Other.base_url
exit     0
output   contains "other.invalid"
shell    grep -rq other.invalid ~
run      agent6 config unset providers.Other
exit     0
output   contains "Unset providers.Other.api_format"
output   contains "Unset providers.Other.base_url"
shell    ! grep -rq other.invalid ~
run      agent6 config unset providers.Nobody
exit     2
output   contains "providers.Nobody: unknown key"
