"""What a kazoo client does all day, against the server given as host:port. Prints "done" when all of it worked."""
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, NotEmptyError
from kazoo.recipe.queue import LockingQueue

PATIENCE = 20  # seconds; bounds all waits


def connect(hosts):
    client = KazooClient(hosts=hosts, timeout=10)
    client.start(timeout=PATIENCE)
    return client


def together(*tasks):
    """Runs tasks at the same time, and fails if one fails or does not end."""
    failures = []

    def run(task):
        try:
            task()
        except Exception as e:  # noqa: any failure is one
            failures.append(e)

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
        assert not t.is_alive(), "a task did not end"
    assert not failures, failures


def raises(error, do, *args, **options):
    try:
        do(*args, **options)
    except error:
        return
    raise AssertionError("%s did not raise %s" % (do, error))


def znodes(a, b):
    assert a.create("/z/deep/path", b"data", makepath=True) == "/z/deep/path"
    assert a.create("/z/n-", sequence=True) == "/z/n-0000000001"
    assert a.create("/z/e", ephemeral=True) == "/z/e"
    assert b.get("/z/e")[1].ephemeralOwner == a.client_id[0]
    data, stat = b.get("/z/deep/path")
    assert data == b"data" and stat.version == 0 and stat.dataLength == 4
    assert b.set("/z/deep/path", b"new", version=0).version == 1
    assert sorted(b.get_children("/z")) == ["deep", "e", "n-0000000001"]
    assert b.exists("/none") is None
    raises(BadVersionError, b.set, "/z/deep/path", b"", version=0)
    raises(NodeExistsError, b.create, "/z/e")
    raises(NoNodeError, b.delete, "/none")
    raises(NotEmptyError, b.delete, "/z/deep")
    b.delete("/z/deep", recursive=True)
    transaction = a.transaction()
    transaction.create("/z/t", b"1")
    transaction.check("/z/t", 0)
    transaction.set_data("/z/t", b"2")
    transaction.delete("/z/t")
    assert transaction.commit()[0] == "/z/t"
    transaction = a.transaction()
    transaction.create("/z/never")
    transaction.check("/none", 0)
    results = transaction.commit()
    assert isinstance(results[1], NoNodeError) and a.exists("/z/never") is None


def watches(a, b):
    seen = threading.Event()
    a.create("/w")
    children = []

    @a.ChildrenWatch("/w")
    def changed(names):
        children.append(sorted(names))
        if "child" in names:
            seen.set()

    b.create("/w/child")
    assert seen.wait(PATIENCE), children


def lock(a, b):
    inside, order = [], []

    def work(client, name):
        with client.Lock("/lock", name):
            inside.append(name)
            assert len(inside) == 1, inside
            order.append(name)
            inside.remove(name)

    together(*[lambda c=c, i=i: [work(c, str(i)) for _ in range(5)] for i, c in enumerate([a, b])])
    assert len(order) == 10 and a.get_children("/lock") == []


def queue(a, b):
    q = a.Queue("/queue")
    for i in range(5):
        q.put(b"%d" % i)
    assert len(b.Queue("/queue")) == 5
    assert [b.Queue("/queue").get() for _ in range(6)] == [b"0", b"1", b"2", b"3", b"4", None]
    locking = LockingQueue(a, "/locking")
    got = []

    def take():
        mine = LockingQueue(b, "/locking")
        got.append(mine.get(timeout=PATIENCE))
        assert mine.consume()

    together(take, lambda: locking.put(b"item"))
    assert got == [b"item"]


def double_barrier(a, b):
    # kazoo creates its znode before it watches "ready". A client that is slow between the two waits without end if the
    # other one has entered and left by then, and with it deleted "ready". So both leave only when both are inside.
    steps, inside = [], threading.Barrier(2, timeout=PATIENCE)

    def work(client, name):
        barrier = client.DoubleBarrier("/barrier", 2, name)
        barrier.enter()
        inside.wait()
        steps.append("in")
        barrier.leave()
        steps.append("out")

    together(lambda: work(a, "a"), lambda: work(b, "b"))
    assert sorted(steps) == ["in", "in", "out", "out"], steps


def main(hosts):
    a, b = connect(hosts), connect(hosts)
    for part in znodes, watches, lock, queue, double_barrier:
        part(a, b)
        print(part.__name__)
    a.stop()
    assert b.exists("/z/e") is None, "an ephemeral outlived its session"
    b.stop()
    print("done")


main(sys.argv[1])
