# a rate limit is waited out for as long as the provider says, and the run goes on
wire     both
commit   start
model    status 429 {"retry_after": "2"}
model    text "Nothing to do."
model    times 3
run      agent6 run "look"
exit     0
requests 4
event    loop.provider.retry status_code is 429
event    loop.provider.retry wait_ms is 2000
output   contains "trying again in 2.0 s"
