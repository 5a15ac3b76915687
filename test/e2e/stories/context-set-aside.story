# in a small window old results are set aside, and the conversation stays one that both wires take
wire both
config models.worker.context_tokens = 12000
shell for i in 0 1 2 3 4 5 6 7; do seq $i 1500 > f$i; done
commit start
model call read_file {"path": "f0"}
model call read_file {"path": "f1"}
model call read_file {"path": "f2"}
model call read_file {"path": "f3"}
model call read_file {"path": "f4"}
model call read_file {"path": "f5"}
model call read_file {"path": "f6"}
model call read_file {"path": "f7"}
model call finish_run {"summary": "read"}
run agent6 run "read the files"
exit 0
event loop.compact.dropped n matches "[1-9]"
sent [8].calls[0].result contains "bytes set aside"
sent [8].calls[7].result.content contains "7\n8\n9"
sent [8].first contains "TASK:"
