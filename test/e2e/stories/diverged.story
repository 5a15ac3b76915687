# what changed between two legs is said to the person and to the model; a chain that is not the record's stops the run
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
run      agent6 run --run-id mine --max-iterations 1 "change it"
output   contains "the limit is 1 turn\n"
exit     1
commits  1
shell    git stash -q; git switch -q -c other; echo more > b.txt; git add b.txt; git -c user.name=P -c user.email=p@example.invalid commit -qm more; echo three > a.txt
model    call list_dir {"path": "."}
run      agent6 resume mine --max-iterations 1
exit     1
output   contains "HEAD moved since the last leg: it was main at "
output   contains "now it is other at "
output   contains "2 files changed since the last leg ended: a.txt, b.txt"
sent     [0].body contains "HEAD moved since the last leg"
shell    git update-ref -d refs/agent6/mine/head
run      agent6 resume mine --max-iterations 1
exit     2
requests 0
output   contains "the chain of this run is not what its record says: refs/agent6/mine/head is gone, and the last recorded step is "
shell    git update-ref refs/agent6/mine/head main
run      agent6 resume mine --max-iterations 1
exit     2
requests 0
output   contains "refs/agent6/mine/head is at "
model    call finish_run {"summary": "done"}
run      agent6 resume mine --force
exit     0
requests 1
output   contains "going on because of --force"
