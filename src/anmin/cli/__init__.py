"""The command line: facts come from the library, here they are shown. One file a command."""

from anmin.cli import demo, export, fit, predict, report
from anmin.cli.app import app

__all__ = ["app", "demo", "export", "fit", "predict", "report"]
