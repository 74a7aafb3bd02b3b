import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.RetryNTimes;

/** Clients of the queue of Apache Curator, SimpleDistributedQueue. Each client has a session of its own. An item is taken by poll. */
public class CuratorQueue {
    static final HexFormat HEX = HexFormat.of();

    /** One client: its session, its end of the queue, and the thread that does what it is told. */
    static class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        CuratorFramework curator;
        SimpleDistributedQueue queue;

        String call(String[] words) throws Exception {
            switch (words[1]) {
                case "ping":
                    return "";
                case "open":
                    open(words[2], Integer.parseInt(words[4]));
                    queue = new SimpleDistributedQueue(curator, words[3]);
                    queue.peek(); // looks for the queue's znode, which is not to be counted
                    return "";
                case "put":
                    queue.offer(HEX.parseHex(words[2]));
                    return "";
                case "take":
                    byte[] item = queue.poll();
                    return item == null ? "" : HEX.formatHex(item);
                case "sync":
                    sync(words[2]);
                    return "";
                default:
                    throw new IllegalArgumentException("unknown verb " + words[1]);
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
