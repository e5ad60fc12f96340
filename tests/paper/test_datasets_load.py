"""The paper's data sets as loaded, against the files themselves and against the benchmarks."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

sys.path.insert(0, str(Path(__file__).parents[2]))

from anmin.datasets import (
    DATASETS,
    DatasetDamagedError,
    load_abalone,
    load_bike,
    load_dae,
    load_sdf,
    load_year,
    locate,
    make_sin,
)
from anmin.datasets.reading import check_size, read_table
from benchmarks import cases

LOADERS = {"abalone": load_abalone, "bike": load_bike, "sdf": load_sdf, "dae": load_dae}


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
@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_returns_what_the_registry_says(own, name):
    dataset, found = DATASETS[name], LOADERS[name](download_if_missing=False)
    assert found.data.shape == (dataset.rows, dataset.inputs)
    outputs = () if dataset.outputs == 1 else (dataset.outputs,)
    assert found.target.shape == (dataset.rows, *outputs)
    assert len(found.feature_names) == len(set(found.feature_names)) == dataset.inputs
    assert len(found.target_names) == dataset.outputs
    assert dataset.title in found.DESCR
    assert found.filenames == [str(own / file.name) for file in dataset.files]
    assert locate(name).published is True


@pytest.mark.slow
@pytest.mark.parametrize("case", ["abalone", "bike", "sdf", "dae", "dae-clean"])
def test_the_benchmarks_read_the_same_numbers(own, case):
    noise = {"noisy": case == "dae"} if "dae" in case else {}
    X, y = LOADERS[case.split("-")[0]](return_X_y=True, **noise)
    theirs_X, theirs_y = cases._paper_rows(case)
    assert_array_equal(X, theirs_X)
    assert_array_equal(y, theirs_y)
    assert X.flags.c_contiguous


def test_bike_keeps_casual_and_drops_registered(own):
    bike = load_bike()
    table = np.loadtxt(bike.filenames[0], delimiter=",")
    casual = bike.data[:, bike.feature_names.index("casual")]
    assert_array_equal(casual + table[:, 13], bike.target)


def test_sdf_is_a_picture(own):
    sdf = load_sdf()
    assert_array_equal(sdf.data, np.indices(sdf.image_shape).reshape(2, -1).T)


@pytest.mark.slow
def test_the_noise_of_dae_is_the_papers_and_is_repeatable(own):
    noisy, clean = load_dae(), load_dae(noisy=False)
    assert np.std(noisy.data - noisy.target) == pytest.approx(10, rel=1e-3)
    assert_array_equal(load_dae().data, noisy.data)
    assert not np.array_equal(load_dae(random_state=1).data, noisy.data)
    assert_array_equal(clean.data, clean.target)
    assert not np.shares_memory(clean.data, clean.target)


def test_the_loaded_set_is_the_callers(own):
    load_abalone().feature_names.clear()
    assert len(load_abalone().feature_names) == 7


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
        load_year()


def test_a_file_called_first_rows_is_not_taken_for_the_set(own, first_rows, monkeypatch, tmp_path):
    monkeypatch.setenv("ANMIN_CACHE", str(tmp_path))
    if not any((own / n).exists() for n in ("yearpredictionmsd.zip", "YearPredictionMSD.txt")):
        assert locate("year").state == "not fetched"


@pytest.mark.parametrize("case", ["sin-n100-d1", "sin-n50-d10"])
def test_sin_is_the_benchmarks(case):
    split = cases.load(case, 3)
    X, y = make_sin(2 * len(split.X), split.X.shape[1], random_state=3, return_X_y=True)
    assert_array_equal(X, np.vstack([split.X, split.X_test]))
    assert_array_equal(y, np.concatenate([split.y, split.y_test]))


def test_sin_is_a_bunch():
    sin = make_sin(20, 4, random_state=0)
    assert sin.data.shape == (20, 4)
    assert sin.target.shape == (20,)
    assert sin.feature_names == ["x0", "x1", "x2", "x3"]
    assert "sin" in sin.DESCR


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, 2)])
def test_sin_needs_rows_and_inputs(shape):
    with pytest.raises(ValueError, match="1 or more"):
        make_sin(*shape)


def test_the_registry_adds_up():
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.size == sum(file.size for file in dataset.files)
        for file in dataset.files:
            assert file.url.startswith("https://")
            assert file.url.endswith(file.name)
            assert (file.sha256 is None) == (name == "year")
