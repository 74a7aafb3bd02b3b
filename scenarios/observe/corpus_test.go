package observe

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
)

const (
	protected = "_c_4a1f0c9e-1b2d-4c3e-9f00-0123456789ab-" // as Curator begins names
	nameNode  = "/hadoop-ha/ns/ActiveStandbyElectorLock"
)

// corpus has patterns of public projects, and the words that fit them: what is named, which may be nothing.
var corpus = []struct {
	project, pattern string
	play             func(a *app)
	want             string
	better           bool
}{
	{"Solr", "overseer's queue, one consumer", queue("/overseer/queue/qn-", 4, 1), "blockingqueue", false},
	{"Solr", "election of the overseer", candidates("/overseer_elect/election/7205-host_8983_solr-n_", func(*client) {}), "election", false},
	{"Kafka", "controller", oneLeader("/controller", func(c *client) { c.Close() }), "election/master-znode", true},
	{"Kafka", "brokers' registration", discovery("/brokers/ids/", zk.FlagEphemeral, closes, 1, readsIt), "membership", false},
	{"Kafka", "notifications of changed replicas", queue("/isr_change_notification/isr_change_", 3, 1), "blockingqueue", false},
	{"HBase", "active master", oneLeader("/hbase/master", func(c *client) { c.Close() }), "election/master-znode", true},
	{"HBase", "region servers", discovery("/hbase/rs/host,16020,", zk.FlagEphemeral, closes, 2, ignoresIt), "membership", false},
	{"HBase", "regions in transition", regions, "", false},
	{"Hadoop", "active NameNode", oneLeader(nameNode, func(c *client) { c.remove(nameNode) }), "lock/znode", true},
	{"Curator", "InterProcessMutex", mutex("/app/lock/"+protected+"lock-", false), "lock/predecessor-watch", false},
	{"Curator", "InterProcessReadWriteLock", readWrite("/app/rw/"+protected, "__READ__", "__WRIT__"), "rwlock", false},
	{"Curator", "LeaderLatch", candidates("/app/latch/"+protected+"latch-", func(*client) {}), "election", false},
	{"Curator", "DistributedDoubleBarrier", doubleBarrier, "doublebarrier", false},
	{"Curator", "DistributedBarrier", barrier, "barrier", false},
	{"Curator", "DistributedQueue, one consumer", queue("/app/queue/queue-", 3, 1), "blockingqueue", false},
	{"Curator", "DistributedQueue, five consumers", queue("/app/queue/queue-", 3, 5), "blockingqueue/all-watch", true},
	{"Curator", "PathChildrenCache of settings", cache, "treecache", false},
	{"Curator", "service discovery", discovery("/services/web/"+protected, zk.FlagEphemeral, deletes, 5, watchesIt), "membership", false},
	{"kazoo", "Lock", mutex("/app/lock/0123456789abcdef0123456789abcdef__lock__", true), "lock/predecessor-watch", false},
	{"kazoo", "ReadLock and WriteLock", readWrite("/app/rw/0123456789abcdef0123456789abcdef", "__rlock__", "__lock__"), "rwlock", false},
	{"kazoo", "Queue", polledQueue, "queue", false},
	{"kazoo", "Party", party, "", false},
	{"kazoo", "Semaphore", semaphore("/app/leases/", zk.FlagEphemeral, 2), "lock/predecessor-watch", false},
	{"kazoo", "LockingQueue, one consumer", lockingQueue(1, 0), "queue", false},
	{"kazoo", "LockingQueue, five consumers", lockingQueue(5, 0), "queue", false},
	{"kazoo", "LockingQueue, two of five get items", lockingQueue(2, 3), "queue", false},
	{"kazoo", "Lock of threads", exclusive(nothing, "/app/lock/thread-", "/app/lock/task-"), "lock/predecessor-watch", false},
	{"kazoo", "Lock of readers and writers", exclusive(nothing, "/app/lock/reader-", "/app/lock/writer-"), "lock/predecessor-watch", false},
	{"kazoo", "Lock with progress of holders", exclusive((*client).write, "/app/lock/x-"), "lock/predecessor-watch", false},
	{"kazoo", "test suite in directories with ids", idsOfTests, "rwlock", false},
	{"Curator", "DistributedPriorityQueue", byPriority, "priorityqueue", false},
	{"Curator", "InterProcessSemaphoreMutex", semaphore("/app/leases/"+protected+"lease-", inLine, 1), "lock/predecessor-watch", false},
	{"Twitter", "ServerSet", discovery("/discovery/web/member_", inLine, deletes, 10, readsIt), "membership", false},
	{"Mesos", "masters' group", group, "membership", false},
	{"Dubbo", "registry", discovery("/dubbo/Bar/providers/10.0.0.", zk.FlagEphemeral, closes, 8, ignoresIt), "membership", false},
	{"Helix", "live instances", discovery("/cluster/LIVEINSTANCES/host_1200", zk.FlagEphemeral, closes, 3, readsIt), "membership", false},
	{"Helix", "messages of the controller", messages, "masterworker", false},
	{"Helix", "external view", externalView, "config", false},
	{"ClickHouse", "replication log", replicationLog, "", false},
	{"any", "log of changes, deleted by its readers", changeLog, "", false},
	{"any", "group that leaves and comes back", groupRestart, "doublebarrier/children-watch", false}, // or membership
	{"any", "ring of health checks", ring, "", false},
	{"any", "lock that watches the list", listLock, "lock/children-watch", true},
	{"any", "rolling restart of members that watch each other", watchfulMembers, "membership", false},
}

func nothing(*client, string) {}

func TestCorpus(t *testing.T) {
	var table strings.Builder
	for _, p := range corpus {
		t.Run(p.project+"/"+p.pattern, func(t *testing.T) {
			var looks []Look
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				ctx, end := context.WithCancel(t.Context())
				a := &app{T: t, server: e.Servers()[0], epoch: time.Now(), ctx: ctx}
				a.observer = New(a.epoch, results.Environment{ZooKeeper: "3.9.3"})
				p.play(a)
				time.Sleep(2*herdSilence + lookEvery)
				synctest.Wait()
				looks = a.observer.Report().Looks
				end()
				a.working.Wait()
			})
			words, better := "", ""
			for _, l := range looks {
				words += l.Variant + " "
				better += l.Better
				t.Log(l)
			}
			words = strings.TrimSpace(words)
			fmt.Fprintf(&table, "%-10s  %-50s  %s\n", p.project, p.pattern, cmp.Or(words, "nothing"))
			if words != p.want || better != "" != p.better {
				t.Errorf("says %q and advises %q, want %q and advice %t", words, better, p.want, p.better)
			}
		})
	}
	t.Logf("%d patterns, each with the right words or nothing:\n%s", len(corpus), table.String())
}
