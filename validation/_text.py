"""Text collections as labelled documents."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

REUTERS_TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")


def read_documents(data: str, name: str) -> list[dict]:
    """The documents of ``text/NAME.jsonl.gz``, in the order of the file."""
    with gzip.open(Path(data) / "text" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def texts_of(documents: list[dict]) -> list[str]:
    return [f"{document['title']} {document['text']}" for document in documents]
