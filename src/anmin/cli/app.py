"""The command line itself: what all commands share.

Standard output holds the result, standard error the progress and the complaints. The exit code is
0 when all went well, 2 when what was asked cannot be done (wrong option, unusable file), 1 when it
failed on the way (disk full, no memory), and 130 after Ctrl-C.
"""

import errno
import json
import os
import secrets
import shlex
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

HIGHEST_SEED = 2**32 - 1  # that NumPy takes


class InputError(Exception):
    """What the user gave cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong, and the words on the command line that would get round it."""

    what: str
    remedy: tuple[str, ...] = ()


class TableError(Exception):
    """All that is wrong with a table at once."""

    def __init__(self, name: str, found: Iterable[Flaw]) -> None:
        super().__init__(name)
        self.name, self.found = name, tuple(found)

    def message(self, words: Sequence[str]) -> str:
        """One sentence for one problem, a list for many; and a command that would work."""
        lines = [problem.what for problem in self.found]
        if all(problem.remedy for problem in self.found):
            remedies = dict.fromkeys(pair for p in self.found for pair in pairs(p.remedy))
            command = shlex.join(["anmin", *words, *(word for pair in remedies for word in pair)])
            lines.append(f"this would work: {command}")
        if len(self.found) == 1:
            return f"{self.name}: {'; '.join(lines)}"
        return "\n  ".join([f"{self.name} has {len(self.found)} problems", *lines])


def pairs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Options with their values."""
    return (tuple(words[i : i + 2]) for i in range(0, len(words), 2))


class Commands(TyperGroup):
    """Commands whose errors are a few words, without a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            code, message = 2, " ".join(str(error).split("\n"))
        except TableError as error:
            code, message = 2, error.message(ctx.obj)
        except KeyboardInterrupt:
            code, message = 130, "stopped; nothing was written"
        except MemoryError:
            code, message = 1, "out of memory; use fewer rows or columns, or a larger machine"
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has seen enough
                raise
            code, message = 1, " ".join(str(error).split("\n"))
        say(("error: ", "bold red"), message)
        raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

column = partial(typer.Option, rich_help_panel="Columns")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
SeedOption = Annotated[int, typer.Option(help="Seed of every start.", min=0, max=HIGHEST_SEED)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="File from anmin fit.")]
DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help=".csv, .tsv or .parquet; - for a pipe.")
]


def note(message: str) -> None:
    """Something worth knowing, as one line on standard error."""
    say(("note: ", "yellow"), message)


def say(label: tuple[str, str], message: str) -> None:
    Console(stderr=True).print(Text.assemble(label, message), soft_wrap=True, highlight=False)


def quoted(names: Iterable[object], most: int = 10) -> str:
    """Names for a message, not too many of them.

    >>> quoted(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + rest


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question for a name that is almost one of those known, or nothing.

    >>> did_you_mean("pice", ["price", "area"])
    "; did you mean 'price'?"
    """
    known = {each.casefold(): each for each in names}
    close = get_close_matches(name.casefold(), known, n=1)
    return f"; did you mean {known[close[0]]!r}?" if close else ""


def plain_console() -> Console:
    """Standard output, where names are shown as they are written: no markup, no emoji."""
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def print_json(facts: dict[str, Any]) -> None:
    """Facts on standard output; JSON has no NaN, so it is null."""
    finite = json.loads(json.dumps(facts), parse_constant=lambda _: None)
    typer.echo(json.dumps(finite, indent=2, ensure_ascii=False))


def check_output(
    path: Path, formats: tuple[str, ...] = (), inputs: tuple[Path, ...] = (), own: str = ""
) -> None:  # fmt: skip
    """Refuse an output that cannot be written, before the work and not after it.

    What is there already may be written over if it is of one's `own` kind.
    """
    target = Path(os.path.realpath(path))  # a link is followed
    try:
        if formats and path.suffix.lower() not in formats:
            complaint = f"must end in {' or '.join(formats)}"
        elif target.is_dir():
            complaint = "is a folder; name a file in it"
        elif not target.parent.is_dir():
            complaint = f"cannot be written: there is no folder {path.parent}"
        elif path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
            complaint = 'needs pyarrow: pip install "anmin[parquet]"'
        elif any(target.exists() and given.exists() and target.samefile(given) for given in inputs):
            complaint = "is also the input; choose another name"
        elif own and target.is_file() and path.suffix.lower() != own:
            complaint = f"is there already and is no {own} file; name another"
        else:
            return try_writing(target)
    except OSError as error:
        complaint = f"cannot be written: {error.strerror}; choose another place"
    raise InputError(f"the output {path} {complaint}")


def try_writing(target: Path) -> None:
    """Do what writing will do, with an empty file of another name; an OSError says why not."""
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "it is not yours to write")
        if not stat.S_ISREG(mode):
            return  # a device or a pipe
    trial = target.with_name(f".{secrets.token_hex(8)}.tmp")
    os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    trial.unlink()


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Within the block the first Ctrl-C raises KeyboardInterrupt, and the list says that it came.

    For work that has something to save or to clear away. The second Ctrl-C is as outside.
    """
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)
        signal.signal(signal.SIGINT, before)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from anmin import __version__

        typer.echo(f"anmin {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Two-layer ReLU networks trained by solving linear systems.

    [bold]Examples[/bold]

      anmin fit train.csv --target price -o m.anmin

      anmin predict m.anmin new.csv -o prices.csv

      anmin report m.anmin --data test.csv -o report.html

      anmin export m.anmin --to c -o model.c

      anmin shape spot.obj -o spot.html

      anmin demo                       fit a shape, write anmin-demo.png

    Exit codes: 0 fine, 2 wrong usage or input, 1 failure, 130 after Ctrl-C.
    """
