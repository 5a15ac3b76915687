# a page where the API should be is asked for once: the address and the key of the configuration to correct are told
wire     both
commit   start
model    status 404 {"body": "<!DOCTYPE html><html><title>404 Not Found</title></html>", "headers": {"content-type": "text/html; charset=utf-8"}}
model    times forever
run      agent6 run "look"
exit     1
requests 1
event    loop.provider.fatal status_code is 404
output   contains "answered HTML, not JSON (status 404)"
output   contains "correct providers.mock.base_url"
output   lacks "<title>"
