"""A web server on this machine for the tests of downloads, and small data sets that live on it."""

import hashlib
import io
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from paper.data import DATASETS

ABALONE = b"".join(b"0.4,0.3,0.1,0.5,0.2,0.1,0.15,%d\n" % rings for rings in (15, 7, 9))
YEAR = b"".join(b"%d,%s\n" % (year, b",".join([b"1.5"] * 90)) for year in (2001, 1999))


class Handler(BaseHTTPRequestHandler):
    """Send what is published under a path; `drops` says how often to break off half-way."""

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path not in self.server.published:
            self.send_error(404, "Not Found")
            return
        content = self.server.published[self.path]
        drop = self.server.drops > 0
        self.server.drops -= drop
        self.send_response(200)
        if self.server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            half = content[: len(content) // 2]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
            if not drop:
                rest = content[len(half) :]
                self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))
        else:
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if drop else content)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """What is published, and what was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.published, self.requests, self.drops, self.chunked = {}, [], 0, False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def vanish(self):
        """From now on nobody listens."""
        self.shutdown()
        self.server_close()


@contextmanager
def serving():
    """A server in a thread of its own."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def zipped(**members):
    """The bytes of a zip with these members; two underscores stand for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def small_abalone(url):
    """Three rows of abalone, to be had from the server."""
    known = DATASETS["abalone"]
    digest = hashlib.sha256(ABALONE).hexdigest()
    file = replace(known.files[0], url=f"{url}/abalone.csv", sha256=digest, size=len(ABALONE))
    return replace(known, rows=3, files=(file,))


def small_year(url):
    """Two rows of YearPredictionMSD; no sha256, as for the real one."""
    known = DATASETS["year"]
    return replace(known, rows=2, files=(replace(known.files[0], url=f"{url}/year.zip"),))


def publish_small_sets(server, monkeypatch, cache):
    """Only abalone and year, small, on the server; nothing else within reach."""
    monkeypatch.delenv("ANMIN_DATA", raising=False)
    monkeypatch.setenv("ANMIN_CACHE", str(cache))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("paper.data.download.RETRIES", 0)
    server.published |= {"/abalone.csv": ABALONE, "/year.zip": zipped(YearPredictionMSD__txt=YEAR)}
    for name in set(DATASETS) - {"abalone", "year"}:
        monkeypatch.delitem(DATASETS, name)
    monkeypatch.setitem(DATASETS, "abalone", small_abalone(server.url))
    monkeypatch.setitem(DATASETS, "year", small_year(server.url))
