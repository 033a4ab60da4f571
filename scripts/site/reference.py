"""The site's reference, made from what the program itself says: its parser, its OpenAPI document, its parameters."""

from __future__ import annotations

import re
import tempfile
from typing import Any


def describe_commands() -> str:
    """Return a page of all commands with their arguments and options, from the real parser."""
    import click
    from typer.main import get_command

    from neartag.cli.main import app

    group = get_command(app)
    lines = ["# Commands", "", "Made from the program itself. `neartag COMMAND --help` says the same.", ""]
    for name, command in _walk(group, "neartag", click):
        lines += [f"## {name}", "", _paragraphs(command.help or ""), ""]
        context = click.Context(command, info_name=name)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += ["```", f"{name} {usage}", "```", ""]
        rows = [_row(parameter, context) for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            lines += ["| argument or option | what it does |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _walk(group: Any, path: str, click: Any) -> list[tuple[str, Any]]:
    found = []
    for name, command in group.commands.items():
        if command.hidden:
            continue
        found.append((f"{path} {name}", command))
        if hasattr(command, "commands"):
            found += _walk(command, f"{path} {name}", click)
    return found


def _row(parameter: Any, context: Any) -> str:
    record = parameter.get_help_record(context)
    if record is None:  # an argument of click itself
        return f"| `{_cell(parameter.human_readable_name)}` | |"
    names, text = record
    return f"| `{_cell(names)}` | {_cell(text)} |"


def describe_http() -> str:
    """Return a page of the server's paths, from its OpenAPI document."""
    document = _openapi()
    lines = [
        "# HTTP",
        "",
        "Made from the server's own OpenAPI document, which it gives at `/openapi.json`. What the",
        "",
    ]
    lines[2] += " server does beside that is told in [The server](../server.md)."
    lines += ["| | path | what it does |", "|---|---|---|"]
    details: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            told = _paragraphs(operation.get("description") or operation.get("summary", ""))
            name = f"{method.upper()} {path}"
            lines.append(
                f"| {method.upper()} | [`{path}`](#{_anchor(name)}) | {_cell(told.partition(chr(10) * 2)[0])} |"
            )
            details += [f"## {name}", "", told, ""]
            if operation.get("security"):
                details += ["Needs a token, if the server was started with one.", ""]
            details += _parameters(operation) + _body(operation, document) + _answer(operation, document)
            details += _statuses(operation)
    return "\n".join([*lines, "", *details])


def _openapi() -> dict[str, Any]:
    """Return the document of a server with a small model: the paths do not depend on the model."""
    from neartag import TextTagger
    from neartag.serve.app import create_app
    from neartag.serve.settings import Settings

    texts = ["bread and flour", "knife and steel", "bread with yeast", "a sharp knife"]
    labels = [["bread"], ["knives"], ["bread"], ["knives"]]
    with tempfile.TemporaryDirectory() as folder:
        TextTagger(refine=False).fit(texts, labels).save(f"{folder}/model")
        return create_app(f"{folder}/model", Settings()).openapi()


def _parameters(operation: dict[str, Any]) -> list[str]:
    given = operation.get("parameters", [])
    if not given:
        return []
    rows = [f"| `{each['name']}` | {each['in']} | {_cell(each.get('description', ''))} |" for each in given]
    return ["| parameter | in | what it says |", "|---|---|---|", *rows, ""]


def _body(operation: dict[str, Any], document: dict[str, Any]) -> list[str]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name:
        return ["The body is a file.", ""] if content else []
    described = document["components"]["schemas"][name]
    rows = []
    for key, value in described.get("properties", {}).items():
        default = f" (default `{value['default']}`)" if value.get("default") not in (None, "", []) else ""
        needed = " Needed." if key in described.get("required", []) else ""
        rows.append(f"| `{key}` | {_type(value)} | {_cell(value.get('description', ''))}{default}{needed} |")
    return ["| field of the body | type | what it says |", "|---|---|---|", *rows, ""]


def _answer(operation: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the fields of what is answered if all went well, where the document has them."""
    answered = operation.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
    schema = answered.get("schema", {})
    names = [each.get("$ref", "").rpartition("/")[2] for each in (schema, *schema.get("anyOf", []))]
    lines: list[str] = []
    for name in filter(None, names):
        fields = document["components"]["schemas"][name].get("properties", {})
        rows = [
            f"| `{key}` | {_type(value)} | {_cell(value.get('description', ''))} |" for key, value in fields.items()
        ]
        lines += ["or", ""] if lines else []
        lines += ["| field of the answer | type | what it says |", "|---|---|---|", *rows, ""] if rows else []
    return lines


def _type(schema: dict[str, Any]) -> str:
    """Return the type of a value in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"] if each.get("type") != "null"))
    if "$ref" in schema:
        return "object"
    kind = schema.get("type", "")
    return f"list of {_type(schema.get('items', {}))}s" if kind == "array" else kind


def _anchor(heading: str) -> str:
    """Return the anchor that the site gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _statuses(operation: dict[str, Any]) -> list[str]:
    answers = operation.get("responses", {})
    told = {
        status: answer.get("description", "").replace("Successful Response", "Done")
        for status, answer in answers.items()
    }
    rows = [f"| {status} | {_cell(text)} |" for status, text in told.items()]
    return ["| status | when |", "|---|---|", *rows, ""] if rows else []


def describe_settings() -> str:
    """Return a page of X1's parameters: names, defaults, what each does."""
    from neartag.methods import registry

    method = registry.get("x1")
    lines = [
        "# Settings",
        "",
        "X1's parameters, as `X1Classifier(…)`, `TextTagger(…)` and presets take them; on the command line the names",
        'have dashes: `--embedding-dim 100`. "auto" chooses by the data, or on held-out documents.',
        "",
        "| parameter | default | what it does |",
        "|---|---|---|",
    ]
    for each in method.parameters:
        lines.append(f"| `{each.name}` | `{each.default!r}` | {_cell(each.help)} |")
    return "\n".join([*lines, ""])


def _paragraphs(text: str) -> str:
    """Return a help text as paragraphs: the parser marks some with a form feed or a backspace."""
    return re.sub(r"[\b\f]", "", text).strip()


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()
