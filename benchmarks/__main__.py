"""Run every benchmark once and print its wall time: ``python -m benchmarks [--quick]``."""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Any

import benchmarks

# Number of rows of a quick run, in place of those of the benchmark.
TINY = 60


def classes() -> Iterator[type]:
    """The classes of all benchmark files."""
    for module in iter_modules(benchmarks.__path__, "benchmarks."):
        if not module.name.endswith("__main__"):
            # A list: a warning on the way adds to the names of the module.
            members = list(vars(import_module(module.name)).values())
            yield from (one for one in members if inspect.isclass(one) and one.__module__ == module.name)


def settings(benchmark: type, quick: bool) -> Iterator[tuple[Any, ...]]:
    """Combinations of a class's parameters, the first of which is the number of rows."""
    n_samples, *others = benchmark.params  # type: ignore[attr-defined]
    return product([TINY] if quick else n_samples, *others)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"on {TINY} rows, to see that all of them run")
    quick = parser.parse_args().quick
    for benchmark in classes():
        names = [name for name in vars(benchmark) if name.startswith(("time_", "peakmem_"))]
        for setting, name in product(settings(benchmark, quick), names):
            run = benchmark()
            run.setup(*setting)
            started = time.perf_counter()
            getattr(run, name)(*setting)
            seconds = time.perf_counter() - started
            module = benchmark.__module__.removeprefix("benchmarks.")
            values = ", ".join(map(str, setting))
            print(f"{seconds:9.3f} s  {module}.{benchmark.__name__}.{name}({values})", flush=True)


if __name__ == "__main__":
    main()
