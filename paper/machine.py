"""The machine that an experiment ran on, in words."""

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


@cache
def describe_machine(device: str = "cpu") -> str:
    """Processor, cores and memory; the name of the GPU where that did the work.

    >>> describe_machine() != ""
    True
    """
    words = f"{processor()}, {os.cpu_count()} cores{memory()}, {platform.system()}"
    if device.startswith("cuda"):
        import torch

        words += f", {torch.cuda.get_device_name(device)}"
    return words


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    known = Path("/proc/cpuinfo")
    if known.is_file():
        for line in known.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def memory() -> str:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return ""
    return f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def describe_software() -> str:
    """Python and the libraries that do the arithmetic.

    >>> describe_software().startswith("Python 3")
    True
    """
    parts = [f"Python {platform.python_version()}", f"anmin {version_of('anmin')}"]
    parts += [f"{name} {found}" for name in LIBRARIES if (found := version_of(name))]
    return ", ".join(part for part in parts if not part.endswith(" "))


def version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
