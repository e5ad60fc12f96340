"""Looking at a fitted network: its report, its audit, its intervals."""

from anmin.inspect.report import Report, report_on

__all__ = ["Report", "report_on"]
