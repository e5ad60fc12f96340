"""Looking at a fitted network: its report, its audit, its intervals."""
