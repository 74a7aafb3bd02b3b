import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.recipes.leader.LeaderLatch;

/**
 * A candidate of the leader election of Apache Curator, LeaderLatch, with a latch for each term. The epoch is the sequence number of the
 * latch's znode, which Curator does not hand out: it is taken from the object, without a request.
 */
public class CuratorLeaderLatch extends CuratorDriver {
    private String path;
    private LeaderLatch latch;

    @Override
    void prepare(String path, int clients) {
        this.path = path;
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "campaign" -> {
                latch = new LeaderLatch(curator, path);
                latch.start();
                latch.await();
                return epoch();
            }
            case "resign" -> latch.close();
            default -> throw unknown(verb);
        }
        return "";
    }

    private String epoch() throws Exception {
        Field ourPath = LeaderLatch.class.getDeclaredField("ourPath");
        ourPath.setAccessible(true);
        return number((String) ((AtomicReference<?>) ourPath.get(latch)).get());
    }

    public static void main(String[] args) throws Exception {
        run(CuratorLeaderLatch::new);
    }
}
