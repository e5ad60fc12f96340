"""What is published: a wheel and an sdist that are whole, and work where nothing else is."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from datetime import date
from email.parser import Parser
from pathlib import Path

import pytest

import anmin

ROOT = Path(__file__).parents[2]
if not (ROOT / "pyproject.toml").is_file():
    pytest.skip("there is nothing to build: tests outside a checkout", allow_module_level=True)
build = pytest.importorskip("hatchling.build", reason="building needs hatchling")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NEEDED = (
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "README.md", "SECURITY.md",
    "constraints-oldest.txt", "constraints.txt",
)  # fmt: skip
NAME = f"anmin-{anmin.__version__}"


def made(kind, source, folder):
    """The file that hatchling builds from a source tree."""
    before = Path.cwd()
    os.chdir(source)
    try:
        return folder / getattr(build, f"build_{kind}")(str(folder))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return made("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    """The tree that the sdist holds."""
    folder = tmp_path_factory.mktemp("tree")
    with tarfile.open(sdist) as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        file.extractall(folder)
    return folder / NAME


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel, built from the sdist as an installer would."""
    return made("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment that holds the wheel, and sees the libraries of this one."""
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    command = [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, env=clean_environment())
    site = next(folder.rglob("site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


def clean_environment():
    """Without what would lead to the checkout."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV"))}


def out(python, *words, folder):
    """What a command prints, run by an environment in a folder of its own."""
    command = [str(python), *words]
    env = clean_environment()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def sources(folder):
    """Files of the package, relative to its folder."""
    modules = {p.relative_to(folder).as_posix() for p in folder.rglob("*.py")}
    return modules | {"py.typed", "cli/page.html", "shapes/shape.html"}


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("anmin/") for name in names if name.startswith("anmin/")}
    assert package == sources(ROOT / "src" / "anmin")
    assert {name.split("/")[0] for name in names} == {"anmin", f"{NAME}.dist-info"}


def test_the_wheel_says_what_it_needs(wheel):
    text = zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/METADATA").decode()
    facts = Parser().parsestr(text)
    assert (facts["Name"], facts["Version"]) == ("anmin", anmin.__version__)
    assert facts["License-Expression"] == "MIT"
    assert facts["Requires-Python"] == PROJECT["project"]["requires-python"]
    needed = {re.split(r"[<>=!; \[]", line)[0] for line in facts.get_all("Requires-Dist")}
    assert {"numpy", "scipy", "scikit-learn"} <= needed
    assert set(facts.get_all("Provides-Extra")) == set(PROJECT["project"]["optional-dependencies"])


def test_the_metadata_can_be_published(wheel, sdist):
    text = zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/METADATA").decode()
    facts = Parser().parsestr(text)
    with tarfile.open(sdist) as file:
        member = file.extractfile(f"{NAME}/PKG-INFO")
        assert member is not None
        assert member.read().decode() == text  # the two say the same
    assert facts["Summary"]
    assert "\n" not in facts["Summary"]
    assert facts["Description-Content-Type"] == "text/markdown"
    assert facts.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    known = pytest.importorskip("trove_classifiers").classifiers
    assert set(facts.get_all("Classifier")) <= known


def test_every_file_that_names_the_version_names_this_one():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [anmin.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, day = re.findall(r"^## \[(.+)\] - (.+)$", changes, re.MULTILINE)[0]
    assert newest == anmin.__version__
    assert day == "unreleased" or date.fromisoformat(day)


def test_the_sdist_holds_what_the_tests_and_the_docs_need(unpacked):
    assert sources(unpacked / "src" / "anmin") == sources(ROOT / "src" / "anmin")
    for name in ("tests", "docs", "examples", "benchmarks"):
        assert {p.name for p in (unpacked / name).glob("*.py")} == {
            p.name for p in (ROOT / name).glob("*.py")
        }
    for name in NEEDED:
        assert (unpacked / name).is_file()
    assert not list(unpacked.rglob("*.pyc"))
    assert not (unpacked / "docs" / "gallery").exists()


def test_no_data_and_no_large_file_is_published(unpacked):
    for path in unpacked.rglob("*"):
        assert path.suffix not in (".npz", ".parquet"), path
        assert path.is_dir() or path.stat().st_size < 2**20, path


@pytest.mark.slow
def test_the_installed_wheel_works(installed, tmp_path):
    program = "import anmin; print(anmin.__file__); print(anmin.__version__)"
    where, version = out(installed, "-c", program, folder=tmp_path).splitlines()
    assert version == anmin.__version__
    assert Path(where).is_relative_to(installed.parents[1])
    assert (Path(where).parent / "py.typed").is_file()
    fit = "from anmin import *; print(ANMINRegressor(2).fit([[0], [1], [2]], [0, 1, 2]).n_outputs_)"
    assert out(installed, "-c", fit, folder=tmp_path) == "1"


@pytest.mark.slow
def test_the_installed_commands_work(installed, tmp_path):
    for needed in ("typer", "rich", "matplotlib", "pandas"):
        pytest.importorskip(needed)
    assert out(installed, "-m", "anmin", "--version", folder=tmp_path).split()[0] == "anmin"
    command = installed.parent / "anmin"
    assert "fit" in out(command, "--help", folder=tmp_path)


def test_the_oldest_versions_are_those_that_are_asked_for():
    text = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", text, re.MULTILINE))
    asked = dict(line.split(">=") for line in PROJECT["project"]["dependencies"])
    assert pinned | asked == pinned
