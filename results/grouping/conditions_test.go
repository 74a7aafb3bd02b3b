package grouping_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

// measured is a document with something in every condition.
func measured() *results.Document {
	return &results.Document{
		Scenario: results.Scenario{
			Name: "lock-drain", Mode: "lockstep", Repeats: 3, Seed: 1, Background: &results.BackgroundLoad{Reads: 1000, Bytes: 10},
			Stages: []results.StageLoad{{For: 2 * time.Second, Clients: 1}, {For: 3 * time.Second, Clients: 10}},
		},
		Environment: results.Environment{
			Engine: "container", ZooKeeper: "3.9.3", Image: "zookeeper", Servers: []string{"a:1", "b:1", "c:1"},
			ServerConfig: map[string]string{"tickTime": "2000", "clientPort": "1"}, TxnLog: "/a (ext4 on /dev/vda)",
			SessionTimeout: time.Second, Zkbench: "1.0", Go: "go1.26", OS: "debian", Kernel: "6.1", CPU: "EPYC", CPUs: 2, Memory: 24 << 30,
		},
	}
}

func TestDiffering(t *testing.T) {
	type document = results.Document
	for name, change := range map[string]func(*document){
		"load mode":           func(d *document) { d.Scenario.Mode = "closed" },
		"load size":           func(d *document) { d.Scenario.Size = 5 },
		"load operations":     func(d *document) { d.Scenario.Operations = 5 },
		"load duration":       func(d *document) { d.Scenario.Duration = time.Second },
		"load warm-up":        func(d *document) { d.Scenario.WarmUp = time.Second },
		"load hold":           func(d *document) { d.Scenario.Hold = time.Second },
		"load think":          func(d *document) { d.Scenario.Think = time.Second },
		"load heap":           func(d *document) { d.Scenario.Heap = true },
		"load bystander-rate": func(d *document) { d.Scenario.BystanderRate = 7 },
		"load background":     func(d *document) { d.Scenario.Background.Bytes = 20 },
		"load stages":         func(d *document) { slices.Reverse(d.Scenario.Stages) },
		"load faults": func(d *document) {
			d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second}}
		},
		"load roam":                func(d *document) { d.Scenario.Roam = true },
		"load session-timeout":     func(d *document) { d.Scenario.SessionTimeout = time.Second },
		"load workers":             func(d *document) { d.Workers = []results.Worker{{Zone: "a"}, {Zone: "b"}} },
		"engine engine":            func(d *document) { d.Environment.Engine = "process" },
		"zookeeper ZooKeeper":      func(d *document) { d.Environment.ZooKeeper = "3.8.0" },
		"zookeeper image":          func(d *document) { d.Environment.Image = "" },
		"settings TLS":             func(d *document) { d.Environment.TLS = true },
		"settings authentication":  func(d *document) { d.Environment.Auth = "digest" },
		"settings servers":         func(d *document) { d.Environment.Servers = nil },
		"settings chroot":          func(d *document) { d.Environment.Chroot = "/bench" },
		"settings tickTime":        func(d *document) { d.Environment.ServerConfig = nil },
		"settings session timeout": func(d *document) { d.Environment.SessionTimeout = time.Minute },
		"settings transaction log": func(d *document) { d.Environment.TxnLog = "/a (tmpfs)" },
		"machine CPU":              func(d *document) { d.Environment.CPU = "Xeon" },
		"machine CPUs":             func(d *document) { d.Environment.CPUs = 4 },
		"machine memory":           func(d *document) { d.Environment.Memory = 8 << 30 },
		"machine kernel":           func(d *document) { d.Environment.Kernel = "6.2" },
		"machine operating system": func(d *document) { d.Environment.OS = "ubuntu" },
		"zkbench zkbench":          func(d *document) { d.Environment.Zkbench = "1.1" },
		"zkbench Go":               func(d *document) { d.Environment.Go = "go1.27" },
	} {
		a, b := measured(), measured()
		change(b)
		got := grouping.Differing([]*document{a}, []*document{b})
		if len(got) != 1 || string(got[0].Aspect)+" "+got[0].Name != name || grouping.Setup(a) == grouping.Setup(b) {
			t.Errorf("%s: unlike in %v; same: %t", name, got, grouping.Setup(a) == grouping.Setup(b))
		}
	}
}

// A document that does not say the product, TLS or the authentication is of ZooKeeper, on a plain connection.
func TestDifferingFromDocumentsWithoutACondition(t *testing.T) {
	old, keeper, secure := measured(), measured(), measured()
	keeper.Environment.Product, keeper.Environment.ZooKeeper = "ClickHouse Keeper", "26.7.5.10"
	secure.Environment.TLS, secure.Environment.Auth = true, "digest"
	for _, tt := range []struct {
		other *results.Document
		want  []string
	}{
		{keeper, []string{
			"zookeeper ClickHouse Keeper: unset, 26.7.5.10", "zookeeper ZooKeeper: 3.9.3, unset", "zookeeper product: ZooKeeper, ClickHouse Keeper",
		}},
		{secure, []string{"settings TLS: false, true", "settings authentication: none, digest"}},
	} {
		var got []string
		for _, d := range grouping.Differing([]*results.Document{old}, []*results.Document{tt.other}) {
			got = append(got, fmt.Sprintf("%s %s: %s, %s", d.Aspect, d.Name, d.Base[0], d.Other[0]))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A group whose documents differ from each other differs from any other, also if one of its documents lacks a condition.
func TestDifferingWithinAGroup(t *testing.T) {
	whole, other, without := measured(), measured(), measured()
	other.Environment.ServerConfig = map[string]string{"tickTime": "500"}
	without.Environment.ServerConfig = nil
	for want, group := range map[string][]*results.Document{"2000, 500": {whole, other}, "2000, unset": {without, whole}, "": {whole, whole}} {
		for _, second := range [][]*results.Document{{whole}, group} {
			var got string
			for _, d := range grouping.Differing(second, group) {
				got = d.Name + " " + strings.Join(d.Other, ", ")
			}
			if got != strings.TrimSpace("tickTime "+want) && want != "" || got != "" && want == "" {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// Times without a disk in them are said to be such, wherever they are printed.
func TestTransactionLogsInMemory(t *testing.T) {
	for txnLog, want := range map[string]bool{
		"/datalog/version-2 (tmpfs on tmpfs)": true,
		"/dev/shm/x (ramfs on none)":          true,
		"/a (ext4 on /dev/vda)":               false,
		"/tmpfs (ext4 on /dev/vda)":           false,
		"none: everything is in memory":       false,
		"":                                    false,
	} {
		d := measured()
		d.Environment.TxnLog, d.Scenario.Stages = txnLog, nil
		var out bytes.Buffer
		report.WriteTable(&out, summary.Of([]*results.Document{d}), 80)
		inTable := strings.Contains(out.String(), "lock-drain on container with transaction logs in memory")
		report.WriteVerdict(&out, []*results.Document{d})
		inVerdict := strings.Contains(out.String(), "TRANSACTION LOGS IN MEMORY")
		if grouping.InMemory(d.Environment) != want || inTable != want || inVerdict != want {
			t.Errorf("%q: in memory: %t, said by the table: %t, by the verdict: %t; want %t", txnLog, grouping.InMemory(d.Environment), inTable, inVerdict, want)
		}
	}
}

// The heading of a table names the engine, and another product than ZooKeeper, TLS and authentication in brackets.
func TestServersInHeadings(t *testing.T) {
	for want, e := range map[string]results.Environment{
		"lock-drain on external, ":                                       {ZooKeeper: "3.9.3"},
		"lock-drain on external (ClickHouse Keeper 26.7), ":              {Product: "ClickHouse Keeper", ZooKeeper: "26.7"},
		"lock-drain on external (TLS, digest), ":                         {ZooKeeper: "3.9.3", TLS: true, Auth: "digest"},
		"lock-drain on external (ClickHouse Keeper 26.7, digest), ":      {Product: "ClickHouse Keeper", ZooKeeper: "26.7", Auth: "digest"},
		"lock-drain on external with transaction logs in memory (TLS), ": {TLS: true, TxnLog: "/a (tmpfs on tmpfs)"},
	} {
		d := measured()
		d.Scenario.Stages, d.Environment = nil, e
		d.Environment.Engine = "external"
		var out bytes.Buffer
		report.WriteTable(&out, summary.Of([]*results.Document{d}), 80)
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// Differences that do not shape a measurement do not separate documents.
func TestSameConditions(t *testing.T) {
	type document = results.Document
	for name, change := range map[string]func(*document){
		"nothing":            func(*document) {},
		"the seed":           func(d *document) { d.Scenario.Seed = 2 },
		"repeats":            func(d *document) { d.Scenario.Repeats = 1 },
		"the tags":           func(d *document) { d.Tags = results.Tags{"branch": "main"} },
		"the other variants": func(d *document) { d.Scenario.Variants = []string{"znode"} },
		"another port": func(d *document) {
			d.Environment.ServerConfig = map[string]string{"tickTime": "2000", "clientPort": "2"}
		},
		"where a Keeper is": func(d *document) {
			d.Environment.ServerConfig["tcp_port"], d.Environment.ServerConfig["log_storage_path"] = "9181", "/b"
			d.Environment.ServerConfig["server_id"], d.Environment.ServerConfig["tcp_port_secure"] = "2", "9281"
		},
		"another folder":    func(d *document) { d.Environment.TxnLog = "/b (ext4 on /dev/vda)" },
		"where they listen": func(d *document) { d.Environment.Servers = []string{"x:1", "y:1", "z:1"} },
	} {
		a, b := measured(), measured()
		change(b)
		if grouping.Setup(a) != grouping.Setup(b) {
			t.Errorf("%s: unlike in %v", name, grouping.Differing([]*document{a}, []*document{b}))
		}
	}
	b, without := measured(), measured()
	b.Scenario.Name, without.Scenario.Background = "lock-contention", nil
	if slices.Contains([]string{grouping.Setup(b), grouping.Setup(without)}, grouping.Setup(measured())) {
		t.Error("two scenarios, or two backgrounds, were taken for one")
	}
}
