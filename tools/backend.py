"""How the package is built: by meson-python, with what is missing brought along.

* README.md and the addresses of the project become its metadata: ``addresses.py``.
* Where no C compiler is found, the one in the package ziglang compiles the loops.
* An editable install compiles at import what has changed. pip removes the environment that it builds in, so
  that the tools are in one of their own that stays, in ``build/``.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

import addresses
import mesonpy
from mesonpy import build_sdist, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]


class Metadata(mesonpy.Metadata):
    """The metadata in ``pyproject.toml``, and what it calls dynamic."""

    @classmethod
    def from_pyproject(cls, data, project_dir=".", *more):
        """Fill in the description and the addresses: as dynamic fields, meson-python would refuse them."""
        return super().from_pyproject(addresses.filled_in(data, project_dir), project_dir, *more)


mesonpy.Metadata = Metadata


def _has_compiler():
    """Whether there is a C compiler that meson would find."""
    if "CC" in os.environ or any(map(shutil.which, ("cc", "gcc", "clang", "clang-cl", "cl"))):
        return True
    # Visual Studio is not on PATH: it has a program that finds it.
    programs = os.environ.get("PROGRAMFILES(X86)", "")
    vswhere = Path(programs, "Microsoft Visual Studio", "Installer", "vswhere.exe")
    if os.name != "nt" or not vswhere.is_file():
        return False
    compiler = "Microsoft.VisualStudio.Component.VC.Tools.x86.x64"
    command = [vswhere, "-latest", "-products", "*", "-requires", compiler, "-property", "installationPath"]
    return bool(subprocess.run(command, capture_output=True, check=False).stdout.strip())


def _with_compiler(settings, python, folder):
    """Settings that make zig the compiler if there is no other: a file in ``folder`` tells meson so."""
    settings = dict(settings or {})
    if _has_compiler():
        return settings
    print(
        "bayes-svm: there is no C compiler (cc, gcc, clang, cl), and the environment variable CC names none. "
        "The one in the package ziglang compiles the loops, which takes a few minutes.",
        file=sys.stderr,
        flush=True,
    )
    file, zig = Path(folder, "zig.ini"), f"'{Path(python).as_posix()}', '-m', 'ziglang'"
    file.write_text(f"[binaries]\nc = [{zig}, 'cc']\nar = [{zig}, 'ar']\n", encoding="utf-8")
    given = settings.get("setup-args", [])
    settings["setup-args"] = [*([given] if isinstance(given, str) else given), f"--native-file={file}"]
    return settings


def get_requires_for_build_wheel(config_settings=None):
    """What meson-python asks for, and a compiler if there is none."""
    needed = mesonpy.get_requires_for_build_wheel(config_settings)
    return needed if _has_compiler() else [*needed, "ziglang"]


def get_requires_for_build_editable(config_settings=None):
    """Nothing: the tools of an editable install are in an environment of their own."""
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        settings = _with_compiler(config_settings, sys.executable, folder)
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", folder)
        return mesonpy.build_wheel(wheel_directory, settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the wheel of an editable install, by tools that stay where they are."""
    tools = Path("build", f"tools-{sys.implementation.cache_tag}").absolute()
    programs = tools / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    requires = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    requires += ["ninja", *([] if _has_compiler() else ["ziglang"])]
    # PYTHONPATH is how pip shows its own environment, which will be gone.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["MESON"] = str(programs / "meson")
    venv.create(tools, with_pip=True)
    # At import nothing puts these programs on PATH but they themselves.
    Path(sysconfig.get_path("purelib", "venv", {"base": str(tools)}), "programs.pth").write_text(
        "import os, sys; "
        "os.environ['PATH'] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get('PATH', '')\n",
        encoding="utf-8",
    )
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requires], env=environment, check=True)
    settings = _with_compiler(config_settings, python, tools)
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import backend, mesonpy; "
        "mesonpy.build_editable(sys.argv[2], json.loads(sys.argv[3]))"
    )
    with tempfile.TemporaryDirectory(dir=wheel_directory) as folder:
        command = [python, "-c", code, str(Path(__file__).parent), folder, json.dumps(settings)]
        subprocess.run(command, env=environment, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return wheel.rename(Path(wheel_directory, wheel.name)).name
