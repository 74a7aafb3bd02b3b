import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * Clients of the lock that comes with ZooKeeper, WriteLock of its recipes. Each client has a session of its own and one lock, which it uses
 * again. The fencing token is the sequence number of the znode that holds the lock.
 */
public class ZooKeeperWriteLock {
    /** One client: its session, its lock, and the thread that does what it is told. */
    static class Client implements LockListener {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        final Semaphore acquired = new Semaphore(0);
        ZooKeeper zooKeeper;
        WriteLock lock;

        @Override
        public void lockAcquired() {
            acquired.release();
        }

        @Override
        public void lockReleased() {}

        String call(String[] words) throws Exception {
            switch (words[1]) {
                case "ping":
                    return "";
                case "open":
                    open(words[2], Integer.parseInt(words[4]));
                    lock = new WriteLock(zooKeeper, words[3], Ids.OPEN_ACL_UNSAFE, this);
                    return "";
                case "acquire":
                    acquired.drainPermits(); // a reconnected client may have been told twice
                    lock.lock();
                    do {
                        acquired.acquire();
                    } while (!lock.isOwner());
                    String id = lock.getId();
                    return Long.toString(Long.parseLong(id.substring(id.length() - 10)));
                case "release":
                    lock.unlock();
                    return "";
                case "sync":
                    sync(words[2]);
                    return "";
                default:
                    throw new IllegalArgumentException("unknown verb " + words[1]);
            }
        }

        void open(String address, int timeoutMillis) throws Exception {
            CountDownLatch connected = new CountDownLatch(1);
            zooKeeper = new ZooKeeper(address, timeoutMillis, event -> {
                if (event.getState() == KeeperState.SyncConnected) {
                    connected.countDown();
                }
            });
            if (!connected.await(30, TimeUnit.SECONDS)) {
                throw new IOException("no session within 30 s");
            }
        }

        void close(String id) {
            try {
                zooKeeper.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                answer(id + " closed");
            }
        }

        void sync(String path) throws Exception {
            CountDownLatch done = new CountDownLatch(1);
            zooKeeper.sync(path, (code, synced, context) -> done.countDown(), null);
            done.await();
        }
    }

    static synchronized void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        Map<String, Client> clients = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            Client client = clients.computeIfAbsent(words[0], id -> new Client());
            if (words[1].equals("close")) { // also while another call waits
                new Thread(() -> client.close(words[0])).start();
                continue;
            }
            client.thread.execute(() -> {
                try {
                    answer(words[0] + " ok " + client.call(words));
                } catch (Throwable e) {
                    answer(words[0] + " error " + e.toString().replace('\n', ' '));
                }
            });
        }
        System.exit(0); // zkbench has closed the pipe
    }
}
