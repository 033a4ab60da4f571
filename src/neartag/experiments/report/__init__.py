"""Rendering of a report: blocks of text, tables and figures as HTML, Markdown and SVG."""
