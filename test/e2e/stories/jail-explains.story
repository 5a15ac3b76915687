# when the jail made a command fail, its result and the line on the terminal say which key decides; an ordinary failure says nothing
file     locked.sh | echo "fixtures/x: Permission denied" >&2; exit 1
commit   start
model    call run_command {"argv": ["touch", "../outside"]}
model    call run_command {"argv": ["sh", "-c", "echo x > .git/config"]}
model    call run_command {"argv": ["python3", "-c", "import urllib.request as u; u.urlopen('http://example.com')"]}
model    call run_command {"argv": ["cat", "/root/.ssh/id_rsa"]}
model    call run_command {"argv": ["sh", "locked.sh"]}
model    call finish_run {"summary": "not allowed"}
run      agent6 run "look"
exit     0
sent     [1].calls[0].result.jail contains "sandbox.extra_"
sent     [2].calls[1].result.jail contains "sandbox.protect_git"
sent     [3].calls[2].result.jail contains "sandbox.tool_network"
sent     [4].calls[3].result.jail contains "sandbox.extra_read_paths"
sent     [5].calls[4].result lacks "jail"
output   contains "sandbox.protect_git"
