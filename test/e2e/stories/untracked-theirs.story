# a new file of a run that is not merged is untracked: the next run says whose it is before it works on it, and how to take it over
file     a.txt | one
commit   start
file     mine.txt | mine
model    call apply_edit {"path": "new.txt", "edits": [{"kind": "create", "new_string": "new\n"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id first "make a file"
exit     0
commits  1
output   lacks "which is not merged"
model    call apply_edit {"path": "new.txt", "edits": [{"old_string": "new", "new_string": "newer"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id second "change it"
exit     5
output   contains "new in run first, which is not merged, and untracked here, so what this run does to it is in no step of it: new.txt; to go on with it: agent6 runs merge first, or git add and git commit, and then the run"
output   contains "changed but in no commit, since they were untracked when the run began: new.txt"
# it is the person's since, or the second run's: nobody's word is given for it
model    call finish_run {"summary": "done"}
run      agent6 run --run-id third "look"
exit     0
output   lacks "which is not merged"
# taken over, it is in the steps
shell    echo new > new.txt
run      agent6 runs merge first
exit     0
model    call apply_edit {"path": "new.txt", "edits": [{"old_string": "new", "new_string": "newer"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id fourth "change it"
exit     0
commits  1
output   lacks "which is not merged"
