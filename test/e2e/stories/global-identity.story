# the person's global git identity is taken where none is configured
config   - git.commit.name
config   - git.commit.email
file     a.txt | one
file     ~/.gitconfig | [user]
file     ~/.gitconfig |     name = Ada
file     ~/.gitconfig |     email = ada@example.invalid
commit   start
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "done"}
run      agent6 run "change one to two"
exit     0
commits  1
shell    git log -1 --format=%an/%ae/%cn $(git for-each-ref --format='%(objectname)' 'refs/agent6/*/head') | grep -qx Ada/ada@example.invalid/Ada
