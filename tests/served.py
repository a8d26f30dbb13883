"""A web server of this machine, for tests. It knows no ranges of bytes."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# By path: the content; or what is sent of it, and the length that is announced (None: chunks, without the last one); or
# a status of failure. After a length there may be one of success.
Files = dict[str, bytes | tuple[bytes, int | None] | tuple[bytes, int | None, int] | int]


class _Handler(http.server.BaseHTTPRequestHandler):
    files: Files

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        found = self.files.get(self.path.partition("?")[0], 404)
        if isinstance(found, int):
            self.send_error(found)
            return
        body, length, *others = found if isinstance(found, tuple) else (found, len(found))
        self.send_response(*others or [200])
        self.send_header(*("Transfer-Encoding", "chunked") if length is None else ("Content-Length", str(length)))
        if ".gz" in self.path:
            self.send_header("Content-Encoding", "gzip")  # as some servers have it, whatever they are asked for
        self.end_headers()
        if with_body:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body) if length is None else body)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def serving(files: Files) -> Iterator[str]:
    """Serve files at the URL that is given."""
    handler = type("Handler", (_Handler,), {"files": files})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
