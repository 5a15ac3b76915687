# a model that the provider does not know ends the run at once, naming it
wire     both
commit   start
model    status 404 {"error": {"type": "not_found_error", "message": "model: mock-model"}}
run      agent6 run "look"
exit     1
requests 1
event    run.end reason is provider_error
event    loop.provider.fatal status_code is 404
output   contains "mock-model"
