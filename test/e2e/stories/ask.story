# a question is answered in prose, and nothing can be changed meanwhile, by no tool and by no command
wire     both
file     a.txt | the answer is 42
commit   start
model    call read_file {"path": "a.txt"}
model    and call apply_edit {"path": "a.txt", "edits": [{"old_string": "42", "new_string": "43"}]}
model    and call run_command {"argv": ["sh", "-c", "echo x >> a.txt; touch new; echo y > /tmp/t && cat /tmp/t; echo z > .git/x"]}
model    and call add_memory {"scope": "a", "text": "b"}
model    text "It is 42, says a.txt:1."
run      agent6 ask --auto-approve --run-id why "what is the answer?"
exit     0
sent     [0].first contains "QUESTION:\nwhat is the answer?"
sent     [0].tools is ["read_file", "list_dir", "grep", "outline", "find_definition", "find_references", "run_command"]
sent     [1].calls[0].result.content contains "42"
sent     [1].calls[1].result.error contains "not available in ask mode"
sent     [1].calls[2].result.stdout is "y\n"
sent     [1].calls[2].result.stderr contains "Read-only file system"
sent     [1].calls[3].result.error contains "not available in ask mode"
output   contains "It is 42, says a.txt:1."
file     a.txt is "the answer is 42\n"
absent   new
shell    test -z "$(git for-each-ref refs/agent6 'refs/heads/agent6/*')"
shell    grep -q '42, says' ~/.local/state/agent6/*/asks/why/record/transcript.md
shell    test ! -e ~/.local/state/agent6/*/memories
run      agent6 runs list
output   contains "answered"
model    text "Because."
run      agent6 resume why --steer "but why?"
exit     0
sent     [0].last contains "but why?"
output   contains "Because."
shell    grep -c '^## Answer' ~/.local/state/agent6/*/asks/why/record/transcript.md | grep -q 2
