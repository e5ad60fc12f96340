"""The files of the paper: what they hold, where they are public, and how to recognise them."""

from dataclasses import dataclass

AUTHOR = "https://github.com/barbua/ANMIN"
FILES = "https://raw.githubusercontent.com/barbua/ANMIN/main/data"
UCI = "https://archive.ics.uci.edu"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a data set: its name below a folder, its public home, and how to check it."""

    name: str
    url: str
    size: int  # bytes of the download
    columns: int
    sha256: str | None = None  # None: not published; rows and columns are counted instead
    aliases: tuple[str, ...] = ()  # other names that it may have in a user's own folder


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: rows, columns, files, and where they come from.

    >>> DATASETS["abalone"].rows, DATASETS["abalone"].inputs
    (4177, 7)
    """

    name: str
    title: str
    rows: int
    inputs: int
    outputs: int
    files: tuple[File, ...]
    origin: str
    page: str  # where people read about it
    licence: str  # of the copy that is downloaded

    @property
    def size(self) -> int:
        """Bytes of the download."""
        return sum(file.size for file in self.files)


_ALL = (
    Dataset(
        name="abalone",
        title="Age of abalone from measurements of the shell",
        rows=4_177,
        inputs=7,
        outputs=1,
        files=(
            File(
                name="abalone.csv",
                url=f"{FILES}/abalone.csv",
                size=183_519,
                columns=8,
                sha256="c05c9c9294084e7c704cc23b38b8cb273e951d8530a5427ec7be2d60697d0c12",
            ),
        ),
        origin="UCI 1, the author's copy",
        page=f"{UCI}/dataset/1/abalone",
        licence="MIT",
    ),
    Dataset(
        name="bike",
        title="Bicycles hired in each hour of two years",
        rows=17_379,
        inputs=13,
        outputs=1,
        files=(
            File(
                name="bike-sharing_hour.csv",
                url=f"{FILES}/bike-sharing_hour.csv",
                size=872_280,
                columns=15,
                sha256="ba8af1670144a12a3233f6141ce25ae859f2dcaf790ce9b8331111e01acabacf",
            ),
        ),
        origin="UCI 275, the author's copy",
        page=f"{UCI}/dataset/275/bike+sharing+dataset",
        licence="MIT",
    ),
    Dataset(
        name="sdf",
        title="Signed distance field of a horse's silhouette",
        rows=73_080,
        inputs=2,
        outputs=1,
        files=(
            File(
                name="SDF/X.csv",
                url=f"{FILES}/SDF/X.csv",
                size=889_870,
                columns=2,
                sha256="b4e73e90f40a9f08c354596b1d9e07fbb02107ba65d2233a6e44374b826c6cd4",
            ),
            File(
                name="SDF/Y.csv",
                url=f"{FILES}/SDF/Y.csv",
                size=577_876,
                columns=1,
                sha256="28c01cbd221cf94f5539060cba57961534b7ba9394abebf18e2d437d36fc63c8",
            ),
        ),
        origin="the author, from Weizmann horse 001",
        page=AUTHOR,
        licence="MIT",
    ),
    Dataset(
        name="dae",
        title="Denoising auto-encoder: patches of a grey image",
        rows=15_912,
        inputs=225,
        outputs=225,
        files=(
            File(
                name="DAE.csv",
                url=f"{FILES}/DAE.csv",
                size=12_629_278,
                columns=225,
                sha256="fee7636f156db76450b00f64c308e57add5950b717e892e5421dae490d36593d",
            ),
        ),
        origin="the author, from Berkeley image 102061",
        page=AUTHOR,
        licence="MIT",
    ),
    Dataset(
        name="year",
        title="YearPredictionMSD: the year of a song from its timbre",
        rows=515_345,
        inputs=90,
        outputs=1,
        files=(
            File(
                name="yearpredictionmsd.zip",
                url=f"{UCI}/static/public/203/yearpredictionmsd.zip",
                size=211_011_981,
                columns=91,
                aliases=(
                    "YearPredictionMSD.txt.zip",
                    "YearPredictionMSD.txt",
                    "YearPredictionMSD.csv",
                ),
            ),
        ),
        origin="UCI 203, from the Million Song Dataset",
        page=f"{UCI}/dataset/203/yearpredictionmsd",
        licence="see its page",
    ),
)
DATASETS = {dataset.name: dataset for dataset in _ALL}
