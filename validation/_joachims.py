"""The text collections of Joachims 2000 and the numbers of his Tables 1 to 3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation._text import REUTERS_TOPICS, read_documents, texts_of

OHSUMED_CATEGORIES = {
    "Pathology": "C23", "Cardiovascular": "C14", "Neoplasm": "C04", "Nervous System": "C10",
    "Immunologic": "C20",
}  # fmt: skip
RELOCATED = "301 Moved Permanently"


@dataclass(frozen=True)
class Collection:
    """One of the three collections.

    Parameters
    ----------
    table : int
        Number of the paper's table.
    title : str
    about : str
        Which documents, and what is not as in the paper.
    sizes : tuple of int
        Training sizes of the learning curves, before that of a half.
    drawn : tuple of str
        Categories of the learning curves.
    optimistic : dict or None
        In how many of the paper's experiments the estimate with rho = 1 was better than the hold-out value.
    rows : dict
        rho -> lines of category, then mean and standard deviation of estimate and hold-out value of error,
        recall, precision and F1.
    """

    table: int
    title: str
    about: str
    sizes: tuple[int, ...]
    drawn: tuple[str, ...]
    optimistic: dict[str, int] | None
    rows: dict[int, str]

    def paper(self, rho: int) -> dict[str, np.ndarray]:
        """Category -> array of shape (4 measures, estimate and hold-out, mean and deviation)."""
        found = {}
        for line in self.rows[rho].splitlines():
            words = line.split()
            numbers = np.array(words[-16:], dtype=float)
            found[" ".join(words[:-16])] = numbers.reshape(4, 2, 2)
        return found


def read_collection(data: str, name: str) -> tuple[list[str], dict[str, np.ndarray]]:
    """Texts, and for each category which of them belong to it."""
    if name == "webkb":
        documents = [one for one in read_documents(data, "webkb4") if one["title"] != RELOCATED]
        categories = {label: [one["label"] == label for one in documents] for label in WEBKB.drawn}
    else:
        file = "reuters21578_modapte" if name == "reuters" else "ohsumed_single23"
        documents = read_documents(data, file)
        topics = {topic: topic for topic in REUTERS_TOPICS} if name == "reuters" else OHSUMED_CATEGORIES
        categories = {label: [topic in one["topics"] for one in documents] for label, topic in topics.items()}
    return texts_of(documents), {label: np.array(own) for label, own in categories.items()}


REUTERS = Collection(
    table=1,
    title="Reuters",
    about="the ten most frequent Reuters topics, all {n:,} documents of the ModApte split",
    sizes=(64, 194, 645, 1935),
    drawn=("earn", "acq", "money-fx"),
    optimistic={"error": 3, "recall": 1, "precision": 15, "f1": 2},
    rows={
        1: """\
earn 2.68 0.08 1.87 0.15 92.3 0.3 94.8 0.5 98.8 0.1 99.1 0.1 95.4 0.1 96.9 0.2
acq 3.54 0.16 2.53 0.20 88.1 0.8 92.5 0.5 92.1 0.4 93.6 0.7 90.0 0.5 93.1 0.4
money-fx 2.67 0.12 1.92 0.14 64.9 2.0 73.6 2.4 83.4 1.4 89.8 1.9 73.0 1.4 80.9 1.4
grain 1.23 0.09 0.82 0.11 74.4 1.7 82.7 2.1 98.2 0.8 98.5 0.5 84.7 1.2 89.9 1.2
crude 1.58 0.08 1.30 0.10 72.5 1.7 76.6 2.6 90.9 1.0 92.7 1.2 80.6 1.0 83.9 1.3
trade 1.99 0.11 1.42 0.10 60.4 2.1 70.0 2.4 83.5 1.3 89.0 1.5 70.0 1.7 78.3 1.6
interest 2.20 0.18 1.67 0.20 54.0 5.2 63.8 4.3 80.2 2.9 87.2 2.8 64.5 4.4 73.6 3.4
ship 1.23 0.10 0.96 0.13 47.5 5.6 61.2 3.9 93.3 1.9 93.8 2.5 62.7 5.0 74.0 2.9
wheat 0.91 0.07 0.65 0.08 62.8 1.8 71.1 2.3 95.0 1.5 97.8 1.0 75.6 1.2 82.3 1.4
corn 0.90 0.05 0.71 0.06 52.4 4.1 61.8 1.7 97.3 1.8 99.1 0.6 68.1 3.6 76.1 1.3""",
        2: """\
earn 6.79 0.21 1.87 0.15 84.4 0.4 94.8 0.5 92.7 0.5 99.1 0.1 88.3 0.4 96.9 0.2
acq 12.99 0.28 2.53 0.20 59.3 1.4 92.5 0.5 66.0 1.2 93.6 0.7 62.5 1.2 93.1 0.4
money-fx 5.38 0.22 1.92 0.14 38.4 2.0 73.6 2.4 52.1 1.8 89.8 1.9 44.2 1.8 80.9 1.4
grain 3.20 0.19 0.82 0.11 48.1 2.0 82.7 2.1 72.8 1.8 98.5 0.5 57.9 2.0 89.9 1.2
crude 3.69 0.20 1.30 0.10 45.3 2.1 76.6 2.6 62.8 2.4 92.7 1.2 52.6 2.1 83.9 1.3
trade 3.80 0.15 1.42 0.10 34.7 1.8 70.0 2.4 51.2 2.2 89.0 1.5 41.4 1.9 78.3 1.6
interest 4.19 0.26 1.67 0.20 27.5 4.2 63.8 4.3 40.8 5.0 87.2 2.8 32.8 4.6 73.6 3.4
ship 2.21 0.08 0.96 0.13 18.2 2.6 61.2 3.9 49.4 5.2 93.8 2.5 26.6 3.5 74.0 2.9
wheat 1.79 0.14 0.65 0.08 43.2 1.8 71.1 2.3 65.8 2.7 97.8 1.0 52.2 1.9 82.3 1.4
corn 1.72 0.12 0.71 0.06 28.1 2.1 61.8 1.7 57.1 3.2 99.1 0.6 37.6 2.2 76.1 1.3""",
    },
)

WEBKB = Collection(
    table=2,
    title="WebKB",
    about=(
        "four classes of university web pages, all {n:,} pages but those that only say that the page has "
        "moved (the paper kept 4,183)"
    ),
    sizes=(64, 194, 645),
    drawn=("course", "faculty", "project", "student"),
    optimistic=None,
    rows={
        1: """\
course 3.48 0.30 2.43 0.34 85.9 1.2 90.7 1.2 98.0 0.3 98.0 0.5 91.6 0.7 94.2 0.8
faculty 13.40 0.64 9.80 0.33 55.7 2.2 69.2 1.0 90.5 1.2 92.2 1.3 68.9 1.8 79.0 0.7
project 9.56 0.46 7.75 0.34 22.4 3.6 37.0 3.1 91.3 2.5 95.9 1.2 35.9 4.8 53.3 3.1
student 10.14 0.59 7.64 0.36 82.3 0.9 87.0 0.4 90.9 0.7 93.0 0.6 86.4 0.8 89.9 0.4""",
        2: """\
course 11.93 0.47 2.43 0.34 60.0 1.8 90.7 1.2 81.0 1.2 98.0 0.5 68.9 1.4 94.2 0.8
faculty 31.98 0.78 9.80 0.33 23.8 1.7 69.2 1.0 35.3 2.2 92.2 1.3 28.4 1.9 79.0 0.7
project 14.80 0.23 7.75 0.34 2.3 0.9 37.0 3.1 8.2 3.0 95.9 1.2 3.6 1.4 53.3 3.1
student 32.42 0.50 7.64 0.36 52.5 1.1 87.0 0.4 59.8 0.6 93.0 0.6 55.9 0.8 89.9 0.4""",
    },
)

OHSUMED = Collection(
    table=3,
    title="Ohsumed",
    about=(
        "five categories of medical abstracts, in the single-label subset of the collection, the {n:,} "
        "abstracts with exactly one of the 23 disease categories (the paper: the first 20,000 abstracts of "
        "1991, of several categories or none, halves of 10,000; its numbers are of another task)"
    ),
    sizes=(64, 194, 645, 1935),
    drawn=tuple(OHSUMED_CATEGORIES),
    optimistic=None,
    rows={
        1: """\
Pathology 20.96 0.22 18.56 0.36 18.9 1.2 25.8 1.3 67.0 1.0 81.2 2.1 29.5 1.6 39.1 1.4
Cardiovascular 8.73 0.24 7.13 0.15 55.3 1.5 64.0 0.8 84.0 1.0 88.0 0.8 66.7 1.3 74.1 0.7
Neoplasm 6.51 0.15 5.42 0.14 60.7 1.0 67.3 0.8 94.0 0.4 95.2 0.6 73.8 0.7 78.8 0.6
Nervous System 8.41 0.21 7.31 0.15 29.0 2.3 38.3 1.3 82.0 1.1 89.6 1.5 42.8 2.5 53.6 1.2
Immunologic 6.04 0.19 5.28 0.22 37.5 1.1 45.4 1.2 86.8 1.2 90.8 1.0 52.3 1.1 60.5 1.0""",
        2: """\
Pathology 33.33 0.50 18.56 0.36 7.4 0.6 25.8 1.3 12.6 0.9 81.2 2.1 9.3 0.7 39.1 1.4
Cardiovascular 15.41 0.25 7.13 0.15 34.9 1.1 64.0 0.8 51.8 1.1 88.0 0.8 41.7 1.1 74.1 0.7
Neoplasm 11.77 0.21 5.42 0.14 42.4 1.0 67.3 0.8 67.6 1.0 95.2 0.6 52.1 0.9 78.8 0.6
Nervous System 13.22 0.19 7.31 0.15 11.2 1.0 38.3 1.3 25.4 1.8 89.6 1.5 15.5 1.3 53.6 1.2
Immunologic 9.37 0.29 5.28 0.22 19.8 1.1 45.4 1.2 43.6 1.6 90.8 1.0 27.3 1.3 60.5 1.0""",
    },
)

COLLECTIONS = {"reuters": REUTERS, "webkb": WEBKB, "ohsumed": OHSUMED}
