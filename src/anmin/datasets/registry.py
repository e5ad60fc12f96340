"""The data sets of the paper: what they hold, where they are public, how to know them again."""

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
    notes: str

    @property
    def size(self) -> int:
        """Bytes of the download."""
        return sum(file.size for file in self.files)

    @property
    def description(self) -> str:
        """What the set is, in a few lines of text: the DESCR of its loader.

        >>> print(DATASETS["sdf"].description.splitlines()[0])
        Signed distance field of a horse's silhouette
        """
        shape = f"{self.rows:,} rows, {self.inputs} inputs, {self.outputs} output(s)"
        source = f"Origin: {self.origin} ({self.page})\nLicence: {self.licence}"
        return f"{self.title}\n\n{shape}.\n{self.notes}\n\n{source}\n"


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
        notes="The column sex is left out, as in the paper. The target is the number of rings;\n"
        "the age in years is about 1.5 more.",
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
        notes="The column casual stays an input, as in the paper, although casual + registered\n"
        "is the target: good for comparison with the paper, not for forecasting.",
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
        notes="Inputs are row and column of a pixel, the target its distance to the outline in\n"
        "pixels, negative inside; target.reshape(image_shape) is the picture.",
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
        notes="Targets are patches of 15 × 15 pixels at every third row and column; inputs are\n"
        "the same with Gaussian noise of deviation 10 (the paper's text), or without it\n"
        "(noisy=False, the author's notebook).",
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
        notes="The paper splits the rows at random, four fifths to train, as for its other sets.\n"
        "UCI asks for another split that keeps artists apart: the first 463,715 rows to train,\n"
        "the last 51,630 to test.",
    ),
)
DATASETS = {dataset.name: dataset for dataset in _ALL}
