"""The report of `neartag evaluate`: all figures as one value, a page of them, and a table of labels."""
