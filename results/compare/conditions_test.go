package compare_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/grouping"
)

// slower is two sides in turns of which the other is clearly slower, and has more exact requests in a drain.
func slower(change func(*results.Document)) (a, b compare.Side) {
	a, b = turns("ops/s", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
	a.Docs = append(a.Docs, exact(doc("a", "znode", 1, 90, one("requests/op", 4)))...)
	b.Docs = append(b.Docs, exact(doc("b", "znode", 1, 91, one("requests/op", 5)))...)
	for _, d := range b.Docs {
		change(d)
	}
	return a, b
}

func TestConditions(t *testing.T) {
	type environment = results.Environment
	for _, tt := range []struct {
		name     string
		change   func(*environment)
		differs  string            // the condition that is reported
		across   []grouping.Aspect // the aspects that are accepted as the subject
		hindered bool
	}{
		{"nothing", func(*environment) {}, "", nil, false},
		{"another build", func(e *environment) { e.Zkbench = "2.0" }, "zkbench: zkbench 1.0 2.0", nil, false},
		{"another Go", func(e *environment) { e.Go = "go2" }, "zkbench: Go go1.26 go2", nil, false},
		{"engine", func(e *environment) { e.Engine = "process" }, "engine: engine container process", nil, true},
		{"engine as the subject", func(e *environment) { e.Engine = "process" }, "engine: engine container process", []grouping.Aspect{grouping.EngineAspect}, false},
		{"embedded is never", func(e *environment) { e.Engine = "embedded" }, "engine: engine container embedded", []grouping.Aspect{grouping.EngineAspect}, true},
		{"another engine's own settings", func(e *environment) {
			e.Engine, e.Image = "process", "/opt/zookeeper"
			e.ServerConfig = map[string]string{"tickTime": "2000", "snapCount": "5"}
		}, "engine: engine container process", []grouping.Aspect{grouping.EngineAspect}, false},
		{"ZooKeeper", func(e *environment) { e.ZooKeeper = "3.8.0" }, "zookeeper: ZooKeeper 3.9.3 3.8.0", nil, true},
		{"ZooKeeper as the subject", func(e *environment) { e.ZooKeeper = "3.8.0" }, "zookeeper: ZooKeeper 3.9.3 3.8.0", []grouping.Aspect{grouping.ZooKeeperAspect}, false},
		{"another subject", func(e *environment) { e.ZooKeeper = "3.8.0" }, "zookeeper: ZooKeeper 3.9.3 3.8.0", []grouping.Aspect{grouping.SettingsAspect}, true},
		{"another product", func(e *environment) {
			e.Product, e.ZooKeeper, e.Image, e.ServerConfig = "ClickHouse Keeper", "26.7", "", map[string]string{"quorum_reads": "false"}
		}, "zookeeper: product ZooKeeper ClickHouse Keeper", nil, true},
		{"another product as the subject", func(e *environment) { e.Product, e.ZooKeeper = "ClickHouse Keeper", "26.7" }, "zookeeper: product ZooKeeper ClickHouse Keeper", []grouping.Aspect{grouping.ZooKeeperAspect}, false},
		{"TLS and authentication", func(e *environment) { e.TLS, e.Auth = true, "digest" }, "settings: TLS false true; settings: authentication none digest", nil, true},
		{"TLS as the subject", func(e *environment) { e.TLS = true }, "settings: TLS false true", []grouping.Aspect{grouping.SettingsAspect}, false},
		{"image", func(e *environment) { e.Image = "mine" }, "zookeeper: image zookeeper:3.9.3 mine", nil, true},
		{"a setting", func(e *environment) { e.ServerConfig = map[string]string{"tickTime": "500"} }, "settings: tickTime 2000 500", nil, true},
		{"a setting that only one tells", func(e *environment) { e.ServerConfig = nil }, "settings: tickTime 2000 unset", nil, true},
		{"a setting as the subject", func(e *environment) { e.ServerConfig = map[string]string{"tickTime": "500"} }, "settings: tickTime 2000 500", []grouping.Aspect{grouping.SettingsAspect}, false},
		{"where servers are", func(e *environment) {
			e.Servers = []string{"x:1", "y:1", "z:1"}
			e.ServerConfig = map[string]string{"tickTime": "2000", "clientPort": "9", "dataDir": "/x", "dataLogSize": "7", "server.1": "x:2:3"}
		}, "", nil, false},
		{"how many servers", func(e *environment) { e.Servers = e.Servers[:1] }, "settings: servers 3 1", nil, true},
		{"session timeout", func(e *environment) { e.SessionTimeout = time.Second }, "settings: session timeout 30s 1s", nil, true},
		{"file system", func(e *environment) { e.TxnLog = "/datalog (tmpfs on tmpfs)" }, "settings: transaction log ext4 on /dev/vda tmpfs on tmpfs", nil, true},
		{"memory as the subject", func(e *environment) { e.TxnLog = "/datalog (tmpfs on tmpfs)" }, "settings: transaction log ext4 on /dev/vda tmpfs on tmpfs", []grouping.Aspect{grouping.SettingsAspect}, true},
		{"another disk as the subject", func(e *environment) { e.TxnLog = "/datalog (xfs on /dev/vdb)" }, "settings: transaction log ext4 on /dev/vda xfs on /dev/vdb", []grouping.Aspect{grouping.SettingsAspect}, false},
		{"folder", func(e *environment) { e.TxnLog = "/elsewhere (ext4 on /dev/vda)" }, "", nil, false},
		{"CPU", func(e *environment) { e.CPU = "Xeon" }, "machine: CPU EPYC Xeon", nil, true},
		{"CPUs", func(e *environment) { e.CPUs = 8 }, "machine: CPUs 2 8", nil, true},
		{"memory", func(e *environment) { e.Memory = 8 << 30 }, "machine: memory 24.0 GiB 8.0 GiB", nil, true},
		{"kernel", func(e *environment) { e.Kernel = "6.2" }, "machine: kernel 6.1 6.2", nil, true},
		{"operating system", func(e *environment) { e.OS = "debian 13" }, "machine: operating system debian 12 debian 13", nil, true},
		{"machine among all subjects", func(e *environment) { e.CPU = "Xeon" }, "machine: CPU EPYC Xeon", compare.Subjects(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := slower(func(d *results.Document) { tt.change(&d.Environment) })
			c, err := compare.Runs([]compare.Side{a, b}, compare.Options{Across: tt.across})
			if err != nil || len(c.Rows) != 2 {
				t.Fatalf("%+v, %v", c, err)
			}
			var named []string
			for _, d := range c.Differences {
				named = append(named, string(d.Subject)+": "+strings.Join([]string{d.Name, d.Base, d.Other}, " "))
			}
			if got := strings.Join(named, "; "); got != tt.differs {
				t.Errorf("named %q, want %q", got, tt.differs)
			}
			rate, count := c.Rows[0], c.Rows[1]
			if (rate.Verdict == compare.Worse) == tt.hindered || tt.hindered != strings.HasPrefix(rate.Reason, "measured under different conditions: ") {
				t.Errorf("ops/s: %s (%s), want it hindered: %t", rate.Verdict, rate.Reason, tt.hindered)
			}
			if count.Verdict != compare.Worse {
				t.Errorf("exact count: %s (%s)", count.Verdict, count.Reason)
			}
		})
	}
}

// A side whose own documents differ is not compared across anything.
func TestMixedSides(t *testing.T) {
	a, b := slower(func(*results.Document) {})
	b.Docs[2].Environment.ZooKeeper = "3.8.0"
	c, err := compare.Runs([]compare.Side{a, b}, compare.Options{Across: compare.Subjects()})
	if err != nil || len(c.Differences) != 1 || c.Differences[0].Other != "3.8.0 or 3.9.3" || c.Rows[0].Verdict != compare.Undecided {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDifferentLoadsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*results.Scenario){
		"mode closed and lockstep":    func(s *results.Scenario) { s.Mode = "lockstep" },
		"operations 0 and 5":          func(s *results.Scenario) { s.Operations = 5 },
		"duration 3s and 1s":          func(s *results.Scenario) { s.Duration = time.Second },
		"warm-up 0s and 1s":           func(s *results.Scenario) { s.WarmUp = time.Second },
		"hold 0s and 5ms":             func(s *results.Scenario) { s.Hold = 5 * time.Millisecond },
		"think 0s and 5ms":            func(s *results.Scenario) { s.Think = 5 * time.Millisecond },
		"heap false and true":         func(s *results.Scenario) { s.Heap = true },
		"bystander-rate 0 and 10":     func(s *results.Scenario) { s.BystanderRate = 10 },
		"faults none and kill: any":   func(s *results.Scenario) { s.Faults = []results.FaultLoad{{Kind: "kill", Whom: "any"}} },
		"duration 3s and 1s, hold 0s": func(s *results.Scenario) { s.Duration, s.Hold = time.Second, time.Second },
	} {
		a, b := turns("ops/s", []float64{1, 1}, []float64{2, 2})
		for _, d := range b.Docs {
			change(&d.Scenario)
		}
		_, err := compare.Runs([]compare.Side{a, b}, compare.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "lock-contention: these are different loads: "+want) || !strings.HasSuffix(err.Error(), "; measure both with the same load") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	a, b := turns("ops/s", []float64{1, 1}, []float64{2, 2})
	for _, d := range b.Docs {
		s := &d.Scenario
		s.Repeats, s.Seed, s.Variants, s.Clients, s.Overview, s.Question = 9, 9, []string{"x"}, []int{1}, "x against y by z", "why?"
	}
	if _, err := compare.Runs([]compare.Side{a, b}, compare.Options{}); err != nil {
		t.Errorf("what is no load: %v", err)
	}
}
