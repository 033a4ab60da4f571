"""Print pip constraints that pin every core dependency to its declared lower bound."""

import re
from pathlib import Path

# Read with a pattern: tomllib is only there from Python 3.11 on, and the suite runs on 3.10 too.
text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
core = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S)
assert core is not None
for name, version in re.findall(r'"([A-Za-z0-9_-]+)>=([0-9.]+)[",]', core.group(1)):
    print(f"{name}=={version}")
