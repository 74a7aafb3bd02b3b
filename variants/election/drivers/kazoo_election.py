"""Candidates of kazoo's leader election, kazoo.recipe.election.Election.

Each has one Election, which it uses again. A leader leads for as long as the function takes that it gives to Election.run. The epoch is the
sequence number of the znode of the lock in the Election.
"""

import queue
import threading

from driver import number, serve
from kazoo_driver import KazooDriver


class Candidate(KazooDriver):
    def prepare(self, path, clients):
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
        return number(self.election.lock.node)

    def do_resign(self):
        self.resigned.set()
        error = self.over.get()
        if error:
            raise error


serve(Candidate)
