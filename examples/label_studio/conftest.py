"""Where the tests find this example and the helpers of neartag's own tests."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
os.environ["MODEL_DIR"] = tempfile.mkdtemp()  # where Label Studio's package keeps its own notes
