# nothing that the repository chose runs when a step is recorded: no hook, filter, fsmonitor or signing program
file     a.txt | one
file     b.txt | one
file     .gitattributes | b.txt filter=evil
commit   start
shell    for h in pre-commit post-commit reference-transaction post-index-change commit-msg; do printf '#!/bin/sh\ntouch "%s/ran-hook"\n' "$PWD" > .git/hooks/$h; chmod 755 .git/hooks/$h; done
shell    git config filter.evil.clean "touch $PWD/ran-filter; cat"; git config core.fsmonitor "touch $PWD/ran-fsmonitor; false"
shell    git config commit.gpgsign true; git config gpg.program "$PWD/ran-gpg"; git config alias.commit '!touch ran-alias'
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    and call apply_edit {"path": "b.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
absent   ran-hook
absent   ran-fsmonitor
absent   ran-filter
commits  1
shell    git diff --name-only main $(git for-each-ref --format='%(refname)' refs/agent6 | head -1) | grep -qx a.txt
# what such a filter would have made of a file nobody knows: it stays as it is in the work tree, and that is said
output   contains "left out of the step: b.txt: it has a content filter, and none runs here"
shell    grep -q two b.txt
