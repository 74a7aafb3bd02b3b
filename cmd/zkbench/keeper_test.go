package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// keeper is a server in front of a ZooKeeper server that answers as ClickHouse Keeper does, by its source: srvr names another product,
// mntr has fewer counters, conf has other settings, other commands are cut off, and no notification names its transaction.
type keeper struct{ backend ensemble.Server }

// startKeeper starts the embedded server behind a keeper, and returns the keeper's address.
func startKeeper(t *testing.T) string {
	t.Helper()
	k := keeper{ensembletest.Embedded(t, embedded.Config{}).Servers()[0]}
	return ensembletest.Listen(t, func(conn net.Conn) { k.serve(t, conn) })
}

const keeperConf = `server_id=1
enable_ipv6=true
tcp_port=9181
four_letter_word_allow_list=conf,mntr,srvr
max_requests_batch_size=100
min_session_timeout_ms=10000
session_timeout_ms=100000
dead_session_check_period_ms=500
snapshot_distance=100000
quorum_reads=false
force_sync=true
`

func (k keeper) serve(t *testing.T, conn net.Conn) {
	word := make([]byte, 4)
	if _, err := io.ReadFull(conn, word); err != nil {
		return
	}
	if word[0] != 0 { // the length of a connect request is small
		_, _ = io.WriteString(conn, k.answer(t, string(word)))
		return
	}
	backend, err := net.Dial("tcp", k.backend.Addr)
	if err != nil {
		return
	}
	defer backend.Close()
	go func() {
		defer backend.Close()
		_, _ = io.Copy(backend, io.MultiReader(bytes.NewReader(word), conn))
	}()
	defer conn.Close()
	for connected := false; ; connected = true {
		frame, err := frameOf(backend)
		if err != nil {
			return
		}
		if xid := int32(binary.BigEndian.Uint32(frame[4:])); connected && xid == -1 { // a notification
			binary.BigEndian.PutUint64(frame[8:], ^uint64(0)) // zxid -1
		}
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// answer returns the answer to a four-letter command, with the numbers of the server behind it. It is empty for one that is not allowed.
func (k keeper) answer(t *testing.T, word string) string {
	if word == "conf" {
		return keeperConf
	}
	if word != "srvr" && word != "mntr" {
		return ""
	}
	text, err := ensemble.Command(t.Context(), k.backend, word)
	if err != nil {
		return "This instance is not currently serving requests"
	}
	const version = "v26.7.5.10-stable-4f1c9a7be0d25cc3a2f7"
	var out strings.Builder
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(line, "Zookeeper version: "):
			out.WriteString("ClickHouse Keeper version: " + version + "\n")
		case name == "zk_version":
			out.WriteString("zk_version\t" + version + "\n")
		case name == "zk_uptime" || name == "zk_global_sessions" || strings.HasPrefix(name, "zk_sum_"): // Keeper has none of these
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// frameOf reads a frame with its length.
func frameOf(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(frame)
	if length < 16 || length > 1<<20 {
		return nil, errors.New("not a reply")
	}
	frame = append(frame, make([]byte, length)...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// On ClickHouse Keeper, a run counts as on ZooKeeper, and its texts name the product, what Keeper does not report, and that herds are
// guessed. Its times are compared with those on ZooKeeper only across the product.
func TestRunOnKeeper(t *testing.T) {
	t.Chdir(t.TempDir())
	outsideCI(t)
	zooKeeper := ensembletest.Embedded(t, embedded.Config{}).Addr()
	run := func(out, addr string) string {
		stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--variants", "children-watch,predecessor-watch", "--clients", "5",
			"--repeats", "2", "--servers", addr, "--out", out)
		if code != outcome.CodePass {
			t.Fatalf("%s: exit code %d: %s%s", out, code, stdout, stderr)
		}
		return strings.Join(strings.Fields(stdout), " ")
	}
	run("zookeeper", zooKeeper)
	hasAll(t, run("keeper", startKeeper(t)),
		"lock-drain on external (ClickHouse Keeper 26.7.5.10), median of 2 repeats", " ~4 ", " ~1 ",
		"the counts of 4 of 4 measurements equal the variants' formulas to the last one",
		"mntr has no zk_sum_node_created_watch_count: ZooKeeper before 3.6 and ClickHouse Keeper do not count notifications",
		"notifications of ClickHouse Keeper 26.7.5.10 do not name the transaction that caused them",
	)
	for _, d := range must.Get(store.ReadAll([]string{"keeper"}))(t) {
		e := d.Environment
		if e.Product != "ClickHouse Keeper" || e.ZooKeeper != "26.7.5.10" || e.ServerConfig["snapshot_distance"] != "100000" {
			t.Errorf("%s is of %+v", d.Filename(), e)
		}
		if d.Herd.Grouping != results.GroupedByPathAndTime || len(d.Invalid) > 0 || d.Servers[0].Restarted {
			t.Errorf("%s: herds by %s, %v, %+v", d.Filename(), d.Herd.Grouping, d.Invalid, d.Servers)
		}
	}
	const differs = "differs: product ZooKeeper in the base, ClickHouse Keeper in keeper"
	apart := prints(t, outcome.CodePass, differs+" (only exact counts are compared; with --across\nzookeeper, all are)\n", "compare", "zookeeper", "keeper")
	hasAll(t, apart, "measured under different conditions: product", "(before ZooKeeper 3.9, and on ClickHouse")
	if strings.Contains(apart, "tickTime") || strings.Contains(apart, "snapshot_distance") {
		t.Errorf("settings that only one product has are compared:\n%s", apart)
	}
	across := prints(t, outcome.CodePass, differs+"\n", "compare", "zookeeper", "keeper", "--across", "zookeeper")
	if strings.Contains(across, "different conditions") {
		t.Errorf("across the product:\n%s", across)
	}
	prints(t, outcome.CodePass, "", "baseline", "save", "zookeeper")
	gate := prints(t, outcome.CodeInvalid, "(before ZooKeeper 3.9, and on ClickHouse Keeper), so that herds are guessed",
		"gate", "keeper", "--baseline", "results/baselines")
	if strings.Contains(gate, "DEVIATES") || strings.Contains(gate, "FAIL") {
		t.Errorf("the counts differ from those on ZooKeeper:\n%s", gate)
	}
	prints(t, outcome.CodePass, "", "report", "keeper", "--html", "page.html")
	hasAll(t, string(must.Get(os.ReadFile("page.html"))(t)), "1 × ClickHouse Keeper 26.7.5.10 (external)", "~4")
	prints(t, outcome.CodePass, "ClickHouse Keeper 26.7.5.10  ", "ensemble", "status", "--servers", startKeeper(t))
}

// A search for a capacity measures ClickHouse Keeper. The only load that it tries cannot be one that is too large.
func TestCapacityOnKeeper(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	stdout, stderr, code := command(t.Context(), "capacity", "lock-uncontended", "--variants", "znode", "--clients", "2", "--hold", "0s",
		"--objective", "response-p50 < 10s", "--first", "50", "--most", "50", "--duration", "300ms", "--repeats", "1",
		"--servers", startKeeper(t), "--out", out)
	docs, err := store.ReadAll([]string{out})
	if code != outcome.CodeInvalid || err != nil || len(docs) == 0 || docs[0].Environment.Software() != "ClickHouse Keeper 26.7.5.10" {
		t.Errorf("exit code %d, %d documents (%v): %s%s", code, len(docs), err, stdout, stderr)
	}
}

// An observation of ClickHouse Keeper guesses herds, and says where it has to.
func TestObserveKeeper(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout, stderr, code := observed(t, func(address string, _ *lockedBuffer) {
		_, ran, code := command(t.Context(), "run", "lock-drain", "--variants", "children-watch", "--clients", "5", "--repeats", "1",
			"--servers", address, "--out", "run")
		if code != outcome.CodePass {
			t.Error(ran)
		}
	}, "--servers", startKeeper(t), "--out", "observed")
	if code != outcome.CodePass || strings.Contains(stderr, "unknown") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	hasAll(t, strings.Join(strings.Fields(stdout), " "),
		"guessed by path and time where the servers do not name the transaction (before ZooKeeper 3.9, and on ClickHouse Keeper)",
		"transaction not known → 4 NodeChildrenChanged of /zkbench-")
	hasAll(t, prints(t, outcome.CodePass, "observed on external (ClickHouse Keeper 26.7.5.10)", "report", "observed"), "~4")
}

// Why the version of the servers is not known is said as it is.
func TestObserveServersOfAnUnknownVersion(t *testing.T) {
	for answer, want := range map[string]string{
		"srvr is not executed because it is not in the whitelist.\n": "\"srvr\" is not allowed by this server: add it to 4lw.commands.whitelist",
		"This instance is not currently serving requests":            "not serving requests (no quorum yet)",
		"HTTP/1.1 400 Bad Request\r\n":                               "is a web server, such as ZooKeeper's AdminServer",
		"":                                                           "closes connections without an answer",
	} {
		addr := ensembletest.Listen(t, func(conn net.Conn) {
			_, _ = io.ReadFull(conn, make([]byte, 4))
			_, _ = io.WriteString(conn, answer)
		})
		_, stderr, code := observed(t, func(string, *lockedBuffer) {}, "--servers", addr)
		if code != outcome.CodePass || !strings.Contains(stderr, "the version of the servers is unknown: ") || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d: %s", answer, code, stderr)
		}
	}
}
