import java.util.HexFormat;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** A client of the queue that comes with ZooKeeper, DistributedQueue of its recipes. An item is taken by poll. */
public class ZooKeeperQueue extends ZooKeeperDriver {
    private static final HexFormat HEX = HexFormat.of();
    private DistributedQueue queue;

    @Override
    void prepare(String path) {
        queue = new DistributedQueue(zooKeeper, path, Ids.OPEN_ACL_UNSAFE);
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
        run(ZooKeeperQueue::new);
    }
}
