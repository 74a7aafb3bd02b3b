"""Members of kazoo's double barrier, kazoo.recipe.barrier.DoubleBarrier.

The barrier's znode is good for the next round only when all have left: rounds take place at two znodes in turns.
"""

from driver import serve
from kazoo_driver import KazooDriver


class Member(KazooDriver):
    def prepare(self, path, clients):
        self.barriers = [self.zk.DoubleBarrier(path + name, clients) for name in ("/even", "/odd")]
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


serve(Member)
