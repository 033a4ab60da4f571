"""A model folder as an HTTP server, with a page to try it on: `pip install "neartag[serve]"`, `neartag serve MODEL`."""
