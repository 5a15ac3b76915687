# a file that the model makes has the mode the person's umask gives, as one that a command makes
file     a.txt | one
commit   start
model    call apply_edit {"path": "made/new.sh", "edits": [{"kind": "create", "old_string": "", "new_string": "x\n"}]}
model    call run_command {"argv": ["sh", "-c", "touch made/other; [ $(stat -c %a made/other) = $(stat -c %a made/new.sh) ] && echo same"]}
model    call finish_run {"summary": "done"}
run      agent6 run --auto-approve "look"
exit     0
sent     [2].calls[1].result.stdout is "same\n"
