import java.lang.reflect.Field;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;

/**
 * A client of an exclusive lock of Apache Curator: InterProcessMutex ("mutex") or InterProcessSemaphoreMutex ("semaphore"). It has one lock,
 * which it uses again. The fencing token is the sequence number of the znode that holds the lock, which Curator does not hand out: it is
 * taken from the object, without a request.
 */
public class CuratorLock extends CuratorDriver {
    /** A lock and the number of its znode. */
    interface Lock {
        void acquire() throws Exception;

        String token() throws Exception;

        void release() throws Exception;
    }

    static class Mutex extends InterProcessMutex implements Lock {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        @Override
        public String token() {
            return number(getLockPath());
        }
    }

    static class Semaphore extends InterProcessSemaphoreMutex implements Lock {
        Semaphore(CuratorFramework client, String path) throws Exception {
            super(client, path);
            client.createContainers(path + "/locks"); // else the first acquire creates them
            client.createContainers(path + "/leases");
        }

        @Override
        public String token() throws Exception {
            Field lease = InterProcessSemaphoreMutex.class.getDeclaredField("lease");
            lease.setAccessible(true);
            return number(((Lease) lease.get(this)).getNodeName());
        }
    }

    private final String kind;
    private Lock lock;

    CuratorLock(String kind) {
        this.kind = kind;
    }

    @Override
    void prepare(String path, int clients) throws Exception {
        lock = kind.equals("semaphore") ? new Semaphore(curator, path) : new Mutex(curator, path);
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "acquire" -> {
                lock.acquire();
                return lock.token();
            }
            case "release" -> lock.release();
            default -> throw unknown(verb);
        }
        return "";
    }

    public static void main(String[] args) throws Exception {
        run(() -> new CuratorLock(args[0]));
    }
}
