"""The command line: the library makes the numbers, here they are shown.

Importing the commands registers them with the application.
"""

from anmin.cli import commands, fit_command, report_command
from anmin.cli.app import app

__all__ = ["app", "commands", "fit_command", "report_command"]
