# a question asked in prose is sent back once, since nobody would answer it there
file     a.txt | one
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    text "Shall I also change the rest?"
model    text "Then I leave the rest."
run      agent6 run "change one to two"
exit     0
requests 3
event    1 loop.question_nudge
sent     [2].last contains "ask_user"
