"""The paper's data sets as loaded, against the files themselves."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from anmin.datasets import make_sin, signed_distance
from benchmarks import cases
from paper.data import CASES, DATASETS, DatasetDamagedError, load_rows, locate
from paper.data.reading import check_size, read_table

FILES = ("abalone", "bike", "sdf", "dae", "dae-clean")


@pytest.fixture
def own(paper_data, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(paper_data))
    return paper_data


@pytest.fixture(scope="module")
def first_rows(paper_data):
    path = paper_data / "YearPredictionMSD_first_rows.csv"
    if not path.is_file():
        pytest.skip("ANMIN_DATA does not hold YearPredictionMSD_first_rows.csv")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_set_has_the_size_that_is_published(own, name):
    case, (X, y) = CASES[name], load_rows(name, download_if_missing=False)
    rows = DATASETS[case.files].rows
    assert X.shape == (rows, case.inputs)
    assert y.shape == ((rows,) if case.outputs == 1 else (rows, case.outputs))
    assert locate(case.files).published is True


def test_bike_keeps_casual_and_drops_registered(own):
    X, y = load_rows("bike")
    table = np.loadtxt(own / "bike-sharing_hour.csv", delimiter=",")
    assert_array_equal(X, table[:, :13])
    assert_array_equal(X[:, 12] + table[:, 13], y)  # casual + registered


def test_sdf_is_a_picture(own):
    X, y = load_rows("sdf")
    built_X, built_y = signed_distance((y < 0).reshape(232, 315))
    assert_array_equal(built_X, X)
    np.testing.assert_allclose(built_y, y, atol=6e-4)  # the file has three decimals


@pytest.mark.slow
def test_the_noise_of_dae_is_the_papers_and_is_repeatable(own):
    X, Y = load_rows("dae")
    assert np.std(X - Y) == pytest.approx(10, rel=1e-3)
    assert_array_equal(load_rows("dae")[0], X)
    clean, same = load_rows("dae-clean")
    assert_array_equal(clean, Y)
    assert_array_equal(clean, same)
    assert not np.shares_memory(clean, same)


def test_the_shape_needs_no_file(monkeypatch, tmp_path):
    monkeypatch.delenv("ANMIN_DATA", raising=False)
    monkeypatch.setenv("ANMIN_CACHE", str(tmp_path))
    X, y = load_rows("shape", download_if_missing=False)
    assert X.shape[1] == CASES["shape"].inputs
    assert y.shape == (len(X),)
    assert cases.load("shape", 0, rows=50).X.shape == (40, 2)


def test_year_parses_its_first_rows(first_rows):
    table = read_table(first_rows, 1176, 91)
    assert table[0, :3].tolist() == [2001, 49.94357, 21.47114]
    assert table[-1, -1] == -23.55437
    assert table[:, 0].min() >= 1922
    assert table[:, 0].max() <= 2011
    check_size(first_rows, 1176, 91)


def test_a_table_has_the_shape_that_is_asked_for(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1,2\n3,4\n\n")  # an empty line is no row
    check_size(path, 2, 2)
    assert read_table(path, 2, 2).tolist() == [[1, 2], [3, 4]]
    for read in (check_size, read_table):
        with pytest.raises(DatasetDamagedError, match=r"2 rows of 2 columns; .* has 3 of 2"):
            read(path, 3, 2)


def test_the_first_rows_are_not_the_year_set(first_rows, monkeypatch, tmp_path):
    shutil.copyfile(first_rows, tmp_path / "YearPredictionMSD.txt")
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path))
    with pytest.raises(DatasetDamagedError, match=r"has 1,176 rows .* has 515,345 of 91"):
        load_rows("year")


def test_a_file_called_first_rows_is_not_taken_for_the_set(own, first_rows, monkeypatch, tmp_path):
    monkeypatch.setenv("ANMIN_CACHE", str(tmp_path))
    if not any((own / n).exists() for n in ("yearpredictionmsd.zip", "YearPredictionMSD.txt")):
        assert locate("year").state == "not fetched"


@pytest.mark.parametrize("case", ["sin-n100-d1", "sin-n50-d10"])
def test_sin_is_the_benchmarks(case):
    split = cases.load(case, 3)
    X, y = make_sin(2 * len(split.X), split.X.shape[1], random_state=3)
    assert_array_equal(X, np.vstack([split.X, split.X_test]))
    assert_array_equal(y, np.concatenate([split.y, split.y_test]))


def test_the_registry_adds_up():
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.size == sum(file.size for file in dataset.files)
        for file in dataset.files:
            assert file.url.startswith("https://")
            assert file.url.endswith(file.name)
            assert (file.sha256 is None) == (name == "year")
