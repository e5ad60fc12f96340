"""The command line: the library makes the numbers, here they are shown."""

from anmin.cli.app import app
from anmin.cli.commands import demo, export, predict, report
from anmin.cli.fit_command import HELP, fit
from anmin.cli.shape_command import shape

__all__ = ["app"]

app.command(help=HELP)(fit)
for command in (predict, report, export, shape, demo):  # in this order in the help
    app.command()(command)
