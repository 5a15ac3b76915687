# an answer that is no answer of the API is asked for five times, then the run ends with a sentence
commit   start
model    status 200 {"body": "<html><body>Welcome to our WiFi</body></html>", "headers": {"content-type": "text/html"}}
model    times forever
run      agent6 run "look"
exit     1
requests 5
event    4 loop.provider.retry
event    run.end reason is provider_error
output   contains "resume"
