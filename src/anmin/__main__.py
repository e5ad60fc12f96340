"""The command `anmin`, also as `python -m anmin`."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line; where its libraries are missing, say how to get them."""
    needed = ("typer", "rich", "matplotlib", "pandas")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        sys.exit(f'The command line needs {", ".join(missing)}: pip install "anmin[cli]"')
    from anmin.cli import app

    app(prog_name="anmin")


if __name__ == "__main__":
    main()
