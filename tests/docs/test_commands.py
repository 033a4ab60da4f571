"""Every command that the documentation shows exists, with its options."""

from __future__ import annotations

import re
import shlex

import pytest
from docs_helpers import DOCS, ROOT, blocks, prose

IN_BLOCK = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )?neartag ([a-z].*)$", re.MULTILINE)
IN_PROSE = re.compile(r"`neartag ([a-z][^`]*)`")


def shown(path):
    """Return the words of each command that stands in a block or between backticks, comments left out."""
    found = []
    code = "\n".join(blocks(path, "") + blocks(path, "console"))
    for text in IN_BLOCK.findall(code) + IN_PROSE.findall(prose(path)):
        text = re.split(r"\s#\s|\s{3,}|;", text)[0].replace("…", "")
        try:
            found.append(shlex.split(text))
        except ValueError:  # a quote that ends on another line
            found.append(text.split())
    return found


def unknown(words, group):
    """Return what is unknown of a command: its name, or its options."""
    command = group.commands.get(words[0])
    if command is None:
        return words[:1]
    if getattr(command, "commands", None) and len(words) > 1 and words[1] in command.commands:
        command = command.commands[words[1]]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    if "--method" in words:  # whose own parameters are options then
        return []
    return [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_exist(path):
    from typer.main import get_command

    from neartag.cli.main import app

    group = get_command(app)
    assert [(words, bad) for words in shown(path) if (bad := unknown(words, group))] == []


def test_what_does_not_exist_is_noticed():
    from typer.main import get_command

    from neartag.cli.main import app

    group = get_command(app)
    assert unknown(["tag", "model/", "--threshold", "f1"], group) == []
    assert unknown(["tag", "model/", "--nothing"], group) == ["--nothing"]
    assert unknown(["nothing"], group) == ["nothing"]
    assert any(words[0] == "explain" for words in shown(ROOT / "README.md"))
