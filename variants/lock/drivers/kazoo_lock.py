"""Clients of kazoo's exclusive lock, kazoo.recipe.lock.Lock.

Each has one lock, which it uses again. The fencing token is the sequence number of the znode that holds the lock, which kazoo keeps in the
lock's attribute node.
"""

from driver import number, serve
from kazoo_driver import KazooDriver


class LockClient(KazooDriver):
    def prepare(self, path, clients):
        self.lock = self.zk.Lock(path)

    def do_acquire(self):
        self.lock.acquire()
        return number(self.lock.node)

    def do_release(self):
        self.lock.release()


serve(LockClient)
