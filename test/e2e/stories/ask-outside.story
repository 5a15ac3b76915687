# ask works outside a repository, with files and an earlier session attached, and answers as JSON where that is wanted
file     notes.txt | remember the milk
model    text "Milk."
run      agent6 ask --json --run-id one --file notes.txt "what to remember?"
exit     0
sent     [0].first contains "<file path=\"notes.txt\">\nremember the milk\n\n</file>"
sent     [0].tools is ["read_file", "list_dir", "grep", "outline", "find_definition", "find_references"]
output   contains "\"answer\":\"Milk.\""
model    text "Nothing else."
run      agent6 ask --from one "and what else?"
exit     0
sent     [0].first contains "<prior-run id=\"one\" mode=\"ask\">\ntask: what to remember?\nended: answered\noutcome: Milk."
model    call finish_run {}
model    text ""
model    times forever
run      agent6 ask "and now?"
exit     1
run      agent6 ask --file missing.txt "x"
exit     2
output   contains "--file missing.txt"
run      agent6 resume nothing
exit     2
