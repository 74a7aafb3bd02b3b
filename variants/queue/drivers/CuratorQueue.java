import java.util.HexFormat;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;

/** A client of the queue of Apache Curator, SimpleDistributedQueue. An item is taken by poll. */
public class CuratorQueue extends CuratorDriver {
    private static final HexFormat HEX = HexFormat.of();
    private SimpleDistributedQueue queue;

    @Override
    void prepare(String path, int clients) throws Exception {
        queue = new SimpleDistributedQueue(curator, path);
        queue.peek(); // looks for the queue's znode, which is not to be counted
    }

    @Override
    String call(String verb, String item) throws Exception {
        switch (verb) {
            case "put" -> queue.offer(HEX.parseHex(item));
            case "take" -> {
                byte[] taken = queue.poll();
                return taken == null ? "" : HEX.formatHex(taken);
            }
            default -> throw unknown(verb);
        }
        return "";
    }

    public static void main(String[] args) throws Exception {
        run(CuratorQueue::new);
    }
}
