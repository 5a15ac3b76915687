# a gate that fails the same way ten times ends the run
file     verify.sh | echo expected 5; exit 1
file     n.txt | n0
commit   start
model    call run_verify_command {}
model    and call run_command {"argv": ["sh", "-c", "echo n{{n}} > n.txt"]}
model    times forever
run      agent6 run "make it green"
exit     1
requests 10
event    run.end reason is no_progress
event    2 loop.no_progress.nudge
