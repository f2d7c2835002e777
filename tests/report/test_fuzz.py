"""Two hundred runs of the command on awkward tables and options: each ends with 0, or with one line and 2."""

import csv
import gzip
import io

import numpy as np
import pytest

from bayes_svm.report.cli import main

pytest.importorskip("pandas")
pytest.importorskip("skops.io", reason="skops is not installed")

CELLS = {
    "floats": lambda r: f"{r.normal():.3f}",
    "commas": lambda r: f"{r.normal():.2f}".replace(".", ","),
    "thousands": lambda r: f"{r.integers(1, 9)},{r.integers(100, 999)}",
    "ints": lambda r: str(r.integers(-3, 30)),
    "constant": lambda r: "7",
    "dates": lambda r: f"{r.integers(1, 29):02d}.{r.integers(1, 13):02d}.2021",
    "unclear dates": lambda r: f"{r.integers(1, 12):02d}/{r.integers(1, 12):02d}/2021",
    "texts": lambda r: str(r.choice(["red", "Red ", "=1+1", "<b>", "ö", "a;b", 'say ""x""', ""])),
    "markers": lambda r: str(r.choice(["1", "2.5", "?", "NA", "-999", "<0.1", "5 %"])),
    "huge": lambda r: str(r.choice(["1e308", "-1e308", "1e-320", "0", "inf", "nan"])),
    "names": lambda r: f"p{r.integers(10**6)}",
    "quoted": lambda r: "two\nlines, one cell",
    "unprintable": lambda r: str(r.choice(["\u202e", "\u200b", "\x85", "\x7f", "x" * 300])),
    "empty": lambda r: "",
}
LABELS = (
    ["a", "b"], ["0", "1"], ["yes", "Yes ", "no"], ["=x", "@y", "-z"], ["a", "b", "c", "d"], ["a"],
    ["0.5", "1.5", "2.5"], ["a", "b", ""], ["<i>", '"q"', "\x9b1m"], ["True", "False"],
)  # fmt: skip
MODEL = (
    [], [], [], ["--kernel", "sigmoid"], ["--kernel", "linear"], ["--gamma", "1e-300"], ["--id", "x0"],
    ["--kernel", "poly", "--gamma", "1e30"], ["--class-weight", "balanced"], ["--C", "1e-300"],
    ["--groups", "x0"], ["--weights", "x0"], ["--positive", "a"], ["--C", "1e308"], ["--C", "1e-308"],
    ["--C", "nan"], ["--class-weight", "a=5"], ["--class-weight", "a=1e308,b=1e-308"],
)  # fmt: skip
READING = (
    ["--sep", ";"], ["--sep", "tab"], ["--sep", "ab"], ["--decimal", ","],
    ["--encoding", "utf-16"], ["--encoding", "latin-1"], ["--encoding", "hex"], ["--missing", "1"],
    ["--missing", "red"], ["--sep", "space"],
)  # fmt: skip
COLUMNS = (
    ["--drop", "x0"], ["--only", "x1"], ["--keep", "x0,x1"], ["--only", "nothing"], ["--drop", "y"],
)  # fmt: skip
AIMS = ([], ["--recall", "0.9"], ["--precision", "0.8"], ["--cost", "fp=1,fn=9"], ["--max-risk", "0.3"])
BYTES = (b"\0", b'"', b"\n", b"\xff", b",", b"\x1a", b"\r", b"=", b"\x80")


def pick(r, choices):
    return list(choices)[r.integers(len(choices))]


def rarely(r, one, other):
    """One of two choices, mostly the first."""
    return one if r.random() < 0.95 else other


def table(r, columns):
    """The bytes of a table, and sometimes of a damaged one."""
    n, sep, labels = (
        int(r.integers(6, 17)),
        pick(r, ",,,;\t|"),
        rarely(r, pick(r, LABELS[:5]), pick(r, LABELS)),
    )
    kinds = [CELLS[pick(r, CELLS)] for _ in columns]
    rows = [[*columns, "y"]]
    for k in range(n):
        rows.append([*(kind(r) for kind in kinds), rarely(r, labels[k % len(labels)], pick(r, labels))])
    text = io.StringIO()
    if r.random() < 0.9:
        csv.writer(text, delimiter=sep, lineterminator=pick(r, ["\n", "\r\n"])).writerows(rows)
    else:
        text.write("\n".join(sep.join(row) for row in rows))
    raw = text.getvalue().encode(pick(r, ["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]), "replace")
    damage, place = r.integers(15), int(r.integers(len(raw)))
    if damage == 0:
        return raw[:place]
    if damage == 1:
        return raw[:place] + pick(r, BYTES) + raw[place:]
    if damage == 2:
        return gzip.compress(raw)[: rarely(r, None, -1)]
    return raw


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The bytes of a model with a column of numbers and one of texts."""
    folder = tmp_path_factory.mktemp("fuzz")
    r = np.random.default_rng(0)
    rows = "".join(
        f"{k % 2 + r.normal():.2f},{'red' if k % 3 else 'blue'},{'ab'[k % 2]}\n" for k in range(24)
    )
    (folder / "t.csv").write_text("x0,x1,y\n" + rows)
    words = f"fit {folder}/t.csv --target y --quick --max-risk 0.4 --save {folder}/m --output {folder}/r.json"
    assert main(words.split()) == 0
    return (folder / "m").read_bytes()


def arguments(r):
    """A command with options, some of them wrong."""
    command = pick(r, ["loo", "loo", "report", "fit", "predict", "explain"])
    words = [
        command,
        rarely(r, "t.csv", "no.csv"),
        *rarely(r, pick(r, ([], ["--impute"], ["--impute"])), pick(r, READING)),
    ]
    if command in ("predict", "explain"):
        words = [word for word in words if word != "--impute"]
        words += ["--model", rarely(r, "m.skops", "t.csv")]
        return words + (["--row", pick(r, ["1", "2", "3", "4", "99", "x"])] if command == "explain" else [])
    words += [
        "--target",
        rarely(r, "y", "z"),
        *rarely(r, pick(r, MODEL[:11]), pick(r, MODEL)),
        *rarely(r, [], pick(r, COLUMNS)),
    ]
    if command == "loo":
        return words
    words += ["--quick", "--output", "r.json" if r.random() < 0.8 else "r.html", *pick(r, AIMS)]
    return words + (["--save", "saved.skops"] if command == "fit" else [])


@pytest.mark.parametrize("seed", range(200))
def test_every_run_ends_with_0_or_with_one_line(seed, model, tmp_path, monkeypatch, capsys):
    r = np.random.default_rng(seed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(
        table(r, ["x0", "x1", rarely(r, pick(r, ["x2", "", "id", "=2", "<b>"]), "\x1b[1m")])
    )
    (tmp_path / "m.skops").write_bytes(rarely(r, model, model[: r.integers(len(model))]))
    words = arguments(r)
    code = main(words)
    out, err = capsys.readouterr()
    if code == 0:
        assert all(line.startswith("note: ") for line in err.splitlines()), (words, err)
        assert out, words
    else:
        assert code == 2, words
        assert (out, err.count("\n")) == ("", 1), (words, out, err)
        assert err.startswith("bayes-svm: "), (words, err)
        assert len(err) > 30
    assert "\x1b" not in err, words
    assert "\x9b" not in err, words
    assert not list(tmp_path.glob("*.unfinished"))
