"""Clients of kazoo's read/write lock, kazoo.recipe.lock.ReadLock and WriteLock.

Each has one lock of each kind, which it uses again. The fencing token is the sequence number of the znode that holds the lock, which kazoo
keeps in the lock's attribute node.
"""

from driver import number, serve
from kazoo_driver import KazooDriver


class LockClient(KazooDriver):
    def prepare(self, path, clients):
        self.read_lock, self.write_lock = self.zk.ReadLock(path), self.zk.WriteLock(path)

    def do_acquire_read(self):
        return self.acquire(self.read_lock)

    def do_acquire_write(self):
        return self.acquire(self.write_lock)

    def acquire(self, lock):
        lock.acquire()
        self.held = lock
        return number(lock.node)

    def do_release(self):
        self.held.release()


serve(LockClient)
