# files that were there untracked before are never committed, new ones are
file     a.txt | one
commit   start
file     notes.txt | mine
file     [odd]*name | mine too
model    call run_command {"argv": ["sh", "-c", "echo made > new.txt; echo more >> notes.txt"]}
model    call finish_run {"summary": "done"}
run      agent6 run "make new.txt"
exit     0
commits  1
chain    new.txt is "made\n"
shell    ! git ls-tree -r --name-only "$(git for-each-ref --format='%(objectname)' 'refs/agent6/*/head')" | grep -qE 'notes|odd'
file     notes.txt is "mine\nmore\n"
