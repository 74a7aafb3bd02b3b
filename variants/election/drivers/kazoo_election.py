"""Candidates of kazoo's leader election, kazoo.recipe.election.Election.

Each client has a session of its own and one Election, which it uses again. A leader leads for as long as the function takes that it gives to
Election.run. The epoch is the sequence number of the znode of the lock in the Election.
"""

import logging
import queue
import sys
import threading

from kazoo.client import KazooClient

logging.getLogger("kazoo").addHandler(logging.NullHandler())
output = threading.Lock()


def answer(line):
    with output:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Client(threading.Thread):
    """One client: its session, its lock, and the thread that does what it is told."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.id, self.calls = name, queue.Queue()
        self.start()

    def run(self):
        while True:
            verb, *args = self.calls.get()
            try:
                answer("%s ok %s" % (self.id, getattr(self, "do_" + verb)(*args) or ""))
            except Exception as e:  # of any kind: zkbench reports it
                answer("%s error %s" % (self.id, repr(e).replace("\n", " ")))

    def do_ping(self, _):
        pass

    def do_open(self, address, path, timeout_millis, _):
        self.zk = KazooClient(hosts=address, timeout=int(timeout_millis) / 1000)
        self.zk.start(timeout=30)
        self.election = self.zk.Election(path)

    def do_campaign(self):
        leads, self.resigned, self.over = threading.Event(), threading.Event(), queue.Queue()

        def lead():
            leads.set()
            self.resigned.wait()

        def run():
            try:
                self.election.run(lead)
                self.over.put(None)
            except Exception as e:
                self.over.put(e)

        threading.Thread(target=run, daemon=True).start()
        while not leads.wait(0.5):
            if not self.over.empty():
                raise self.over.get() or RuntimeError("the election ended without a leader")
        return str(int(self.election.lock.node[-10:]))

    def do_resign(self):
        self.resigned.set()
        error = self.over.get()
        if error:
            raise error

    def do_sync(self, path):
        self.zk.sync(path)

    def close(self):
        try:
            self.zk.stop()
            self.zk.close()
        finally:
            answer("%s closed" % self.id)


def main():
    clients = {}
    for line in sys.stdin:
        name, *call = line.split()
        if name not in clients:
            clients[name] = Client(name)
        if call[0] == "close":  # also while another call waits
            threading.Thread(target=clients[name].close, daemon=True).start()
        else:
            clients[name].calls.put(call)


main()
