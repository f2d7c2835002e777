"""Check that there is enough memory before a large array is made."""

from __future__ import annotations

import os
from pathlib import Path

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
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            used = int(Path("/sys/fs/cgroup/memory.current").read_text())
            readings.append(max(0, int(limit) - used))
    except OSError:
        # Not Linux, or no control groups: the readings so far remain.
        pass
    left = _left_to_process()
    if left is not None:
        readings.append(left)
    if not readings and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        readings.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(readings) if readings else None


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
