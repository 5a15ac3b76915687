# a limit in dollars is refused before anything is sent where no price is known
commit   start
model    text "never asked for"
run      agent6 run --max-usd 1.5 "look"
exit     2
requests 0
output   contains "no price of the model \"mock-model\" is known"
output   contains "price_in"
