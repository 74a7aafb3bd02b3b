package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// scripted is a server that answers administrative commands with texts that a real one gave.
type scripted struct {
	ensemble.Ensemble // for methods that are not called
	addr              string
	owned             bool

	started time.Time

	mu      sync.Mutex
	answers map[string]string
	refuse  int // that many connections, before anything is answered
}

// script serves the texts of a server in testdata.
func script(t *testing.T, server string, owned bool) *scripted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &scripted{addr: listener.Addr().String(), owned: owned, started: time.Now(), answers: map[string]string{}}
	for _, word := range []string{"mntr", "srvr"} {
		text, err := os.ReadFile(filepath.Join("testdata", word+"-"+server+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		s.answers[word] = string(text)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.answer(conn)
		}
	}()
	return s
}

func (s *scripted) answer(conn net.Conn) {
	defer conn.Close()
	word := make([]byte, 4)
	if _, err := io.ReadFull(conn, word); err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return
	}
	_, _ = io.WriteString(conn, s.aged(s.answers[string(word)]))
}

var uptime = regexp.MustCompile(`(?m)^zk_uptime\t(\d+)$`)

// aged adds the time since the server was started to the uptime in a text.
func (s *scripted) aged(text string) string {
	return uptime.ReplaceAllStringFunc(text, func(line string) string {
		n, _ := strconv.ParseInt(uptime.FindStringSubmatch(line)[1], 10, 64) // digits
		return fmt.Sprintf("zk_uptime\t%d", n+time.Since(s.started).Milliseconds())
	})
}

func (s *scripted) set(numbers map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range numbers {
		line := regexp.MustCompile(`(?m)^zk_` + name + `\t.*$`)
		s.answers["mntr"] = line.ReplaceAllString(s.answers["mntr"], fmt.Sprintf("zk_%s\t%d", name, n))
	}
}

func (s *scripted) Servers() []ensemble.Server {
	return []ensemble.Server{{ID: 2, Name: "zoo2", Addr: s.addr}}
}

func (s *scripted) Owned() bool { return s.owned }

// A report has the difference of the counters between two moments, from texts of real servers of both supported releases.
func TestServersReport(t *testing.T) {
	for _, tt := range []struct {
		name, server string
		meanwhile    map[string]int64
		want         string
	}{
		{"a maximum that grew is that of the measurement", "3.9.3-leader",
			map[string]int64{"cnt_fsynctime": 95, "sum_fsynctime": 2698, "max_fsynctime": 2290, "outstanding_requests": 3},
			`{"server":2,"name":"zoo2","role":"leader",
			"fsync":{"count":10,"sum_ns":2300000000,"max_ns":2290000000,"max_since_start_ns":2290000000},"outstanding_requests":3}`},
		{"one that did not is unknown", "3.8.0-follower",
			map[string]int64{"cnt_jvm_pause_time_ms": 301, "sum_jvm_pause_time_ms": 931, "cnt_fsynctime": 109},
			`{"server":2,"name":"zoo2","role":"follower","fsync":{"count":1,"sum_ns":0,"max_since_start_ns":24000000},
			"jvm_pauses":{"count":100,"sum_ns":400000000,"max_since_start_ns":78000000},"outstanding_requests":0}`},
		{"the first of its kind", "3.9.3-leader",
			map[string]int64{"cnt_proposal_latency": 2, "sum_proposal_latency": 7, "max_proposal_latency": 4},
			`{"server":2,"name":"zoo2","role":"leader",
			"proposal_latency":{"count":2,"sum_ns":7000000,"max_ns":4000000,"max_since_start_ns":4000000},"outstanding_requests":0}`},
		{"a summary that began anew", "3.9.3-leader",
			map[string]int64{"cnt_fsynctime": 95, "sum_fsynctime": 3, "outstanding_requests": -1},
			`{"server":2,"name":"zoo2","role":"leader","outstanding_requests":0}`},
		{"a restart", "3.9.3-leader",
			map[string]int64{"uptime": 500, "cnt_fsynctime": 2, "sum_fsynctime": 30, "max_fsynctime": 20, "cnt_jvm_pause_time_ms": 0,
				"cnt_readlatency": 0, "cnt_updatelatency": 0, "cnt_quorum_ack_latency": 0},
			`{"server":2,"name":"zoo2","role":"leader","restarted":true,
			"fsync":{"count":2,"sum_ns":30000000,"max_ns":20000000,"max_since_start_ns":20000000},"outstanding_requests":0}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := script(t, tt.server, true)
			reports, err := runner.ReportServers(t.Context(), s, func() { s.set(tt.meanwhile) })
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(reports)
			if want := "[" + strings.NewReplacer("\n", "", "\t", "").Replace(tt.want) + "]"; err != nil || string(got) != want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, want)
			}
		})
	}
}

// A server that does not answer for a moment is asked again. A server that does not allow mntr is reported with the reason. A server
// that stays silent although its counters are needed is an error.
func TestServersThatDoNotAnswer(t *testing.T) {
	const forbidden = "mntr is not executed because it is not in the whitelist.\n"
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name      string
		owned     bool
		ctx       context.Context
		meanwhile func(s *scripted)
		unread    string
		err       string
	}{
		{"for a moment", true, t.Context(), func(s *scripted) { s.refuse = 3 }, "", ""},
		{"mntr is not allowed", false, t.Context(), func(s *scripted) { s.answers["mntr"] = forbidden }, "not allowed", ""},
		{"silent, patience is over", true, canceled, func(s *scripted) { s.refuse = 1 << 30 }, "canceled", "read the counters of zoo2"},
		{"an old release", true, t.Context(), func(s *scripted) { s.answers["mntr"] = "zk_uptime\t1\n" }, "", "zk_sum_node_created_watch_count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := script(t, "3.9.3-leader", tt.owned)
			reports, err := runner.ReportServers(tt.ctx, s, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				tt.meanwhile(s)
			})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := reports[0].Unread; (got == "") != (tt.unread == "") || !strings.Contains(got, tt.unread) {
				t.Errorf("unread %q, want %q", got, tt.unread)
			}
		})
	}
}

// A four-letter word is counted if it is answered. A server that does not answer one may have counted it or not.
func TestWordsWithoutAnswer(t *testing.T) {
	for refuse, more := range []bool{false, true, true} {
		s := script(t, "3.9.3-leader", true)
		s.refuse = refuse
		if known, got := runner.CountWords(t.Context(), s); known != 2 || got != more {
			t.Errorf("%d connections refused: %d words are counted, and perhaps more: %t; want 2, %t", refuse, known, got, more)
		}
	}
}

// A measurement whose last reading is incomplete is kept, without a second oracle.
func TestOracleWithoutAnAccount(t *testing.T) {
	o := runner.OracleWithout(errors.Join(
		errors.New("read the counters of zoo2: no answer"), errors.New("read the counters of zoo3: no answer")))
	if o.Checked || o.Why != "read the counters of zoo2: no answer, read the counters of zoo3: no answer" {
		t.Errorf("oracle %+v", o)
	}
}

// The embedded server has neither a disk nor a JVM: metrics that it does not export are absent from the document.
func TestEmbeddedServerReportsWhatItHas(t *testing.T) {
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		s := uncontended()
		s.Variants = []string{"znode"}
		d := mustMeasure(t, e, s, catalog.Recipes())[0]
		if len(d.Servers) != 1 || d.Servers[0].Role != "standalone" || d.Servers[0].Outstanding == nil {
			t.Fatalf("servers %+v", d.Servers)
		}
		one := d.Servers[0]
		one.SlowestRead = nil // if a bystander was fast enough
		if text, err := json.Marshal(one); err != nil || strings.Contains(string(text), "_ns") || strings.Contains(string(text), "unread") {
			t.Errorf("%s (%v) has a time", text, err)
		}
		if text, err := json.Marshal(d); err != nil || !strings.Contains(string(text), `"stalls":[]`) {
			t.Errorf("%s (%v) has no empty list of stalls", text, err)
		}
	})
}
