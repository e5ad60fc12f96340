"""The convergence report: what a fit came to, in numbers and in words."""

from anmin.report.facts import Report
from anmin.report.making import report_on

__all__ = ["Report", "report_on"]
