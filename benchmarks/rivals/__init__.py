"""One file a rival: functions (split, budget) -> Fit. PyTorch is imported here only."""
