import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** A client of the read/write lock of Apache Curator, InterProcessReadWriteLock. It has one lock, which it uses again. */
public class CuratorReadWriteLock extends CuratorDriver {
    private InterProcessReadWriteLock lock;
    private InterProcessMutex held;

    @Override
    void prepare(String path, int clients) {
        lock = new InterProcessReadWriteLock(curator, path);
    }

    @Override
    String call(String verb, String argument) throws Exception {
        switch (verb) {
            case "acquire-read" -> {
                return acquire(lock.readLock());
            }
            case "acquire-write" -> {
                return acquire(lock.writeLock());
            }
            case "release" -> held.release();
            default -> throw unknown(verb);
        }
        return "";
    }

    private String acquire(InterProcessMutex wanted) throws Exception {
        wanted.acquire();
        held = wanted;
        return token(held);
    }

    public static void main(String[] args) throws Exception {
        run(CuratorReadWriteLock::new);
    }
}
