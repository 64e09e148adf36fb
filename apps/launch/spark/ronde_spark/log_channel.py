"""Lines on their way from the ranks to the driver, over TCP. Whoever has not the job's token is not listened to."""

import hmac
import socket
import threading

PATIENCE = 10.0  # seconds


class LogServer:
    """In the driver: prints what the ranks say, a whole line at a time."""

    def __init__(self, host, token, out):
        self._token, self._out, self._lock = token, out, threading.Lock()
        self._listener = socket.create_server((host, 0))
        self.address = (host, self._listener.getsockname()[1])
        self._readers = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            reader = threading.Thread(target=self._read, args=(link,), daemon=True)
            self._readers.append(reader)
            reader.start()

    def _read(self, link):
        link.settimeout(PATIENCE)  # for the token
        with link, link.makefile("r", encoding="utf-8", errors="replace") as lines:
            try:
                if not hmac.compare_digest(lines.readline(256).strip().encode(), self._token.encode()):
                    return
                link.settimeout(None)
                for line in lines:
                    self.say(line.rstrip("\n"))
            except OSError:
                pass

    def say(self, line):
        with self._lock:
            print(line, file=self._out, flush=True)

    def close(self):
        """When all that was sent has been printed."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)


class LogClient:
    """In a task. A driver that cannot be reached costs the lines, not the training."""

    def __init__(self, address, token):
        try:
            self._link = socket.create_connection(address, PATIENCE)
            self.say(token)
        except OSError:
            self._link = None

    def say(self, line):
        if self._link is None:
            return
        try:
            self._link.sendall(line.encode("utf-8", errors="replace") + b"\n")
        except OSError:
            self._link = None

    def close(self):
        if self._link is not None:
            self._link.close()
