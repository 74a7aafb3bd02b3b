"""Members of kazoo's double barrier, kazoo.recipe.barrier.DoubleBarrier.

Each has a session of its own. The barrier's znode is good for the next round only when all have left: rounds take place at two znodes in turns.
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
    """One client: its session, its barriers, and the thread that does what it is told."""

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

    def do_open(self, address, path, timeout_millis, members):
        self.zk = KazooClient(hosts=address, timeout=int(timeout_millis) / 1000)
        self.zk.start(timeout=30)
        self.barriers = [self.zk.DoubleBarrier(path + name, int(members)) for name in ("/even", "/odd")]
        for barrier in self.barriers:
            self.zk.ensure_path(barrier.path)
            barrier.assured_path = True  # so that no round looks for it

    def do_enter(self):
        self.barriers[0].enter()
        if not self.barriers[0].participating:
            raise RuntimeError("the barrier was not entered")  # kazoo does not say why

    def do_leave(self):
        self.barriers[0].leave()
        self.barriers.reverse()

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
