# edits that a run left are said to be its when they refuse the next one; thrown away with git they are on its chain all the same
file     calc.py | return a - b
commit   start
model    call apply_edit {"path": "calc.py", "edits": [{"old_string": "a - b", "new_string": "a + b"}]}
model    call finish_run {"summary": "done"}
run      agent6 run --run-id mine "make it add"
exit     0
run      agent6 run "look"
exit     2
requests 0
output   contains "1 file is changed and not committed: calc.py (it is run mine's: agent6 runs merge mine takes it over, git restore drops it); commit or stash"
shell    echo '# mine' >> calc.py
run      agent6 run "look"
exit     2
output   contains "not committed: calc.py; commit or stash"
output   lacks "runs merge"
# as docs/git.md says
shell    git restore calc.py
model    call finish_run {"summary": "nothing"}
run      agent6 run "look"
exit     0
run      agent6 runs merge mine
exit     0
shell    grep -q 'a + b' calc.py
