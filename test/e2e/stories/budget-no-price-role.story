# a limit in dollars names the role whose price is missing, and that price is what it wants
config   models.worker.model = "gpt-5-5"
config   models.summarizer.model = "nobody-s-model"
commit   start
model    text "Nothing to do."
model    times forever
run      agent6 run --max-usd 1.5 "look"
exit     2
requests 0
output   contains "no price of the model \"nobody-s-model\" is known"
output   contains "agent6 config set models.summarizer.price_in 3"
config   models.summarizer.price_in = 3
config   models.summarizer.price_out = 15
run      agent6 run --max-usd 1.5 "look"
exit     0
output   contains "cost~$"
