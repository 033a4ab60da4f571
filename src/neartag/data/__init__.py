"""Readers, writers and makers of data: everything that turns files into a Dataset."""
