package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

func leavesNothing(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout := prints(t, outcome.CodePass, "", "run", "lock-contention", "lock-drain", "--dry-run", "--ensemble", "embedded", "--clients", "1,3",
		"--repeats", "2", "--tag", "branch=main")
	hasAll(t, strings.Join(strings.Fields(stdout), " "),
		"dry run; scenarios: 2, measurements: 36, rehearsals before them: 3, at least ",
		"engine: embedded, because --ensemble was given servers: inside zkbench, which ends them",
		"znodes: below /zkbench-RUN, ", "results: results/runs/RUN; tags: branch=main ",
		"lock-contention: mode closed, ", "measurements: 12, rehearsals before them: 3, at least ", "; variants: 3, loads: 2, repeats: 2 ",
		"loads: 1 client, 3 clients lock-drain: mode lockstep, ",
		"measurements: 24, rehearsals before them: 0; the load is a number of operations, without an estimate of its time; variants: 6, loads: 2, repeats: 2 variants: lock/znode, lock/children-watch, ",
	)
	open := []string{"run", "lock-contention", "--dry-run", "--ensemble", "embedded", "--variants", "znode", "--clients", "3", "--mode", "open",
		"--rate", "20,30", "--duration", "2s", "--warm-up", "500ms", "--background", "reads: 10"}
	stdout = prints(t, outcome.CodePass, "dry run; scenarios: 1, measurements: 12, rehearsals before them: 1, at least 55s\n", open...) // 12 × 4.5s + 1s
	hasAll(t, stdout, "loads: 3 clients at 20/s, 3 clients at 30/s\n", "background-reads/s", "achieved/s")
	leavesNothing(t)
}

// A dry run counts the measurements, rehearsals and metrics that the run then has, and its loads take at least as long.
func TestDryRunAgreesWithTheRun(t *testing.T) {
	for _, args := range [][]string{
		{"lock-contention", "--clients", "1,2", "--repeats", "2", "--variants", "znode,predecessor-watch", "--duration", "200ms"},
		{"lock-contention", "--clients", "2", "--repeats", "1", "--variants", "znode", "--duration", "600ms", "--fault", "expire: any, at: 200ms"},
		{"lock-drain", "--clients", "2,3", "--repeats", "2"},
		{"lock-uncontended", "--quick"},
	} {
		t.Chdir(t.TempDir())
		dry := prints(t, outcome.CodePass, "dry run; scenarios: 1, ", slices.Concat([]string{"run", "--dry-run", "--ensemble", "embedded"}, args)...)
		var measured, rehearsed int
		first, _, _ := strings.Cut(dry, "\n")
		if _, err := fmt.Sscanf(first, "dry run; scenarios: 1, measurements: %d, rehearsals before them: %d", &measured, &rehearsed); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		var took time.Duration
		var stderr string
		ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
			began := time.Now()
			var out, said strings.Builder
			run(t.Context(), app{stdout: &out, stderr: &said, args: slices.Concat([]string{"run", "--out", "out", "--ensemble", "embedded"}, args), started: &started{}, servers: e})
			took, stderr = time.Since(began), said.String()
		})
		files := list.Where(must.Get(store.Files("out"))(t), func(f string) bool { return !strings.HasSuffix(f, "_r0.json") })
		if total := fmt.Sprintf("[1/%d]", measured+rehearsed); len(files) != measured || !strings.Contains(stderr, total) {
			t.Errorf("%v: %d documents, want %d; said %s, want %s", args, len(files), measured, stderr, total)
		}
		words := strings.FieldsFunc(dry, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
		for _, d := range must.Get(store.ReadAll([]string{"out"}))(t) {
			for name := range d.Metrics {
				m := metric.Named(name)
				if m.Operation == "" && m.Percentile != 90 && m.Percentile != 100 && !slices.Contains(words, name) {
					t.Errorf("%v: the dry run does not list the metric %s", args, name)
				}
			}
		}
		if _, text, ok := strings.Cut(first, "at least "); ok {
			if least := must.Get(time.ParseDuration(text))(t); took < least || took > 3*least {
				t.Errorf("%v: took %s of virtual time, and the dry run said at least %s", args, took, least)
			}
		}
	}
}

// Mistakes are those of the run, with its exit code.
func TestDryRunRefusesWhatTheRunRefuses(t *testing.T) {
	outsideCI(t)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(dir+"/file", nil, 0o644))
	writeRun(t, dir+"/old", "lock-drain", 0, 1, 1, 4)
	one := ensembletest.Embedded(t, embedded.Config{}).Addr()
	taken := ensembletest.Embedded(t, embedded.Config{}).Addr()
	t.Chdir(t.TempDir())
	onEmbedded := []string{"lock-drain", "--ensemble", "embedded"}
	for _, args := range [][]string{
		{"lock-drian"}, {"lock-drain", "lock-drain"}, {"lock-drain", "--variants", "nothing"}, {"lock-drain", "--clients", "0"},
		{"lock-drain", "--servers", "here"}, {"lock-drain", "--servers", "127.0.0.1:1"}, {"lock-drain", "--servers", one + "/bench"},
		{"lock-drain", "--servers", one + ",127.0.0.1:0" + strings.TrimPrefix(one, "127.0.0.1:")},
		{"lock-drain", "--ensemble", "process", "--zookeeper-home", "none"},
		append(onEmbedded, "--out", dir+"/file"), append(onEmbedded, "--out", dir+"/old"), append(onEmbedded, "--out", dir+"/file/x"),
		append(onEmbedded, "--prometheus", "x"), append(onEmbedded, "--prometheus", taken), append(onEmbedded, "--driver", "none.py"),
		{"lock-contention", "--ensemble", "embedded", "--fault", "kill: leader, at: 1s"},
		{"lock-contention", "--ensemble", "embedded", "--clients", "900000"},
	} {
		stdout, got, dry := command(t.Context(), append([]string{"run", "--dry-run"}, args...)...)
		leavesNothing(t)
		_, want, code := command(t.Context(), append([]string{"run"}, args...)...)
		must.Do(t, os.RemoveAll("results")) // of a run whose servers were refused
		if code == outcome.CodePass || dry != code || got != want || stdout != "" {
			t.Errorf("%v: exit code %d, %q; want %d, %q, as without --dry-run; printed %s", args, dry, got, code, want, stdout)
		}
	}
}

func TestDryRunOnServers(t *testing.T) {
	t.Chdir(t.TempDir())
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil))(t)
	defer conn.Close()
	must.Get(conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	_, before, err := conn.Exists("/bench")
	must.Do(t, err)
	stdout := prints(t, outcome.CodePass, "", "run", "lock-drain", "--dry-run", "--clients", "2", "--servers", addr+"/bench")
	hasAll(t, strings.Join(strings.Fields(stdout), " "),
		"engine: external, because --servers was given servers: "+addr+"/bench", "znodes: below /bench/zkbench-RUN, ",
		addr+": standalone, accepts sessions, answers a read within ", "chroot, which exists: /bench", "metrics, if there are enough samples: ", "not checked, as this needs a znode: ",
		"session timeouts and outgoing ports: enough for each scenario",
	)
	if _, after, err := conn.Exists("/bench"); err != nil || *after != *before {
		t.Errorf("the chroot was %+v, and is %+v (%v): a child was created", before, after, err)
	}
	hasty := ensembletest.Embedded(t, embedded.Config{Tick: 100 * time.Millisecond}).Addr()
	says(t, outcome.CodePass, "lock-drain: the servers granted a session timeout of 2s instead of 30s", "run", "lock-drain", "--dry-run", "--servers", hasty)
	leavesNothing(t)
}
