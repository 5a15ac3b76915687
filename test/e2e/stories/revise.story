# a task can be restated by the reviewer's model before the run begins; the person's words stay and decide
wire     both
file     a.txt | one
commit   start
config   prompt.revise_prompt = "auto"
config   models.reviewer.model = "reviewer-model"
model    text "{\"revised_task\":\"Write two into a.txt and leave the rest.\",\"clarifying_questions\":[\"Why?\"]}"
model    call finish_run {"summary": "done"}
run      agent6 run "two plz"
exit     0
requests 2
sent     [0].model is reviewer-model
sent     [0].first contains "TASK:\ntwo plz"
sent     [1].model is mock-model
sent     [1].first contains "TASK:\ntwo plz\n\nThe task restated (where it differs, the words above decide):\nWrite two into a.txt and leave the rest.\n"
event    loop.prompt_revision.result questions is 1
model    text "I cannot."
model    times forever
run      agent6 run "two plz"
exit     1
event    run.end reason is prompt_revision_failed
event    run.end iterations is 0
config   prompt.revise_prompt = "interactive"
model    text "{\"revised_task\":\"x\"}"
run      agent6 run "two plz"
exit     1
event    loop.prompt_revision.failed error contains "nobody answered"
config   prompt.revise_prompt = "off"
model    call finish_run {"summary": "done"}
run      agent6 run "two plz"
exit     0
requests 1
