# a key that is refused ends the run at once, names the provider's words, and is not tried again
wire     both
commit   start
model    status 401 {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}
run      agent6 run "look"
exit     1
requests 1
event    run.end reason is provider_error
event    loop.provider.fatal status_code is 401
output   contains "invalid x-api-key"
output   lacks "dummy-key"
