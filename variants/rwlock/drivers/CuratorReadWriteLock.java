import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryNTimes;

/**
 * Clients of the read/write lock of Apache Curator, InterProcessReadWriteLock. Each client has a session of its own and one lock, which it
 * uses again. The fencing token is the sequence number of the znode that holds the lock, which Curator does not hand out: it is taken from
 * the object, without a request.
 */
public class CuratorReadWriteLock {
    /** The sequence number of the znode of a lock that is held. */
    static String token(InterProcessMutex held) throws Exception {
        Method lockPath = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        lockPath.setAccessible(true);
        String path = (String) lockPath.invoke(held);
        return Long.toString(Long.parseLong(path.substring(path.length() - 10)));
    }

    /** One client: its session, its lock, and the thread that does what it is told. */
    static class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        CuratorFramework curator;
        InterProcessReadWriteLock lock;
        InterProcessMutex held;

        String call(String[] words) throws Exception {
            switch (words[1]) {
                case "ping":
                    return "";
                case "open":
                    open(words[2], Integer.parseInt(words[4]));
                    lock = new InterProcessReadWriteLock(curator, words[3]);
                    return "";
                case "acquire-read":
                    return acquire(lock.readLock());
                case "acquire-write":
                    return acquire(lock.writeLock());
                case "release":
                    held.release();
                    return "";
                case "sync":
                    sync(words[2]);
                    return "";
                default:
                    throw new IllegalArgumentException("unknown verb " + words[1]);
            }
        }

        String acquire(InterProcessMutex wanted) throws Exception {
            wanted.acquire();
            held = wanted;
            return token(held);
        }

        void open(String address, int timeoutMillis) throws Exception {
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
        }

        void close(String id) {
            try {
                curator.close();
            } finally {
                answer(id + " closed");
            }
        }

        void sync(String path) throws Exception {
            CountDownLatch done = new CountDownLatch(1);
            curator.sync().inBackground((client, event) -> done.countDown()).forPath(path);
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
