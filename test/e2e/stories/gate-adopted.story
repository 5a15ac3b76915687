# a gate that the model writes is found after the step that made it, and decides from there on
file     a.txt | one
commit   start
model    call apply_edit {"path": "verify.sh", "edits": [{"kind": "create", "old_string": "", "new_string": "grep -q two a.txt\n"}]}
model    call finish_run {"summary": "wrote a test"}
run      agent6 run "write a test"
exit     4
event    loop.verify_inferred adopted_at is 1
event    run.end verified is unverified
sent     [1].last contains "verify command now"
commits  1
