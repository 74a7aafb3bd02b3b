import java.util.concurrent.Semaphore;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * A client of the lock that comes with ZooKeeper, WriteLock of its recipes. It has one lock, which it uses again. The fencing token is the
 * sequence number of the znode that holds the lock.
 */
public class ZooKeeperWriteLock extends ZooKeeperDriver implements LockListener {
    private final Semaphore acquired = new Semaphore(0);
    private WriteLock lock;

    @Override
    public void lockAcquired() {
        acquired.release();
    }

    @Override
    public void lockReleased() {}

    @Override
    void prepare(String path) {
        lock = new WriteLock(zooKeeper, path, Ids.OPEN_ACL_UNSAFE, this);
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "acquire" -> {
                acquired.drainPermits(); // a reconnected client may have been told twice
                lock.lock();
                do {
                    acquired.acquire();
                } while (!lock.isOwner());
                return number(lock.getId());
            }
            case "release" -> lock.unlock();
            default -> throw unknown(verb);
        }
        return "";
    }

    public static void main(String[] args) throws Exception {
        run(ZooKeeperWriteLock::new);
    }
}
