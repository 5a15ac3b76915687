# a repository that a command makes where none was is set aside before any git looks, and everybody is told
file     a.txt | one
model    call run_command {"argv": ["sh", "-c", "git init -q . && git config core.fsmonitor 'touch {workspace}/ran; false' && git status; rm -f ran"]}
model    call run_command {"argv": ["sh", "-c", "mkdir -p made/.git; echo 'gitdir: made' > .git; test -d .git.quarantined-1"]}
model    call run_command {"argv": ["sh", "-c", "mkdir x x/objects x/refs; echo x > commondir; echo 'ref: refs/heads/main' > HEAD; git rev-parse --git-dir"]}
model    call run_command {"argv": ["sh", "-c", "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; chmod 555 ."]}
model    call finish_run {"summary": "done"}
run      agent6 run "make a repository"
exit     0
sent     [1].calls[0].result.jail contains "renamed to .git.quarantined-1"
sent     [2].calls[1].result.returncode is 0
sent     [2].calls[1].result.jail contains "renamed to .git.quarantined-2"
sent     [3].calls[2].result.returncode is 0
sent     [3].calls[2].result.jail contains "HEAD appeared in /"
sent     [4].calls[3].result.jail contains "renamed to HEAD.quarantined-2"
output   contains ".git.quarantined-1 now, and no git has looked at it"
event    jail.git_quarantined moved_to is "HEAD.quarantined-2"
absent   .git
absent   HEAD
present  .git.quarantined-1/config
present  .git.quarantined-2
shell    ! git rev-parse --git-dir 2>/dev/null
shell    ! git -C .git.quarantined-1 rev-parse --git-dir 2>/dev/null
shell    test ! -e ran
