import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * A driver: the clients of a library that zkbench measures, in one process. This file has the protocol, which docs/drivers.md of zkbench
 * describes. A subclass is one client, and does with the library what it is told. Its methods open, call and sync run in a thread of the
 * client's own, one after another; close may run beside them.
 */
public abstract class Driver {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    /** Opens the client's only session, at this address alone. The lock, election, queue or barrier is at the path, which exists. */
    abstract void open(String address, String path, int timeoutMillis, int clients) throws Exception;

    /** Does one operation, and returns its result, such as the fencing token. The argument is empty unless the verb has one. */
    abstract String call(String verb, String argument) throws Exception;

    /** Sends ZooKeeper's sync for a path, and waits for the reply. */
    abstract void sync(String path) throws Exception;

    /** Closes the session, also while another call waits. */
    abstract void close() throws Exception;

    /** Serves clients until zkbench closes the pipe. */
    static void run(Supplier<? extends Driver> newClient) throws Exception {
        Map<String, Driver> clients = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            Driver client = clients.computeIfAbsent(words[0], id -> newClient.get());
            if (words[1].equals("close")) {
                new Thread(() -> client.end(words[0])).start();
            } else {
                client.thread.execute(() -> client.serve(words));
            }
        }
        System.exit(0);
    }

    private void serve(String[] words) {
        try {
            answer(words[0] + " ok " + result(words));
        } catch (Throwable e) {
            answer(words[0] + " error " + e.toString().replace('\n', ' '));
        }
    }

    private String result(String[] words) throws Exception {
        switch (words[1]) {
            case "ping" -> {}
            case "open" -> open(words[2], words[3], Integer.parseInt(words[4]), Integer.parseInt(words[5]));
            case "sync" -> sync(words[2]);
            default -> {
                return call(words[1], words.length > 2 ? words[2] : "");
            }
        }
        return "";
    }

    private void end(String id) {
        try {
            close();
        } catch (Exception e) {
            System.err.println(e); // the session ends when its time is over
        } finally {
            answer(id + " closed");
        }
    }

    private static synchronized void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** The sequence number at the end of a znode's name: a fencing token. */
    static String number(String path) {
        return Long.toString(Long.parseLong(path.substring(path.length() - 10)));
    }

    static IllegalArgumentException unknown(String verb) {
        return new IllegalArgumentException("unknown verb " + verb);
    }
}
