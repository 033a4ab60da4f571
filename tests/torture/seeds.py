"""Small sound files of every format that is read: what is changed at random begins with one of them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

ROWS = [
    ("d1", "bake bread in the oven", ["cooking", "baking"]),
    ("d2", "ride a bicycle – quickly", ["cycling"]),
    ("d3", 'bread with "butter", and jam', ["cooking"]),
    ("d4", "the wheel of a bicycle; a second wheel\nand a third", ["cycling", "wheels"]),
    ("d5", "", []),
]
XMC = b"4 6 3\n0,2 0:1.5 3:2\n1 1:0.25\n 2:1e-3 5:7\n2 4:-1.5\n"
TURTLE = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:a a skos:Concept ; skos:prefLabel "cooking"@en, "Kochen"@de ; skos:altLabel "cuisine"@en .
ex:b a skos:Concept ; skos:prefLabel "baking"@en ; skos:broader ex:a .
"""
RDF = b"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://example.org/a"><skos:prefLabel xml:lang="en">cooking</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="http://example.org/b"><skos:prefLabel xml:lang="en">baking</skos:prefLabel>
<skos:broader rdf:resource="http://example.org/a"/></skos:Concept></rdf:RDF>
"""
# Without the time: the same case must be the same file tomorrow.
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
SHARED_STRINGS = b"""<?xml version="1.0"?>
<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="2">
<si><t>text</t></si><si><r><t>bread </t></r><r><t>and butter</t></r></si></sst>"""


def make_seeds() -> dict[str, bytes]:
    """Return sound files by name; the ending says the format."""
    objects = [{"id": name, "text": text, "labels": labels} for name, text, labels in ROWS]
    vectors = [{"id": "a", "vector": [0.5, 1, -2], "labels": ["x"]}, {"vector": [1, 2, 3.5], "labels": []}]
    features = [{"features": {"0": 0.5, "3": 1}, "labels": [0]}, {"features": {"word": 1.0}, "labels": ["one", "two"]}]
    cells = [[name, text.replace("\n", " "), ";".join(labels)] for name, text, labels in ROWS]
    seeds = {
        "docs.jsonl": _lines(objects),
        "vectors.jsonl": _lines(vectors),
        "rows.jsonl": _lines(features),
        "docs.csv": _table(cells, ","),
        "semicolon.csv": _table([[a, b.replace(";", ""), c.replace(";", "|")] for a, b, c in cells], ";"),
        "latin.csv": _table([["x", "größer ähnlich", "süß"]], ",").decode().encode("cp1252"),
        "wide.csv": b"id,text,tag_a,tag_b\n1,some text,0,1\n2,other text,1,1\n3,more,0,0\n",
        "docs.tsv": _table(cells, "\t"),
        "docs.ft": b"__label__cooking __label__baking bake bread in the oven\n__label__cycling ride a bicycle\n",
        "points.txt": XMC,
        "points.svm": b"0,2 0:1.5 3:2\n1 1:0.25\n",
        "vocabulary.txt": b"cooking\nbaking\ncycling\n",
        "vocabulary.tsv": b"<http://example.org/a>\tcooking\n<http://example.org/b>\tbaking\n",
        "vocabulary.ttl": TURTLE,
        "vocabulary.rdf": RDF,
        "vocabulary.nt": _triples(),
        "points.npz": _npz(compressed=False),
        "packed.npz": _npz(compressed=True),
        "vectors.npy": _npy(),
        "docs.parquet": _parquet(),
        "odd.parquet": _odd_parquet(),
        "docs.xlsx": _excel(),
        "set.zip": _zip(),
        "set.tar.gz": COMPRESS[".gz"](_tar()),
        "set.tar.xz": COMPRESS[".xz"](_tar()),
    }
    for name in ("docs.jsonl", "docs.csv", "points.txt"):
        seeds.update({name + ending: pack(seeds[name]) for ending, pack in COMPRESS.items()})
    return seeds


def repack(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return a packed file with its inside changed, so that the change is not just a wrong checksum."""
    ending = Path(name).suffix
    if ending in COMPRESS and not name.endswith((".tar.gz", ".tar.xz")):
        unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[ending]
        return COMPRESS[ending](change(unpack(content)))
    if name.endswith((".tar.gz", ".tar.xz")):
        unpack = gzip.decompress if name.endswith("gz") else lzma.decompress
        return COMPRESS[ending](change(unpack(content)))
    if ending in (".xlsx", ".npz", ".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as whole:
            members = {member: whole.read(member) for member in whole.namelist()}
        chosen = sorted(members)[len(change(b"which one is changed")) % len(members)]
        members[chosen] = change(members[chosen])
        return _zip_of(members)
    return change(content)


def _lines(objects: list[dict]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in objects)


def _table(cells: list[list[str]], mark: str) -> bytes:
    rows = [["id", "text", "labels"], *cells]
    return "".join(mark.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\r\n" for row in rows).encode()


def _triples() -> bytes:
    skos = "http://www.w3.org/2004/02/skos/core#"
    kind = f"<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{skos}Concept> .\n"
    return (kind + f'<http://example.org/a> <{skos}prefLabel> "cooking"@en .\n').encode()


def _npz(*, compressed: bool) -> bytes:
    target = io.BytesIO()
    arrays = {
        "X_values": np.array([1.5, 2, 0.25], np.float32),
        "X_ids": np.array([0, 3, 1], np.int32),
        "X_pointers": np.array([0, 2, 3], np.int64),
        "X_shape": np.array([2, 6], np.int64),
        "Y_ids": np.array([0, 2, 1], np.int32),
        "Y_pointers": np.array([0, 2, 3], np.int64),
        "Y_shape": np.array([2, 3], np.int64),
        "label_names": np.frombuffer(b'["a", "b", "c"]', np.uint8),
    }
    (np.savez_compressed if compressed else np.savez)(target, **arrays)
    return target.getvalue()


def _npy() -> bytes:
    target = io.BytesIO()
    np.save(target, np.arange(10, dtype=np.float32).reshape(5, 2))
    return target.getvalue()


def _parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    target = io.BytesIO()
    names, texts, labels = zip(*ROWS, strict=True)
    table = pa.table({"id": list(names), "text": list(texts), "labels": pa.array(labels, pa.list_(pa.string()))})
    parquet.write_table(table, target, compression="none")
    return target.getvalue()


def _odd_parquet() -> bytes:
    """Return columns of many types and encodings, compressed, in two row groups."""
    import pyarrow as pa
    from pyarrow import parquet

    target = io.BytesIO()
    texts = pa.array(["one", "two", None, "four"]).dictionary_encode()
    nested = pa.array([{"a": 1}, {"a": 2}, None, {"a": 4}])
    times = pa.array([1, 2, 3, None], pa.timestamp("ms", "UTC"))
    labels, flags = pa.array(["a;b", "c", "", "a"], pa.large_string()), pa.array([True, False, None, True])
    vectors = pa.array([[1.0, 2.0]] * 4, pa.list_(pa.float32(), 2))
    columns = {"text": texts, "labels": labels, "vector": vectors, "nested": nested, "when": times, "flag": flags}
    parquet.write_table(pa.table({**columns, "id": pa.array([1, 2, 3, 4])}), target, row_group_size=2)
    return target.getvalue()


def _excel() -> bytes:
    from openpyxl import Workbook

    book, target = Workbook(), io.BytesIO()
    book.active.append(["id", "text", "labels"])
    for name, text, labels in ROWS:
        book.active.append([name, text, ";".join(labels)])
    book.active.append([None, datetime(2020, 1, 2), 3.5])
    book.save(target)
    with zipfile.ZipFile(target) as whole:
        members = {member: whole.read(member) for member in whole.namelist()}
    times = "docProps/core.xml"
    members[times] = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2020-01-01T00:00:00Z", members[times])
    # openpyxl writes texts into the cells; spreadsheet programs write them into a list, which is read too.
    rels = "xl/_rels/workbook.xml.rels"
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    entry = b'<Relationship Type="' + kind + b'" Target="sharedStrings.xml" Id="rId99" /></Relationships>'
    members[rels] = members[rels].replace(b"</Relationships>", entry)
    sort = b'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"'
    types = b'<Override PartName="/xl/sharedStrings.xml" ' + sort + b" /></Types>"
    members["[Content_Types].xml"] = members["[Content_Types].xml"].replace(b"</Types>", types)
    return _zip_of({**members, "xl/sharedStrings.xml": SHARED_STRINGS})


def _zip_of(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, content in members.items():
            whole.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _zip() -> bytes:
    return _zip_of({"set/train.txt": XMC, "set/test.txt": XMC, "set/labels.txt": b"a\nb\nc\n"})


def _tar() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as whole:
        for name in ("set/train.txt", "set/test.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(XMC)
            whole.addfile(member, io.BytesIO(XMC))
    return target.getvalue()
