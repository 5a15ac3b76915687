# a green gate counts no more once a command changed the tree
file     a.txt | one
file     verify.sh | exit 0
commit   start
model    call run_verify_command {}
model    call run_command {"argv": ["sh", "-c", "echo three > a.txt"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     4
event    run.end verified is unverified
