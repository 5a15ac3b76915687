# a flag that was given says something, or is refused: an empty id is none, and minus two dollars are no limit either
commit   start
run      agent6 run --run-id "" "look"
exit     2
requests 0
output   contains "run-id must not be empty"
run      agent6 run --max-usd -2 "look"
exit     2
output   contains "-1"
run      agent6 run --max-iterations 0 "look"
exit     1
requests 0
event    run.end reason is max_iterations
