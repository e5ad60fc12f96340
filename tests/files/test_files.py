"""A file is whole or not there at all."""

import io
import os
import stat
import threading

import pytest

from anmin.files import open_atomically, write_atomically


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_writes_and_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, b"one")
    write_atomically(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["a.bin"]


def half(path, error):
    with open_atomically(path) as file:
        file.write(b"half of the n")
        file.flush()
        assert path.read_bytes() == b"old"
        raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_keeps_the_old_content_and_leaves_no_scrap(tmp_path, error):
    path = tmp_path / "a.bin"
    write_atomically(path, b"old")
    with pytest.raises(error):
        half(path, error)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_block_may_close_the_file(tmp_path):
    with (
        open_atomically(tmp_path / "a.txt") as file,
        io.TextIOWrapper(file, encoding="utf-8", newline="") as text,
    ):
        text.write("größe\n")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "größe\n"


def test_missing_folders_and_folders_are_refused_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere; make it first"):
        write_atomically(tmp_path / "nowhere" / "a", b"")
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        write_atomically(tmp_path, b"")


def test_a_name_as_long_as_the_system_allows(tmp_path):
    write_atomically(tmp_path / ("x" * 255), b"long")
    assert names(tmp_path) == ["x" * 255]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as POSIX has them")
class TestPosix:
    def test_permissions_are_those_of_an_ordinary_file_or_of_the_one_replaced(self, tmp_path):
        (tmp_path / "ordinary").write_bytes(b"")
        write_atomically(tmp_path / "new", b"")
        mode = stat.S_IMODE((tmp_path / "new").stat().st_mode)
        assert mode == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)
        (tmp_path / "new").chmod(0o640)
        write_atomically(tmp_path / "new", b"again")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path / "real")
        write_atomically(tmp_path / "link", b"through")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_bytes() == b"through"

    def test_a_pipe_is_written_to_and_stays_a_pipe(self, tmp_path):
        pipe, got = tmp_path / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
        reader.start()
        write_atomically(pipe, b"streamed")
        reader.join(10)
        assert got == [b"streamed"]
        assert stat.S_ISFIFO(pipe.stat().st_mode)
