import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/** A client with a session of Apache Curator. */
public abstract class CuratorDriver extends Driver {
    CuratorFramework curator;

    /** Prepares the client for its operations. The session exists. */
    abstract void prepare(String path, int clients) throws Exception;

    @Override
    void open(String address, String path, int timeoutMillis, int clients) throws Exception {
        curator = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs(timeoutMillis)
                .retryPolicy(new RetryNTimes(10, 100))
                .ensembleTracker(false) // it would find the servers' own addresses, and use them
                .build();
        curator.start();
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no session within 30 s");
        }
        prepare(path, clients);
    }

    @Override
    void sync(String path) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        curator.sync().inBackground((client, event) -> done.countDown()).forPath(path);
        done.await();
    }

    @Override
    void close() {
        curator.close();
    }

    /**
     * The fencing token of a mutex that is held: the sequence number of its znode. Curator does not hand it out, so that it is taken from
     * the object, without a request.
     */
    static String token(InterProcessMutex held) throws Exception {
        Method lockPath = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        lockPath.setAccessible(true);
        return number((String) lockPath.invoke(held));
    }
}
