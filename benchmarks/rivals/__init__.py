"""One file a rival: functions (split, budget) -> Fit, also for the reproduction of the paper.

PyTorch is imported here only.
"""

SGD_RATES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # that are tried
