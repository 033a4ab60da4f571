"""Controlled vocabularies: concepts with URIs, names and broader terms, to which the labels of documents are mapped.

A reader (`read`) makes a frozen `Vocabulary` of a list, a TSV file or SKOS. Every concept has one `label`, the name
that the model uses for it; all its other names, in any language, and its URI lead to it (`Vocabulary.find`). `mapping`
maps the labels of documents, `selection` says which labels a request asks for, `hierarchy` finds what is below a
concept. The model folder keeps the vocabulary as one JSON file (`state`). Renaming or
merging labels makes a new vocabulary in which the old names still lead to the label: documents added later follow it.
"""
