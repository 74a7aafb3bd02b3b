"""Clients with sessions of kazoo."""

import logging

from driver import Client
from kazoo.client import KazooClient

logging.getLogger("kazoo").addHandler(logging.NullHandler())


class KazooDriver(Client):
    """One client. A subclass has a method for each operation."""

    def prepare(self, path, clients):
        """Prepares the client for its operations. The session exists."""
        raise NotImplementedError

    def do_open(self, address, path, timeout_millis, clients):
        self.zk = KazooClient(hosts=address, timeout=int(timeout_millis) / 1000)
        self.zk.start(timeout=30)
        self.prepare(path, int(clients))

    def do_sync(self, path):
        self.zk.sync(path)

    def close(self):
        self.zk.stop()
        self.zk.close()
