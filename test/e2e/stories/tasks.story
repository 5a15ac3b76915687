# a model that keeps a task list is told what is next, is held back while tasks are open, and the tasks are on record
wire     both
file     a.txt | one
commit   start
model    call add_task {"title": "change a", "acceptance": "a.txt says two", "relevant_paths": ["a.txt"]}
model    and call add_task {"title": "tell nobody"}
model    call apply_edit {"path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}
model    call finish_run {"summary": "early"}
model    call list_tasks {}
model    call finish_run {"summary": "still early"}
model    call finish_run {"summary": "and again"}
model    call finish_run {"summary": "done"}
run      agent6 run "change a"
exit     0
sent     [1].last contains "Your task list is at: change a ("
sent     [1].last contains "Done when: a.txt says two"
sent     [3].last contains "Not finished: 2 tasks of your list are open"
sent     [4].calls[4].result.count is 3
event    3 loop.task_finish.gated
event    run.end summary is done
run      agent6 runs graph
exit     0
output   matches "\\[ \\] change a  pending\n  \\[>\\] change a  <-  in_progress\n  \\[ \\] tell nobody  pending"
run      agent6 runs graph --dot
output   contains "digraph tasks"
run      agent6 runs graph --json
output   contains "\"acceptance\":\"a.txt says two\""
shell    cat ~/.local/state/agent6/*/runs/*/record/nodes/*.md | grep -q '^title: "change a"'
