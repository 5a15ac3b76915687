# a web page is no answer of the API, and will not be one: the run ends at once and says which address to correct
commit   start
model    status 200 {"body": "<html><body>Welcome to our WiFi</body></html>", "headers": {"content-type": "text/html"}}
model    times forever
run      agent6 run "look"
exit     1
requests 1
event    run.end reason is provider_error
output   contains "/chat/completions answered HTML, not JSON (status 200)"
output   contains "provider mock: http://127.0.0.1:"
output   contains "correct providers.mock.base_url"
output   contains "resume"
