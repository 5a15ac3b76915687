# a server that cuts the conversation to its window without an error is noticed, and that is said once
wire     both
config   budget.max_input_tokens = -1
shell    i=0; while [ $i -lt 200 ]; do echo "line $i of a file that is longer than a small window, with words in it"; i=$((i+1)); done > long.txt
commit   start
model    call read_file {"path": "long.txt"}
model    set {"usage": {"input": 4096, "output": 10}}
model    call grep {"pattern": "nothing"}
model    set {"usage": {"input": 4096, "output": 10}}
model    call finish_run {"summary": "read"}
model    set {"usage": {"input": 4096, "output": 10}}
run      agent6 run "read it"
exit     0
requests 3
output   contains "it seems to cut the conversation"
output   contains "OLLAMA_CONTEXT_LENGTH"
event    1 run.notice text contains cut the conversation
