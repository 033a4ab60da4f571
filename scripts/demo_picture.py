"""Draw docs/demo.svg: what `neartag demo` shows on a terminal, run in a real one.

python scripts/demo_picture.py [docs/demo.svg]
"""

import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100


def shown(command: list[str], folder: str) -> str:
    """What the command writes to a terminal of WIDTH columns; progress, on standard error, is left out."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, cwd=folder, env=environment):
        os.close(slave)
        pieces = []
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the terminal closes with its last writer
                break
            if not piece:
                break
            pieces.append(piece)
    os.close(master)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/demo.svg")
    neartag = str(Path(sys.executable).parent / "neartag")
    with tempfile.TemporaryDirectory() as folder:
        text = shown([neartag, "demo"], folder)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    target.write_text(console.export_svg(title="neartag demo"), encoding="utf-8")
    print(f"{target}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
