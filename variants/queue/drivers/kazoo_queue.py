"""Clients of the queues of kazoo: kazoo.recipe.queue.Queue ("deleting") and LockingQueue ("locking").

Each client has a session of its own. An item is taken by get.
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
    """One client: its session, its end of the queue, and the thread that does what it is told."""

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
        self.queue = self.zk.LockingQueue(path) if sys.argv[1] == "locking" else self.zk.Queue(path)
        len(self.queue)  # creates the queue's znodes, which is not to be counted

    def do_put(self, item):
        self.queue.put(bytes.fromhex(item))

    def do_take(self):
        item = self.queue.get()
        return item.hex() if item is not None else ""

    def do_done(self):
        if not self.queue.consume():
            raise RuntimeError("the item was not this client's any more")

    def do_return(self):
        self.queue.release()

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
