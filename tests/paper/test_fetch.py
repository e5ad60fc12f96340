"""Finding and fetching data sets: the user's folder, the cache, and a server that misbehaves."""

import io
import ssl
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from data_server import ABALONE, YEAR, publish_small_sets, serving, zipped

from paper.data import (
    DatasetDamagedError,
    DatasetMissingError,
    DatasetWarning,
    OfflineError,
    cache_folder,
    download,
    fetch,
    load_rows,
    locate,
)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's own folder, once a test has named it in ANMIN_DATA."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.fixture
def server(monkeypatch, cache):
    with serving() as server:
        publish_small_sets(server, monkeypatch, cache)
        yield server


def content(folder):
    """Everything in a folder, hidden files too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failure(name="abalone"):
    with pytest.raises(DatasetMissingError) as caught:
        fetch(name)
    return str(caught.value)


def test_a_set_is_downloaded_once(server, cache):
    assert locate("abalone").state == "not fetched"
    assert fetch("abalone") == fetch("abalone") == (cache / "abalone.csv",)
    assert server.requests == ["/abalone.csv"]
    assert (cache / "abalone.csv").read_bytes() == ABALONE
    assert locate("abalone").state == "cached"
    assert content(cache) == ["abalone.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_others_may_read_a_download(server):
    (path,) = fetch("abalone")
    assert path.stat().st_mode & 0o777 == 0o644


def test_loading_downloads(server):
    X, y = load_rows("abalone")
    assert X.shape == (3, 7)
    assert y.tolist() == [15, 7, 9]


def test_a_given_folder_keeps_the_download(server, cache, tmp_path):
    load_rows("abalone", tmp_path / "mine")
    assert content(tmp_path / "mine") == ["abalone.csv"]
    assert not cache.exists()


def test_a_corrupt_download_is_refused_and_not_kept(server, cache):
    server.published["/abalone.csv"] = ABALONE.replace(b"15", b"16")
    assert "not the published file" in failure()
    assert content(cache) == []


def test_a_corrupt_file_in_the_cache_is_fetched_anew(server, cache):
    cache.mkdir()
    (cache / "abalone.csv").write_bytes(ABALONE[:50])
    assert locate("abalone").published is False
    with pytest.raises(DatasetDamagedError, match="not the published file"):
        fetch("abalone", download_if_missing=False)
    assert len(load_rows("abalone")[1]) == 3
    assert (cache / "abalone.csv").read_bytes() == ABALONE


@pytest.mark.parametrize("name", ["abalone", "year"])
@pytest.mark.parametrize("chunked", [False, True])
def test_an_interrupted_download_leaves_nothing(server, cache, name, chunked):
    server.drops, server.chunked = 1, chunked
    assert "broke off" in failure(name)
    assert content(cache) == []
    assert len(fetch(name)) == 1  # the second time it works


def test_an_interrupted_download_keeps_what_was_there(server, cache):
    cache.mkdir()
    (cache / "abalone.csv").write_bytes(b"an older version")
    server.drops = 1
    failure()
    assert (cache / "abalone.csv").read_bytes() == b"an older version"
    assert content(cache) == ["abalone.csv"]


def test_one_failure_is_retried(server, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", 1)
    monkeypatch.setattr("time.sleep", lambda _: None)
    server.drops = 1
    assert fetch("abalone")[0].read_bytes() == ABALONE
    assert len(server.requests) == 2


def test_a_file_that_is_gone(server, cache):
    del server.published["/abalone.csv"]
    assert "answered 404 Not Found" in failure()
    assert content(cache) == []


def test_without_a_network_the_message_says_what_to_do(server, cache):
    server.vanish()
    message = failure()
    assert "no connection to 127.0.0.1" in message
    assert f"save {server.url}/abalone.csv" in message
    assert f"as  {cache / 'abalone.csv'}" in message
    assert "ANMIN_DATA" in message


def test_what_the_message_says_works(server, cache):
    cache.mkdir()
    (cache / "abalone.csv").write_bytes(ABALONE)
    assert len(load_rows("abalone")[1]) == 3
    assert server.requests == []


@pytest.mark.parametrize(
    ("reason", "words"),
    [(TimeoutError(), "did not answer in time"), (ssl.SSLError(), "certificate")],
)
def test_other_troubles_in_plain_words(server, monkeypatch, reason, words):
    def fail(*_, **__):
        raise URLError(reason)

    monkeypatch.setattr(download, "urlopen", fail)
    with pytest.raises(OfflineError, match=words):
        fetch("abalone")


def test_a_folder_that_cannot_be_written(server, cache):
    cache.write_text("a file where the folder should be")
    message = failure()
    assert f"{cache} cannot be written to" in message


def test_ctrl_c_leaves_nothing(server, cache, monkeypatch):
    def stop(_, output):
        output.write(ABALONE[:20])
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "transfer", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch("abalone")
    assert content(cache) == []


def test_a_download_tells_its_progress_on_a_terminal(server, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    fetch("abalone")
    assert terminal.getvalue() == "\rabalone.csv: 0.0 of 0.0 MB\n"


def test_no_progress_where_there_is_no_terminal(server, capfd):
    fetch("year")
    assert capfd.readouterr().err == ""


def test_the_users_folder_comes_first(server, cache, own, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / "abalone.csv").write_bytes(ABALONE)
    assert fetch("abalone") == (own / "abalone.csv",)
    assert locate("abalone").state == "here"
    assert server.requests == []


def test_what_the_users_folder_lacks_is_downloaded_to_the_cache(server, cache, own, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    assert fetch("abalone") == (cache / "abalone.csv",)
    assert content(own) == []


def test_a_given_folder_beats_the_users_folder(server, own, monkeypatch, tmp_path):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / "abalone.csv").write_bytes(ABALONE)
    assert fetch("abalone", tmp_path) == (tmp_path / "abalone.csv",)


def test_other_content_of_the_right_shape_is_a_warning(server, own, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / "abalone.csv").write_bytes(ABALONE.replace(b"\n", b"\r\n"))
    with pytest.warns(DatasetWarning, match="not the published content") as caught:
        fetch("abalone")
    with pytest.warns(DatasetWarning):
        _, y = load_rows("abalone")
    assert caught[0].filename == __file__  # it points at the caller
    assert y.tolist() == [15, 7, 9]
    assert locate("abalone").published is False


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (ABALONE[:40], "2 rows of 3 or 8 columns; the whole data set has 3 of 8"),
        (ABALONE + ABALONE, "6 rows"),
        (b"", "0 rows of no columns"),
        (b"<html>Please log in</html>", "1 rows of 1 columns"),
        (b"\xff\xfe\x00", "cannot be read as a table"),
        (zipped(a__csv=ABALONE, b__csv=ABALONE), "expected one .txt or .csv"),
    ],
)
def test_the_wrong_shape_is_an_error(server, own, monkeypatch, damaged, words):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / "abalone.csv").write_bytes(damaged)
    with pytest.raises(DatasetDamagedError, match=words) as caught:
        load_rows("abalone")
    assert str(own / "abalone.csv") in str(caught.value)
    assert "put the whole file in its place" in str(caught.value)


def test_words_in_the_place_of_numbers_are_an_error(server, own, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / "abalone.csv").write_bytes(ABALONE.replace(b"15", b"M"))
    with (
        pytest.warns(DatasetWarning),
        pytest.raises(DatasetDamagedError, match="could not convert"),
    ):
        load_rows("abalone")


def test_the_users_folder_must_be_a_folder(server, monkeypatch, tmp_path):
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path / "none"))
    assert "which is not a folder" in failure()


def test_download_can_be_refused(server, cache, own, monkeypatch):
    with pytest.raises(
        FileNotFoundError, match=r"abalone\.csv is not in .*paper data fetch abalone"
    ):
        load_rows("abalone", download_if_missing=False)
    monkeypatch.setenv("ANMIN_DATA", str(own))
    with pytest.raises(FileNotFoundError, match="neither in ANMIN_DATA"):
        load_rows("abalone", download_if_missing=False)
    assert server.requests == []
    fetch("abalone")
    assert len(load_rows("abalone", download_if_missing=False)[1]) == 3


def test_an_unknown_name(server):
    with pytest.raises(ValueError, match="there are abalone, year"):
        fetch("abalon")


def test_the_cache_is_the_users_by_default(monkeypatch):
    monkeypatch.delenv("ANMIN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/some")
    assert cache_folder() == Path("/var/some/anmin")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "anmin"
    assert cache_folder("~/data") == Path.home() / "data"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("yearpredictionmsd.zip", zipped(YearPredictionMSD__txt=YEAR)),
        ("YearPredictionMSD.txt.zip", zipped(YearPredictionMSD__txt=YEAR)),
        ("YearPredictionMSD.txt", YEAR),
        ("YearPredictionMSD.csv", YEAR.rstrip(b"\n")),
    ],
)
def test_year_is_known_by_all_its_names(server, own, monkeypatch, name, content):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    (own / name).write_bytes(content)
    X, y = load_rows("year")
    assert fetch("year") == (own / name,)
    assert y.tolist() == [2001, 1999]  # the first column
    np.testing.assert_array_equal(X, np.full((2, 90), 1.5))


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Please log in</html>",
        zipped(YearPredictionMSD__txt=YEAR[:300]),
        zipped(readme__md=b"nothing"),
        zipped(YearPredictionMSD__txt=YEAR)[:-30],
        zipped(YearPredictionMSD__txt=YEAR).replace(YEAR[:1], b"\x00"),
    ],
)
def test_year_has_no_sha256_and_is_counted_before_it_is_kept(server, cache, content):
    server.published["/year.zip"] = content
    assert "not the published file" in failure("year")
    assert not (cache / "yearpredictionmsd.zip").exists()


def test_half_a_year_saved_by_hand_is_refused(server, cache):
    cache.mkdir()
    (cache / "yearpredictionmsd.zip").write_bytes(zipped(YearPredictionMSD__txt=YEAR)[:90])
    with pytest.raises(DatasetDamagedError, match=r"yearpredictionmsd\.zip"):
        load_rows("year")


def test_a_zip_with_a_flipped_bit_is_refused(server, own, monkeypatch):
    monkeypatch.setenv("ANMIN_DATA", str(own))
    whole = bytearray(zipped(YearPredictionMSD__txt=YEAR))
    whole[60] ^= 0xFF  # within the compressed text
    (own / "yearpredictionmsd.zip").write_bytes(whole)
    with pytest.raises(DatasetDamagedError, match="cannot be read"):
        load_rows("year")
