"""The command `anmin`, also as `python -m anmin`."""

import os
import signal
import sys
from importlib.util import find_spec


def leave(*_: object) -> None:
    """Ctrl-C where there is nothing to save: one line, also while libraries are being loaded.

    An exception could end up in the middle of an import, which would answer with a traceback.
    """
    show_cursor = b"\r\x1b[K\x1b[?25h" if os.isatty(2) else b""
    os.write(2, show_cursor + b"stopped; nothing was written\n")
    os._exit(130)


def main() -> None:
    """Run the command line; where its libraries are missing, say how to get them."""
    needed = ("typer", "rich", "matplotlib", "pandas")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        sys.exit(f'The command line needs {", ".join(missing)}: pip install "anmin[cli]"')
    before = signal.signal(signal.SIGINT, leave)
    try:
        from anmin.cli import app

        app(prog_name="anmin")
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    main()
