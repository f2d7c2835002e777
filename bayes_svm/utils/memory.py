"""Check that there is enough memory before a large array is made."""

from __future__ import annotations

import os
from pathlib import Path

# Control groups, version 2 and version 1: a folder; the files of the limit and of what is used; the name of
# the files that the system would drop from its cache.
CONTROL_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
    ),
)  # fmt: skip
# Up to this many bytes the system is not asked.
ALWAYS_THERE = 2**26


def available_bytes() -> int | None:
    """Bytes that this process may still take, or None if the system does not say.

    It is the smallest of the machine's free memory and what is left of the limits of a container and of the
    process.
    """
    readings = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                readings.append(int(line.split()[1]) * 1024)
    except OSError:
        # Not Linux: the readings so far remain.
        pass
    readings += [left for left in (_left_to_container(), _left_to_process()) if left is not None]
    if not readings and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        readings.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(readings) if readings else None


def _left_to_container() -> int | None:
    """What is left of the limit of a control group, files in the cache not counted; None without a limit."""
    for folder, most, now, cached in CONTROL_GROUPS:
        try:
            limit, used = (Path(folder, name).read_text().strip() for name in (most, now))
            counts = dict(line.split() for line in Path(folder, "memory.stat").read_text().splitlines())
        except OSError:
            continue
        if limit != "max":
            return max(0, int(limit) - int(used) + int(counts.get(cached, 0)))
    return None


def _left_to_process() -> int | None:
    """What is left of the limit that ``ulimit -v`` sets; None if there is none or the system does not say."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0, limit - pages * resource.getpagesize())
    except (ImportError, OSError):
        # Windows has no such limit, and macOS no such file.
        return None


def require_bytes(needed: int, purpose: str, advice: str) -> None:
    """Raise MemoryError if more bytes are needed than available.

    Parameters
    ----------
    needed : int
        Number of bytes needed.
    purpose : str
        What they are for: the subject of the message.
    advice : str
        What the user can do: a sentence at the end of the message.

    Raises
    ------
    MemoryError
        If ``needed`` exceeds :func:`available_bytes`.
    """
    if needed <= ALWAYS_THERE:
        return
    available = available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} needs {needed:,} bytes ({needed / 2**30:.1f} GiB), and "
            f"{available:,} bytes ({available / 2**30:.1f} GiB) are available. {advice}"
        )
