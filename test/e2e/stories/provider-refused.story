# a server that is not there is told once for each attempt, and once at the end
config   providers.mock.base_url = "http://127.0.0.1:1/v1"
commit   start
run      agent6 run "look"
exit     1
event    run.end reason is provider_error
output   matches "attempt 1 failed: connect to 127.0.0.1:1: Connection refused"
output   matches "^(?s:(?!.*attempt 1 failed.*attempt 1 failed).*)$"
output   matches "^(?s:(?!(.*Connection refused){6}).*)$"
