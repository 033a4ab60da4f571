"""Facts about the data sets that neartag knows by name: sizes, names of their published files, checksums.

The paper's nine have the sizes that its Table 2 prints: Bhatia, Jain, Kar, Varma, Jain, "Sparse Local Embeddings for
Extreme Multi-label Classification", NIPS 2015. There are no addresses here, because published files have moved before.
Whoever has an address configures it (`neartag.data.registry.addresses`).
"""

from __future__ import annotations

from dataclasses import dataclass

REPOSITORY = "The Extreme Classification Repository, http://manikvarma.org/downloads/XC/XMLRepository.html"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a data set."""

    features: int | None  # d; None: texts only
    labels: int  # L
    train: int  # points, n
    test: int  # points, m
    features_per_point: float | None = None
    labels_per_point: float | None = None


@dataclass(frozen=True)
class DatasetFacts:
    """What is known about one data set."""

    name: str
    title: str  # for people; the paper's own name for its sets
    about: str  # in a few words
    sizes: Sizes
    source: str = ""  # where a public copy is described; "": there is none
    # Names of the published files: training and test points, or all points and two lists of row numbers.
    files: tuple[str, ...] = ()
    paper: bool = False  # one of the paper's nine, with the sizes that the paper prints
    stands_for: str = ""  # the paper's set of which it is another split or a part


def _paper_set(
    name: str, title: str, about: str, sizes: Sizes, published_as: str = "", files: tuple[str, ...] = ()
) -> DatasetFacts:
    source = f"{REPOSITORY}, under {published_as}" if published_as else ""
    return DatasetFacts(name, title, f"{title}, {about}", sizes, source, files, paper=True)


def _two_files(stem: str) -> tuple[str, str]:
    return f"{stem}_train.txt", f"{stem}_test.txt"


def _three_files(stem: str) -> tuple[str, str, str]:
    return f"{stem.capitalize()}_data.txt", f"{stem}_trSplit.txt", f"{stem}_tstSplit.txt"


# In the order of the paper's Table 2, with its figures.
PAPER = (
    _paper_set(
        "mediamill",
        "MediaMill",
        "43,907 shots, 101 concepts",
        Sizes(120, 101, 30993, 12914, 120.00, 4.38),
        "Mediamill",
        _three_files("mediamill"),
    ),
    _paper_set(
        "bibtex",
        "BibTeX",
        "7,395 bookmarks, 159 tags",
        Sizes(1836, 159, 4880, 2515, 68.74, 2.40),
        "Bibtex",
        _three_files("bibtex"),
    ),
    _paper_set(
        "delicious",
        "Delicious",
        "16,105 pages, 983 tags",
        Sizes(500, 983, 12920, 3185, 18.17, 19.03),
        "Delicious",
        _three_files("delicious"),
    ),
    _paper_set(
        "eurlex",
        "EURLex",
        "19,348 documents, 3,993 subjects",
        Sizes(5000, 3993, 17413, 1935, 236.69, 5.31),
        "EURLex-4K (the same points, parted into 15,539 and 3,809)",
        _two_files("eurlex"),
    ),
    _paper_set(
        "wiki10",
        "Wiki10",
        "20,762 pages, 30,938 tags",
        Sizes(101938, 30938, 14146, 6616, 673.45, 18.64),
        "Wiki10-31K",
        _two_files("wiki10"),
    ),
    _paper_set(
        "delicious-large",
        "DeliciousLarge",
        "296,701 points, 205,443 tags",
        Sizes(782585, 205443, 196606, 100095, 301.17, 75.54),
        "Delicious-200K",
        _two_files("deliciousLarge"),
    ),
    _paper_set(
        "wikilshtc",
        "WikiLSHTC",
        "2,365,435 pages, 325,056 categories",
        Sizes(1617899, 325056, 1778351, 587084, 42.15, 3.19),
        "WikiLSHTC-325K",
        _two_files("wikiLSHTC"),
    ),
    _paper_set(
        "amazon",
        "Amazon",
        "643,474 products, 670,091 others that go with them",
        Sizes(135909, 670091, 490449, 153025, 75.68, 5.45),
        "Amazon-670K",
        _two_files("amazon"),
    ),
    _paper_set(
        "ads-1m",
        "Ads1M",
        "5,481,065 points, 1,082,898 labels; never published",
        Sizes(164592, 1082898, 3917928, 1563137, 9.01, 1.96),
    ),
)
# Not the paper's, but measured in neartag's documentation.
OTHERS = (
    DatasetFacts(
        "mediamill-rand",
        "MediaMill",
        "MediaMill, 43,907 shots, 101 concepts",
        Sizes(120, 101, 30993, 12914, 120.00, 4.37),
        "the source package of scikit-multilearn 0.0.1; both parts pooled and parted at random, as in the paper",
        stands_for="mediamill",
    ),
    DatasetFacts(
        "eurlex4k-partial",
        "EUR-Lex, a part",
        "EUR-Lex, 10,251 documents, 3,141 subjects",
        Sizes(5000, 3141, 8233, 2018, 128.6, 5.24),
        "EURLEX57K's texts with EURLex-4K's labels; features and parts made anew, not comparable with EURLex-4K",
        stands_for="eurlex",
    ),
    DatasetFacts(
        "yso-finna-en-100k",
        "Finna titles",
        "Finna titles, 110,003, 23,969 subjects",
        Sizes(26142, 23969, 99003, 11000, 8.8, 6.42),
        "the repository Annif-corpora of the National Library of Finland; documents with four subjects or more",
    ),
    DatasetFacts(
        "cooking",
        "cooking questions",
        "cooking questions, 15,404, 736 tags; text only",
        Sizes(None, 736, 12404, 3000, None, 2.31),
        "fastText's tutorial on text classification, which has a part of Stack Exchange",
    ),
)
SETS: dict[str, DatasetFacts] = {facts.name: facts for facts in (*PAPER, *OTHERS)}

# SHA-256 of the archives on which neartag's own figures were measured.
CHECKSUMS = {
    "bibtex.tar.xz": "9181dd849a23e6bb2af7ad08b3a4224ebd836d7a461ec01d33e45f6600cfac83",
    "cooking-text.tar.xz": "ce5eb56e77d22f41a3c8bfee4f9474eec85b2b027a16f58e71564e3122d20d79",
    "delicious.tar.xz": "29a15437e9ae77a0af00509ff2d64341cc9bf5bc8e316e5f4f7e1ed527f6c58b",
    "eurlex4k-partial-text.tar.xz": "1768c96c40723f731917ae2923f76af4dfe0cbb39705256f97cc917991827ab4",
    "eurlex4k-partial.tar.xz": "05ec60d219b08f0fedd1a2bb143953c1383fca487d1b978df552fcd8d2c39fd5",
    "mediamill-rand.tar.xz": "06eb7721053990dce33d3912ef593a2ca9f606d774e38ec8f49f21df53bb0937",
    "yso-finna-en-100k-text.tar.xz": "1fdceb23fae7b3218791c2fd1e2686f33c4920920829f72afce2a89ffecb87b0",
    "yso-finna-en-100k.tar.xz": "c05c3b04cf07202c3fcd02b9cdf5dc7e43ac062f15170afbb77631383b075997",
}
