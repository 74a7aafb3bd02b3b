import java.lang.reflect.Field;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;

/**
 * A client of an exclusive lock of Apache Curator: InterProcessMutex ("mutex") or InterProcessSemaphoreMutex ("semaphore"). It has one
 * lock, which it uses again.
 */
public class CuratorLock extends CuratorDriver {
    private final String kind;
    private InterProcessLock lock;

    CuratorLock(String kind) {
        this.kind = kind;
    }

    @Override
    void prepare(String path, int clients) throws Exception {
        if (kind.equals("semaphore")) {
            curator.createContainers(path + "/locks"); // else the first acquire creates them
            curator.createContainers(path + "/leases");
            lock = new InterProcessSemaphoreMutex(curator, path);
        } else {
            lock = new InterProcessMutex(curator, path);
        }
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "acquire" -> {
                lock.acquire();
                return lock instanceof InterProcessMutex mutex ? token(mutex) : numberOfLease();
            }
            case "release" -> lock.release();
            default -> throw unknown(verb);
        }
        return "";
    }

    private String numberOfLease() throws Exception {
        Field lease = InterProcessSemaphoreMutex.class.getDeclaredField("lease");
        lease.setAccessible(true);
        return number(((Lease) lease.get(lock)).getNodeName());
    }

    public static void main(String[] args) throws Exception {
        run(() -> new CuratorLock(args[0]));
    }
}
