import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** A client with a session of ZooKeeper's own library. */
public abstract class ZooKeeperDriver extends Driver {
    ZooKeeper zooKeeper;

    /** Prepares the client for its operations. The session exists. */
    abstract void prepare(String path) throws Exception;

    @Override
    void open(String address, String path, int timeoutMillis, int clients) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        zooKeeper = new ZooKeeper(address, timeoutMillis, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        if (!connected.await(30, TimeUnit.SECONDS)) {
            throw new IOException("no session within 30 s");
        }
        prepare(path);
    }

    @Override
    void sync(String path) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        zooKeeper.sync(path, (code, synced, context) -> done.countDown(), null);
        done.await();
    }

    @Override
    void close() throws InterruptedException {
        zooKeeper.close();
    }
}
