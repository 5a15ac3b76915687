# what a command deletes or changes of the files that were untracked when the run began is in no step, and is named wherever edits are
file     a.txt | one
commit   start
file     notes.txt | mine
file     log.txt | first
file     kept.txt | as it is
model    call run_command {"argv": ["rm", "-f", "notes.txt"]}
model    call run_command {"argv": ["sh", "-c", "echo more >> log.txt; touch -d 2001-01-01 log.txt"]}
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --auto-approve --run-id mine "tidy up"
exit     0
commits  1
event    run.end edited_untracked is ["log.txt"]
event    run.end deleted_untracked is ["notes.txt"]
output   contains "changed but in no commit, since they were untracked when the run began: log.txt; deleted, and in no commit either: notes.txt"
run      agent6 runs show mine
output   contains "deleted, and in no commit either: notes.txt"
run      agent6 runs diff mine
output   contains "deleted, and in no commit either: notes.txt"
run      agent6 runs merge mine
output   contains "deleted, and in no commit either: notes.txt"
# the edit tools delete as well, and a file that is gone is not changed
model    call apply_patch {"patch": "*** Begin Patch\n*** Delete File: kept.txt\n*** End Patch\n"}
model    call finish_run {"summary": "done"}
run      agent6 run --auto-approve --run-id other "tidy up more"
exit     5
event    run.end deleted_untracked is ["kept.txt"]
output   contains "left     deleted, and in no commit, since they were untracked when the run began: kept.txt"
