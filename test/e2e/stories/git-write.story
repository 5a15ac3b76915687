# nothing that the model does changes .git: not with a tool, not with a command, not through a link
file     a.txt | one
file     g -> .git
commit   start
model    call apply_edit {"path": ".git/hooks/post-commit", "edits": [{"kind": "create", "old_string": "", "new_string": "touch pwned\n"}]}
model    call apply_edit {"path": "g/config", "edits": [{"old_string": "bare = false", "new_string": "bare = true"}]}
model    call run_command {"argv": ["sh", "-c", "echo '[core] fsmonitor = touch pwned' >> .git/config"]}
model    call run_command {"argv": ["git", "commit", "-q", "--allow-empty", "-m", "mine"]}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [4].calls[0].result.error contains ".git"
sent     [4].calls[1].result matches "error"
sent     [4].calls[2].result.stderr matches "Read-only file system|Permission denied"
sent     [4].calls[3].result.returncode is 128
absent   .git/hooks/post-commit
file     .git/config lacks fsmonitor
commits  0
