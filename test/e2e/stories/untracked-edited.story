# edits of a file that was untracked when the run began are on no branch, and that is said wherever the person would take them over
file     a.txt | one
file     verify.sh | grep -q 'a + b' calc.py
commit   start
file     calc.py | return a - b
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a - b", "new_string": "a + b"}]}
model    call run_verify_command {}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "make it add"
exit     5
commits  0
event    run.end verified is passed
event    run.end edited_untracked is ["calc.py"]
output   contains "changed but in no commit, since they were untracked when the run began: calc.py"
run      agent6 runs show mine
output   contains "changed but in no commit, since they were untracked when the run began: calc.py"
run      agent6 runs diff mine
output   contains "changed but in no commit, since they were untracked when the run began: calc.py"
run      agent6 runs merge mine
output   contains "changed but in no commit, since they were untracked when the run began: calc.py"
# beside work that is on the branch it is no failure, and still said
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a + b", "new_string": "a + b + c"}]}
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call run_verify_command {}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id other "add more"
exit     0
commits  1
output   contains "since they were untracked when the run began: calc.py"
run      agent6 runs merge other
exit     0
output   contains "since they were untracked when the run began: calc.py"
