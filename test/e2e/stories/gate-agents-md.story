# the gate that AGENTS.md names wins over all other signs of one
file     AGENTS.md | # Project
file     AGENTS.md | Verify: `sh check-it.sh`
file     check-it.sh | echo checked
file     Makefile | test:
file     Makefile | 	false
commit   start
model    call run_verify_command {}
model    call finish_run {"summary": "green"}
run      agent6 run "look"
exit     0
event    loop.verify_inferred source is agents_md
event    loop.verify_inferred command is ["sh", "check-it.sh"]
event    verify.end exit_code is 0
