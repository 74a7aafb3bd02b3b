import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.zookeeper.KeeperException.NodeExistsException;

/**
 * A member of the double barrier of Apache Curator, DistributedDoubleBarrier. A barrier object is good for one round, and its znode for the
 * next one only when all have left: rounds take place at two znodes in turns.
 */
public class CuratorDoubleBarrier extends CuratorDriver {
    private String path;
    private int members;
    private int round;
    private DistributedDoubleBarrier barrier;

    @Override
    void prepare(String path, int clients) throws Exception {
        this.path = path;
        members = clients;
        create(path + "/even"); // so that no round creates them; a server removes containers that are empty
        create(path + "/odd");
    }

    private void create(String path) throws Exception {
        try {
            curator.create().forPath(path);
        } catch (NodeExistsException e) {
            // another client was faster
        }
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "enter" -> {
                barrier = new DistributedDoubleBarrier(curator, path + (round % 2 == 0 ? "/even" : "/odd"), members);
                barrier.enter();
            }
            case "leave" -> {
                barrier.leave();
                round++; // after a failure, the same round is tried again
            }
            default -> throw unknown(verb);
        }
        return "";
    }

    public static void main(String[] args) throws Exception {
        run(CuratorDoubleBarrier::new);
    }
}
