# what the work tree holds of later turns: a new file is not the fork's, whatever it does to it; a changed one is in its next step; both are said
file     a.txt | one
file     b.txt | bee
commit   start
file     mine.txt | mine
model    call apply_edit {"path": "early.txt", "edits": [{"kind": "create", "new_string": "early\n"}]}
model    call apply_edit {"path": "new.txt", "edits": [{"kind": "create", "new_string": "later\n"}]}
model    call apply_edit {"path": "b.txt", "edits": [{"old_string": "bee", "new_string": "wasp"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id first "change things"
exit     0
commits  3
run      agent6 fork first --at-turn 2 --no-run --run-id second
exit     0
model    call apply_edit {"path": "new.txt", "edits": [{"old_string": "later", "new_string": "mine now"}]}
model    call apply_edit {"path": "early.txt", "edits": [{"old_string": "early", "new_string": "earlier"}]}
model    call finish_run {"summary": "done the other way"}
run      agent6 resume second
exit     0
output   contains "new after the turn that this fork begins with, so in no step of it: new.txt"
output   contains "changed after the turn that this fork begins with, and in its next step as it lies there: b.txt"
output   contains "changed but in no commit, since they were untracked when the run began: new.txt"
shell    test "$(git ls-tree --name-only refs/agent6/second/head | tr '\n' ' ')" = "a.txt b.txt early.txt "
shell    test "$(git show refs/agent6/second/head:early.txt)" = earlier; test "$(git show refs/agent6/second/head:b.txt)" = wasp
sent     [0].body contains "so in no step of it: new.txt"
# a later leg of the fork is a leg like any other
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "once more"}
run      agent6 resume second --steer "once more"
exit     0
output   lacks "this fork begins with"
shell    ! git cat-file -e refs/agent6/second/head:new.txt
run      agent6 replay second
exit     0
