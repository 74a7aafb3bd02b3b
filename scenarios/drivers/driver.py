"""A driver: the clients of a library that zkbench measures, in one process.

This file has the protocol, which docs/drivers.md of zkbench describes. A subclass of Client is one client, and does with the library what it
is told.
"""

import queue
import sys
import threading

_output = threading.Lock()


class Client(threading.Thread):
    """One client, and the thread that makes its calls one after another.

    A subclass has a method do_VERB for each verb, with - as _, which returns the result or None. Beside its operations these are
    do_open(address, path, timeout_millis, clients), which opens the client's only session, at this address alone, and do_sync(path).
    """

    def __init__(self, name):
        super().__init__(daemon=True)
        self.id, self.calls = name, queue.Queue()
        self.start()

    def run(self):
        while True:
            verb, *args = self.calls.get()
            try:
                _answer("%s ok %s" % (self.id, getattr(self, "do_" + verb.replace("-", "_"))(*args) or ""))
            except Exception as e:  # of any kind: zkbench reports it
                _answer("%s error %s" % (self.id, repr(e).replace("\n", " ")))

    def do_ping(self, _):
        pass

    def close(self):
        """Closes the session, also while another call waits."""
        raise NotImplementedError

    def end(self):
        try:
            self.close()
        finally:
            _answer("%s closed" % self.id)


def serve(new_client):
    """Serves clients until zkbench closes the pipe."""
    clients = {}
    for line in sys.stdin:
        name, *call = line.split()
        if name not in clients:
            clients[name] = new_client(name)
        if call[0] == "close":
            threading.Thread(target=clients[name].end, daemon=True).start()
        else:
            clients[name].calls.put(call)


def number(path):
    """Returns the sequence number at the end of a znode's name: a fencing token."""
    return str(int(path[-10:]))


def _answer(line):
    with _output:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
