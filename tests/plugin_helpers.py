"""A package of somebody else, as far as entry points need it: a module and a minimal *.dist-info beside it."""

from __future__ import annotations

from pathlib import Path


def write_distribution(folder: Path, name: str, entry_points: dict[str, dict[str, str]], **modules: str) -> Path:
    """Write modules (name=source) and the metadata of a distribution that registers entry points, by group and name.

    Returns the folder, which must be on the search path: PYTHONPATH, or monkeypatch.syspath_prepend.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = []
    for group, targets in entry_points.items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in targets.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder
