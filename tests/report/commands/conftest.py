import numpy as np
import pytest

from bayes_svm.report.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(here):
    """Return a function that writes a table of any number of classes, and new rows without classes."""

    def write(n_classes=2, names=("fit", "ill", "worn"), missing=False):
        random = np.random.default_rng(2)
        lines = ["who,size,width,colour,kind"]
        for k in range(30 * n_classes):
            c = k % n_classes
            size = "" if missing and k == 4 else f"{1.5 * c + random.normal():.3f}"
            colour = "red" if random.random() < 0.5 else "blue"
            lines.append(f"p{k:03d},{size},{random.normal():.3f},{colour},{names[c]}")
        (here / "data.csv").write_text("\n".join(lines) + "\n")
        new = ["who,size,width,colour", "n1,-1,0,red", "n2,3,0.5,blue", "n3,,0,red", "n4,0.7,0,green"]
        (here / "new.csv").write_text("\n".join([*new, "n5,900,0,red"]) + "\n")

    return write


@pytest.fixture
def model(table, capsys):
    """Return a function that saves the model of a table."""

    def save(*options, n_classes=2, **more):
        table(n_classes, **more)
        assert main(["fit", "data.csv", "--target", "kind", "--save", "m.skops", "--quick", *options]) == 0
        return capsys.readouterr()

    return save


@pytest.fixture
def refused(capsys):
    """Return a function that runs a command that must fail with one line, and returns that line."""

    def run(*argv):
        assert main(list(argv)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("bayes-svm: ")
        assert err.count("\n") == 1
        return err

    return run
