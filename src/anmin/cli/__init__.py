"""The command line: facts come from the library, here they are shown. One file a command."""

from anmin.cli import data, demo, export, fit, predict, report, reproduce
from anmin.cli.app import app

__all__ = ["app", "data", "demo", "export", "fit", "predict", "report", "reproduce"]
