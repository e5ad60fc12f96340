"""A look at a fitted network: the convergence report, in numbers and in words."""

from anmin.inspect.report import Report, report_on

__all__ = ["Report", "report_on"]
