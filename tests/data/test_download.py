"""Data sets fetched over HTTP from this computer: what is kept, what is refused, what is said; and the list of them."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cli_helpers import fail, invoke, succeed
from data_helpers import assert_same, toy
from neartag.core.errors import DataError, ParameterError
from neartag.core.progress import Progress
from neartag.data import formats, registry
from neartag.data.files import open_to_read
from neartag.data.registry import archives, catalogue, checksums, dataset_facts, download
from neartag.data.registry.addresses import Address
from neartag.experiments import printed

TRAIN, TEST = b"2 4 3\n0 1:0.5\n1,2 3:2\n", b"1 4 3\n2 0:1\n"
WAIT = 10  # seconds that a test may wait for the server at most


def zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return content.getvalue()


def tarred(members: dict[str, bytes], compression: str = "xz") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=f"w:{compression}") as archive:
        for name, value in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(value)
            archive.addfile(info, io.BytesIO(value))
    return content.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Site:
    """A server on this computer: what it has by path, and how it fails."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.broken: set[str] = set()  # paths of which it sends half and hangs up
        self.stuck: set[str] = set()  # paths of which it sends half and waits
        self.asked: list[str] = []
        self.leave = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                content = site.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                half = self.path in site.broken | site.stuck
                self.wfile.write(content[: len(content) // 2] if half else content)
                self.wfile.flush()
                if self.path in site.stuck:
                    site.leave.wait(WAIT)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def put(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return self.url + path


@pytest.fixture
def site(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = Site()
    thread = threading.Thread(
        target=found.server.serve_forever, args=(0.01,), daemon=True
    )  # looks so often for its end
    thread.start()
    yield found
    found.leave.set()
    found.server.shutdown()
    found.server.server_close()
    thread.join(WAIT)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the data folder, which is not there yet, and the cache folder."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    monkeypatch.setenv("NEARTAG_DATA", str(data))
    monkeypatch.setenv("NEARTAG_CACHE", str(cache))
    return data, cache


def assert_nothing(places):
    data, cache = places
    assert [path.name for path in data.iterdir()] == [] if data.exists() else True
    assert list((cache / "unpacked").iterdir()) == [] if (cache / "unpacked").exists() else True


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".zip", zipped({"Eurlex/eurlex_train.txt": TRAIN, "Eurlex/eurlex_test.txt": TEST, "__MACOSX/x": b""})),
        (".tar.xz", tarred({"eurlex/train.txt": TRAIN, "eurlex/test.txt": TEST})),
        (".tar.gz", tarred({"train.txt": TRAIN, "test.txt": TEST}, "gz")),
        (".tar.bz2", tarred({"train.txt": TRAIN, "test.txt": TEST}, "bz2")),
    ],
)
def test_an_archive_of_any_kind_is_kept_under_the_data_sets_name(places, site, ending, content):
    data, _ = places
    got = download.get("eurlex", Address(site.put("/file?id=17", content), sha256(content).upper()))
    assert got == (data / f"eurlex{ending}", sha256(content), True)
    assert got.path.read_bytes() == content
    assert (data / "SHA256SUMS").read_text() == f"{sha256(content)}  eurlex{ending}\n"
    assert sorted(path.name for path in data.iterdir()) == ["SHA256SUMS", got.path.name]
    assert registry.load("eurlex").n_points == 2
    assert registry.load("eurlex", "test").Y.indices.tolist() == [2]
    found = catalogue.entry("eurlex")
    assert (found.path, found.train, found.test, found.features, found.labels) == (got.path, 2, 1, 4, 3)
    assert found.note == ""
    with pytest.raises(DataError, match="already in"):
        download.get("eurlex", Address(site.url + "/other"))
    assert site.asked == ["/file?id=17"]


def test_a_set_published_as_points_and_lists_of_rows(places, site):
    content = zipped(
        {
            "Bibtex/Bibtex_data.txt": b"3 4 3\n0 1:0.5\n2 0:1\n1,2 3:2\n",
            "Bibtex/bibtex_trSplit.txt": b"3 1\n1 2\n",
            "Bibtex/bibtex_tstSplit.txt": b"2 3\n",
        }
    )
    download.get("bibtex", Address(site.put("/b.zip", content)))
    assert "bibtex" in registry.names()
    assert registry.load("bibtex").Y.indices.tolist() == [1, 2, 0], "rows 3 and 1: the first column"
    assert registry.load("bibtex", "test").Y.indices.tolist() == [2]
    found = catalogue.entry("bibtex")
    assert (found.train, found.test, found.features, found.labels) == (2, 1, 4, 3)
    with pytest.raises(DataError, match="no part 'other'"):
        registry.load("bibtex", "other")


def test_the_address_is_looked_up_in_the_data_folder(places, site):
    data, _ = places
    content = tarred({"train.txt": TRAIN})
    data.mkdir()
    configured = {"mine": {"url": site.put("/m", content), "sha256": sha256(content)}, "short": site.url + "/m"}
    (data / "datasets.json").write_text(json.dumps(configured))
    assert download.get("mine").checked
    assert not download.get("short").checked, "nobody knew its checksum"
    assert registry.names() == ["mine", "short"]
    sums = checksums.read_checksums(data)
    assert sums == dict.fromkeys(("mine.tar.xz", "short.tar.xz"), sha256(content))
    assert catalogue.entry("mine").note == "no test part"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "must be an object"),
        ('{"mine": 3}', r'mine: must be \{"url"'),
        ('{"mine": {"sha256": "00"}}', r'mine: must be \{"url"'),
        ('{"mine": {"url": "file:///etc/passwd"}}', "must begin with https"),
        ('{"mine": {"url": "https://a", "sha256": "12"}}', "64 hexadecimal digits, not '12'"),
    ],
)
def test_a_configuration_that_cannot_be_used(places, content, said):
    data, _ = places
    data.mkdir()
    (data / "datasets.json").write_text(content)
    with pytest.raises(DataError, match=said) as raised:
        download.get("mine")
    assert "datasets.json" in str(raised.value)


def test_a_wrong_checksum_keeps_nothing(places, site):
    content = tarred({"train.txt": TRAIN})
    url = site.put("/a", content)
    with pytest.raises(DataError) as raised:
        download.get("mine", Address(url, "0" * 64))
    for said in (url, sha256(content), "0" * 64, "was given", "nothing was kept"):
        assert said in str(raised.value)
    assert_nothing(places)


def test_a_checksum_that_is_listed_or_known_holds(places, site):
    data, _ = places
    content = tarred({"train.txt": TRAIN})
    url = site.put("/a", content)
    with pytest.raises(DataError, match=f"{dataset_facts.CHECKSUMS['bibtex.tar.xz']} neartag knows"):
        download.get("bibtex", Address(url))
    assert_nothing(places)
    (data / "SHA256SUMS").write_text(f"{'1' * 64} *mine.tar.xz\n{'2' * 64}  other.zip\n")
    with pytest.raises(DataError, match=f"{'1' * 64} SHA256SUMS has"):
        download.get("mine", Address(url))
    assert download.get("mine", Address(url, sha256(content))).checked
    assert (data / "SHA256SUMS").read_text() == f"{'2' * 64}  other.zip\n{sha256(content)}  mine.tar.xz\n"
    assert registry.load("mine").n_points == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<!DOCTYPE html><html>Are you sure?</html>", "a web page: open it"),
        (b"1 2 3\n", "is no archive .*another file"),
        (b"", "is no archive"),
        (zipped({"notes.md": b"x"}), "holds no train.txt or test.txt, but notes.md"),
        (zipped({"../train.txt": TRAIN}), "leads out of its folder"),
        (tarred({"train.txt": TRAIN})[:90], "cannot be unpacked"),
        (zipped({"train.txt": TRAIN})[:-20], "cannot be unpacked"),
        (b"PK\x03\x04 and nothing else", "cannot be unpacked"),
    ],
)
def test_what_is_no_data_set_is_not_kept(places, site, content, said):
    with pytest.raises(DataError, match=said):
        download.get("mine", Address(site.put("/a", content)))
    assert_nothing(places)


def test_a_link_or_a_locked_file_in_a_zip_is_refused(places, site):
    link = zipfile.ZipInfo("train.txt")
    link.external_attr = 0o120777 << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"):
        download.get("mine", Address(site.put("/a", content.getvalue())))
    locked = bytearray(zipped({"train.txt": TRAIN}))
    for header, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.find(header) + place] |= 1
    with pytest.raises(DataError, match="is encrypted"):
        download.get("mine", Address(site.put("/b", bytes(locked))))
    assert_nothing(places)


def test_a_missing_file_says_where_it_may_be(places, site):
    data, _ = places
    with pytest.raises(DataError) as raised:
        download.get("wiki10", Address(site.url + "/gone.zip"))
    for said in ("404", "XMLRepository", "Wiki10-31K", "wiki10_train.txt", str(data / "wiki10"), "datasets.json"):
        assert said in str(raised.value)
    assert_nothing(places)


def test_a_download_that_breaks_off_keeps_nothing(places, site):
    content = tarred({"train.txt": bytes(range(256)) * 3000})
    url = site.put("/a", content)
    site.broken.add("/a")
    with pytest.raises(DataError, match=r"cannot be fetched|broke off after"):
        download.get("mine", Address(url))
    assert_nothing(places)
    site.broken.clear()
    assert not download.get("mine", Address(url)).checked, "the next time it works"


def test_a_server_that_falls_silent_is_given_up(places, site):
    site.stuck.add("/a")
    with pytest.raises(DataError, match=r"cannot be fetched .*timed out"):
        download.get("mine", Address(site.put("/a", tarred({"train.txt": TRAIN * 5000}))), timeout=(2, 0.3))
    assert_nothing(places)


def test_an_interrupt_keeps_nothing(places, site):
    class Impatient(Progress):
        def advance(self, steps: int = 1, note: str = "") -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download.get("mine", Address(site.put("/a", tarred({"train.txt": TRAIN}))), progress=Impatient())
    assert_nothing(places)


def test_without_a_network_the_way_by_hand_is_told(places, site):
    data, _ = places
    url = site.url
    site.server.server_close()  # nobody listens there any more
    with pytest.raises(DataError, match="cannot be fetched") as raised:
        download.get("delicious", Address(url + "/a"))
    assert str(data / "delicious") in str(raised.value)
    assert_nothing(places)


def test_progress_counts_bytes(places, site):
    class Counting(Progress):
        def __init__(self) -> None:
            self.told: list[object] = []

        def start(self, total, description):
            self.told.append((total, description))
            return self

        def advance(self, steps=1, note=""):
            self.told.append(steps)

    content = tarred({"train.txt": TRAIN})
    bar = Counting()
    download.get("mine", Address(site.put("/a", content)), progress=bar)
    assert (len(content), "downloading mine") in bar.told
    assert bar.told[-1] == len(content)


def test_without_pooch(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r'pip install "neartag\[data\]"'):
        download.get("mine", Address("https://example.org/a.zip"))


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "mine.zip", "mine.tar.xz", "-x"])
def test_names_that_lead_elsewhere(places, name):
    with pytest.raises(ParameterError, match="no name of a data set"):
        download.get(name, Address("https://example.org/a.zip"))


def test_a_folder_that_cannot_be_written(places, site):
    data, _ = places
    data.write_bytes(b"a file")
    with pytest.raises(DataError, match="cannot be put into"):
        download.get("mine", Address(site.url + "/a"))


class TestFacts:
    def test_the_papers_sets_are_as_it_prints_them(self):
        assert [each.name for each in dataset_facts.PAPER] == [
            *("mediamill", "bibtex", "delicious", "eurlex", "wiki10"),
            *("delicious-large", "wikilshtc", "amazon", "ads-1m"),
        ]
        sizes = dataset_facts.SETS["wikilshtc"].sizes
        assert (sizes.features, sizes.labels, sizes.train, sizes.test) == (1617899, 325056, 1778351, 587084)
        assert (sizes.features_per_point, sizes.labels_per_point) == (42.15, 3.19)
        table = getattr(printed, "TABLE_2", {})
        for each in dataset_facts.PAPER if table else ():
            row = table[each.title]
            for name in ("features", "labels", "train", "test", "features_per_point", "labels_per_point"):
                assert getattr(row, name) == getattr(each.sizes, name)

    def test_each_says_where_it_is_described(self):
        for each in dataset_facts.SETS.values():
            assert each.source or each.name == "ads-1m"
            assert each.about
            assert not each.stands_for or dataset_facts.SETS[each.stands_for].paper
        assert all(
            len(value) == 64 and archives.without_ending(name) for name, value in dataset_facts.CHECKSUMS.items()
        )

    @pytest.mark.real
    def test_the_sizes_are_those_of_the_files(self, real_data):
        for name in ("bibtex", "delicious", "mediamill-rand", "eurlex4k-partial", "yso-finna-en-100k"):
            real_data(name)
            found, sizes = catalogue.entry(name), dataset_facts.SETS[name].sizes
            counts = (found.train, found.test, found.features, found.labels)
            assert counts == (sizes.train, sizes.test, sizes.features, sizes.labels)


class TestFolders:
    def test_files_as_they_are_published(self, places):
        data, _ = places
        (data / "amazon").mkdir(parents=True)
        formats.write(toy(), data / "amazon" / "amazon_train.txt.gz")
        (data / "amazon" / "Amazon_Test.txt").write_bytes(TEST)
        assert_same(registry.load("amazon"), toy())
        assert registry.load("amazon", "test").n_points == 1
        found = catalogue.entry("amazon")
        assert (found.path, found.train, found.test, found.labels) == (data / "amazon", 3, 1, 3)
        (data / "amazon" / "train.txt").write_bytes(TRAIN)
        assert registry.load("amazon").n_points == 2, "the plain name comes first"

    def test_an_archive_is_not_unpacked_to_be_listed(self, places):
        data, cache = places
        data.mkdir()
        (data / "mine.zip").write_bytes(zipped({"train.txt": TRAIN}))
        assert "is not listed in" in catalogue.entry("mine").note
        checksums.write_checksum(data / "mine.zip", checksums.checksum(data / "mine.zip"))
        found = catalogue.entry("mine")
        assert (found.train, found.note) == (None, "an archive, unpacked when it is first used")
        assert not cache.exists()
        registry.find("mine")
        assert catalogue.entry("mine").train == 2

    def test_damage_is_told_and_the_rest_is_listed(self, places):
        data, _ = places
        for name, content in (("bad", b"nonsense\n"), ("good", TRAIN)):
            (data / name).mkdir(parents=True)
            (data / name / "train.txt").write_bytes(content)
        (data / "words").mkdir()
        (data / "words" / "train.jsonl").write_bytes(b"")
        found = {each.name: each for each in catalogue.entries()}
        assert "bad/train.txt:1: the header is 'nonsense'" in found["bad"].note
        assert found["good"].train == 2
        assert found["words"].note == "no test part"
        assert found["bibtex"].note == "missing"
        assert list(found)[:9] == [each.name for each in dataset_facts.PAPER]

    def test_what_stands_for_another(self, places):
        data, _ = places
        (data / "mediamill-rand").mkdir(parents=True)
        (data / "mediamill-rand" / "train.txt").write_bytes(TRAIN)
        assert catalogue.entry("mediamill").note == "missing; mediamill-rand stands for it"

    def test_only_the_first_line_is_read(self, places, monkeypatch):
        data, _ = places
        (data / "mine").mkdir(parents=True)
        (data / "mine" / "train.txt").write_bytes(b"1000000 5 7\n")  # and then nothing
        assert catalogue.entry("mine").train == 1_000_000
        with pytest.raises(DataError), open_to_read(data / "nothing"):
            pass


class TestCommand:
    def test_lists_what_is_there_and_what_is_missing(self, places):
        data, _ = places
        (data / "mine").mkdir(parents=True)
        formats.write(toy(), data / "mine" / "train.txt")
        shown = succeed("datasets")
        there, missing = shown.split("Missing:")
        assert "debian" in there
        assert str(data / "mine") in there
        assert "no test part" in there
        for name in ("wikilshtc", "1,617,899", "ads-1m"):
            assert name in missing
        assert str(data) in missing
        report = json.loads(succeed("datasets", "--json"))
        assert report["folder"] == str(data)
        rows = {row["name"]: row for row in report["datasets"]}
        assert (rows["mine"]["train"], rows["mine"]["test"], rows["mine"]["path"]) == (3, None, str(data / "mine"))
        assert rows["amazon"]["path"] is None
        assert rows["debian"]["train"] == 23938

    def test_says_where_the_folder_will_be(self, places):
        assert "not there yet" in " ".join(succeed("datasets").split()), "the line may be broken anywhere"

    def test_gets_one(self, places, site):
        data, _ = places
        content = zipped({"train.txt": TRAIN, "test.txt": TEST})
        url = site.put("/e.zip", content)
        result = invoke("datasets", "get", "mine", "--url", url)
        assert result.exit_code == 0
        assert str(data / "mine.zip") in result.stdout
        assert f"no checksum was known for mine; what came is now listed in {data / 'SHA256SUMS'}" in result.stderr
        assert json.loads(succeed("datasets", "get", "other", "--url", url, "--sha256", sha256(content), "--json")) == {
            **{"name": "other", "about": "", "path": str(data / "other.zip"), "train": 2, "test": 1},
            **{"features": 4, "labels": 3, "note": "", "sha256": sha256(content), "checked": True},
        }
        (data / "datasets.json").write_text(json.dumps({"third": url}))
        assert "0000, but" not in fail("datasets", "get", "third", "--sha256", "12")
        assert "was given" in fail("datasets", "get", "third", "--sha256", "0" * 64)
        succeed("datasets", "get", "third", "--quiet")
        assert json.loads(succeed("train", "third", data / "model", "--n-jobs", 1, "--json"))["points"] == 2

    def test_says_what_to_do_without_an_address(self, places):
        data, _ = places
        line = fail("datasets", "get", "eurlex")
        for said in ("no address", "EURLex-4K", "eurlex_train.txt and eurlex_test.txt", str(data), "datasets.json"):
            assert said in line
        assert "never published" in fail("datasets", "get", "ads-1m")
        assert "train.txt and test.txt" in fail("datasets", "get", "unheard-of")
        assert "always there" in fail("datasets", "get", "debian")
        assert "neartag datasets get tells where" in fail("train", "wiki10", data / "model")
        assert "datasets --help" in fail("datasets", "nonsense")
