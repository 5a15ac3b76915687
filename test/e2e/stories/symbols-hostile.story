# a file that ends the parser costs itself alone: the names of the others are found
file     src/a.py | def twice(x):
file     src/a.py |     return 2 * x
file     src/b.py | from a import twice
