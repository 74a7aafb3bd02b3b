"""Clients of the queues of kazoo: kazoo.recipe.queue.Queue ("deleting") and LockingQueue ("locking"). An item is taken by get."""

import sys

from driver import serve
from kazoo_driver import KazooDriver


class QueueClient(KazooDriver):
    def prepare(self, path, clients):
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


serve(QueueClient)
