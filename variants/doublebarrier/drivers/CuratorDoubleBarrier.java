import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException.NodeExistsException;

/**
 * Members of the double barrier of Apache Curator, DistributedDoubleBarrier. Each has a session of its own. A barrier object is good for one
 * round, and its znode for the next one only when all have left: rounds take place at two znodes in turns.
 */
public class CuratorDoubleBarrier {
    /** One client: its session, its barrier, and the thread that does what it is told. */
    static class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        CuratorFramework curator;
        String path;
        int members;
        int round;
        DistributedDoubleBarrier barrier;

        String call(String[] words) throws Exception {
            switch (words[1]) {
                case "ping":
                    return "";
                case "open":
                    open(words[2], Integer.parseInt(words[4]));
                    path = words[3];
                    members = Integer.parseInt(words[5]);
                    create(path + "/even"); // so that no round creates them; a server removes containers that are empty
                    create(path + "/odd");
                    return "";
                case "enter":
                    barrier = new DistributedDoubleBarrier(curator, path + (round % 2 == 0 ? "/even" : "/odd"), members);
                    barrier.enter();
                    return "";
                case "leave":
                    barrier.leave();
                    round++; // after a failure, the same round is tried again
                    return "";
                case "sync":
                    sync(words[2]);
                    return "";
                default:
                    throw new IllegalArgumentException("unknown verb " + words[1]);
            }
        }

        void create(String path) throws Exception {
            try {
                curator.create().forPath(path);
            } catch (NodeExistsException e) {
                // another client was faster
            }
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
