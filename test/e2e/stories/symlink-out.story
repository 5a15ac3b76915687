# a link that leads out of the workspace is neither read nor written through
wire     both
file     ~/secret.txt | the secret
file     link -> ../../home/secret.txt
file     dir -> ../../home
commit   start
model    call read_file {"path": "link"}
model    call read_file {"path": "dir/secret.txt"}
model    call apply_edit {"path": "link", "edits": [{"old_string": "the secret", "new_string": "changed"}]}
model    call run_command {"argv": ["cat", "link"]}
model    call read_file {"path": "/etc/shadow"}
model    call finish_run {"summary": "done"}
run      agent6 run "look"
exit     0
sent     [5].calls[0].result.error contains "link"
sent     [5].calls[1].result.error contains "dir/secret.txt"
sent     [5].calls[2].result.error contains "link"
sent     [5].calls[3].result.returncode is 1
sent     [5].calls[4].result.error contains "/etc/shadow"
sent     [5].body lacks "the secret\n"
file     ~/secret.txt is "the secret\n"
