"""python -m paper data, as a user meets it."""

import json
from types import SimpleNamespace

import pytest
from data_server import ABALONE, publish_small_sets, serving

from paper.__main__ import main


@pytest.fixture
def server(monkeypatch, tmp_path):
    with serving() as server:
        publish_small_sets(server, monkeypatch, tmp_path / "cache")
        yield server


@pytest.fixture
def run(server, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        code = main(["data", *words])
        captured = capsys.readouterr()
        return SimpleNamespace(exit_code=code, stdout=captured.out, stderr=captured.err)

    return command


def states(run, *words):
    result = run("list", "--json", *words)
    assert result.exit_code == 0, result.stderr
    return {row["name"]: row["state"] for row in json.loads(result.stdout)}


def test_list_shows_every_set(run, tmp_path):
    result = run("list")
    assert result.exit_code == 0, result.stderr
    for word in ("abalone", "year", "90", "not fetched", "MIT", str(tmp_path / "cache")):
        assert word in result.stdout


def test_list_speaks_json(run, server, tmp_path):
    (abalone, year) = json.loads(run("list", "--json").stdout)
    assert abalone["name"] == "abalone"
    assert abalone["rows"] == 3
    assert abalone["inputs"] == 7
    assert abalone["urls"] == [f"{server.url}/abalone.csv"]
    assert abalone["licence"] == "MIT"
    assert year["state"] == "not fetched"
    assert year["paths"] == []


def test_fetch_and_list_tell_where_a_set_is(run, tmp_path, monkeypatch):
    assert states(run) == {"abalone": "not fetched", "year": "not fetched"}
    result = run("fetch", "abalone")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"abalone: downloaded, {tmp_path / 'cache' / 'abalone.csv'}\n"
    assert states(run) == {"abalone": "cached", "year": "not fetched"}
    assert "abalone: cached, " in run("fetch", "abalone").stdout
    own = tmp_path / "own"
    own.mkdir()
    (own / "abalone.csv").write_bytes(ABALONE)
    monkeypatch.setenv("ANMIN_DATA", str(own))
    assert states(run)["abalone"] == "here"
    assert "ANMIN_DATA" in run("list").stdout
    assert "abalone: here, " in run("fetch", "abalone").stdout


def test_fetch_fetches_all(run, server):
    result = run("fetch")
    assert result.exit_code == 0, result.stderr
    assert sorted(server.requests) == ["/abalone.csv", "/year.zip"]
    assert set(states(run).values()) == {"cached"}
    assert result.stderr == ""


def test_fetch_into_a_folder_to_carry_elsewhere(run, tmp_path, monkeypatch):
    assert run("fetch", "--folder", "carried").exit_code == 0
    assert set(states(run, "-d", "carried").values()) == {"cached"}
    assert set(states(run).values()) == {"not fetched"}
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path / "carried"))
    assert set(states(run).values()) == {"here"}


def test_a_failure_is_said_and_the_others_are_fetched(run, server):
    del server.published["/abalone.csv"]
    result = run("fetch")
    assert result.exit_code == 1
    assert "abalone.csv could not be downloaded" in result.stderr
    assert "404" in result.stderr
    assert "By hand" in result.stderr
    assert result.stdout.startswith("year: downloaded")


def test_without_a_network(run, server):
    server.vanish()
    result = run("fetch", "year")
    assert result.exit_code == 1
    assert "no connection" in result.stderr
    assert "ANMIN_DATA" in result.stderr
    assert result.stdout == ""


def test_changed_content_is_a_note(run, tmp_path, monkeypatch):
    (tmp_path / "abalone.csv").write_bytes(ABALONE.replace(b"15", b"16"))
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path))
    assert "here, changed" in run("list").stdout
    result = run("fetch", "abalone")
    assert result.exit_code == 0
    assert "note: abalone" in result.stderr
    assert "not the published content" in result.stderr


def test_a_damaged_file_is_an_error(run, tmp_path, monkeypatch):
    (tmp_path / "abalone.csv").write_bytes(ABALONE[:50])
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path))
    result = run("fetch", "abalone")
    assert result.exit_code == 1
    assert "the whole data set has 3" in result.stderr


def test_an_unknown_name_lists_those_there_are(run, server):
    result = run("fetch", "abalone", "abalon")
    assert result.exit_code == 2
    assert "there is no data set abalon; there are abalone, year" in result.stderr
    assert server.requests == []


@pytest.mark.parametrize("words", [("list",), ("list", "--json")])
def test_a_wrong_anmin_data_is_an_error(run, monkeypatch, tmp_path, words):
    monkeypatch.setenv("ANMIN_DATA", str(tmp_path / "none"))
    result = run(*words)
    assert result.exit_code == 2
    assert "not a folder" in result.stderr


@pytest.mark.parametrize("words", [["--help"], ["data", "list", "-h"], ["data", "fetch", "-h"]])
def test_help(capsys, words):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    assert "python -m paper" in capsys.readouterr().out
