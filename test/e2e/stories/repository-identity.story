# the repository's own git identity is not used, and what is said instead can be typed
config   - git.commit.name
config   - git.commit.email
file     a.txt | one
commit   start
shell    git config user.name Ada; git config user.email ada@example.invalid
run      agent6 run "change one to two"
exit     2
requests 0
output   contains "the repository's own user.name and user.email are not used"
output   contains "git config --global user.name \"...\""
output   contains "agent6 config set git.commit.email \"...\""
output   lacks    "?  git config"
output   matches  "for git:\n +git config --global user.name"
