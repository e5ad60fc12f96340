"""A report on a fitted model as one HTML file that needs nothing else.

It shows the errors, the most important inputs, residuals, partial dependence, the training curve,
the choice of the penalty, the convergence report and what a prediction costs. Needs matplotlib.
"""

from anmin.html.page import Rows, Subject, report_page

__all__ = ["Rows", "Subject", "report_page"]
