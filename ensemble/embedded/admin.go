package embedded

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// version is the release whose behaviour this server reproduces, with a suffix that distinguishes the two.
const version = "3.9.3-zkbench-embedded"

// znodes counts the root twice, as ZooKeeper does, which stores it under two names.
func (s *Server) znodes() int { return len(s.tree.nodes) + 1 }

// command answers a four-letter command; ok is false for any other word.
func (c *connection) command(word string) (answer string, ok bool) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.enter()
	commands := map[string]func() string{
		"ruok": func() string { return "imok" },
		"isro": func() string { return map[bool]string{true: "rw", false: "null"}[s.follows] },
		"srvr": func() string { return s.banner() + s.statistics() },
		"stat": func() string { return s.banner() + "Clients:\n" + s.clients(false) + "\n" + s.statistics() },
		"cons": func() string { return s.clients(true) + "\n" },
		"dirs": func() string { return "datadir_size: 0\nlogdir_size: 0\n" },
		"envi": s.envi, "conf": s.conf, "mntr": s.mntr, "dump": s.dump, "wchs": s.wchs,
	}
	always := []string{"ruok", "isro", "envi", "conf"} // without a quorum, too
	refused := []string{"crst", "gtmk", "hash", "srst", "stmk", "wchc", "wchp"}
	execute, known := commands[word]
	if !known && !slices.Contains(refused, word) {
		return "", false
	}
	s.received++ // ZooKeeper counts these commands as packets
	switch {
	case !known:
		return word + " is not executed because it is not in the whitelist.\n", true
	case !s.follows && !slices.Contains(always, word):
		return "This ZooKeeper instance is not currently serving requests\n", true
	}
	return execute(), true
}

func (s *Server) role() ensemble.Role {
	switch {
	case len(s.servers) == 1:
		return ensemble.Standalone
	case s == s.leader:
		return ensemble.Leader
	default:
		return ensemble.Follower
	}
}

func (s *Server) envi() string {
	return fmt.Sprintf("Environment:\nzookeeper.version=%s, built with %s\nos.name=%s\nos.arch=%s\n",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (s *Server) banner() string {
	return fmt.Sprintf("Zookeeper version: %s, built with %s\n", version, runtime.Version())
}

// statistics has a line for latencies because clients expect one. The server does not measure them.
func (s *Server) statistics() string {
	return fmt.Sprintf(`Latency min/avg/max: 0/0.0/0
Received: %d
Sent: %d
Connections: %d
Outstanding: 0
Zxid: 0x%x
Mode: %s
Node count: %d
`, s.received, s.sent, len(s.connections), s.applied, s.role(), s.znodes())
}

func (s *Server) mntr() string {
	var out strings.Builder
	for _, line := range [][2]any{
		{"version", version},
		{"server_state", s.role()},
		{"uptime", time.Since(s.started).Milliseconds()},
		{"packets_received", s.received},
		{"packets_sent", s.sent},
		{"num_alive_connections", len(s.connections)},
		{"outstanding_requests", 0},
		{"znode_count", s.znodes()},
		{"ephemerals_count", s.tree.ephemerals.size()},
		{"watch_count", s.watches.data.byPath.size() + s.watches.child.byPath.size()},
		{"global_sessions", len(s.sessions)},
		{"sum_node_created_watch_count", s.watches.fired[wire.NodeCreated]},
		{"sum_node_deleted_watch_count", s.watches.fired[wire.NodeDeleted]},
		{"sum_node_changed_watch_count", s.watches.fired[wire.NodeDataChanged]},
		{"sum_node_children_watch_count", s.watches.fired[wire.NodeChildrenChanged]},
	} {
		fmt.Fprintf(&out, "zk_%s\t%v\n", line[0], line[1])
	}
	return out.String()
}

func (s *Server) conf() string {
	tick := s.config.Tick
	ofSeveral := ""
	if len(s.servers) > 1 {
		ofSeveral = fmt.Sprintf("serverId=%d\nlag=%s\n", s.index+1, s.config.Lag)
	}
	return fmt.Sprintf(`clientPortAddress=%s
tickTime=%d
minSessionTimeout=%d
maxSessionTimeout=%d
maxClientCnxns=0
jute.maxbuffer=%d
readDelay=%s
writeDelay=%s
`, s.Addr(), tick.Milliseconds(), (minTicks*tick).Milliseconds(), (maxTicks*tick).Milliseconds(), maxFrame,
		s.config.ReadDelay, s.config.WriteDelay) + ofSeveral
}

func (s *Server) clients(withSessions bool) string {
	var out strings.Builder
	for c := range s.connections {
		fmt.Fprintf(&out, " /%s[1](queued=0,recved=%d,sent=%d", c.conn.RemoteAddr(), c.requests, c.replies)
		if withSessions && c.session != nil {
			fmt.Fprintf(&out, ",sid=0x%x,to=%d", c.session.id, c.session.timeout.Milliseconds())
		}
		fmt.Fprint(&out, ")\n")
	}
	return out.String()
}

func (s *Server) dump() string {
	var out strings.Builder
	fmt.Fprintf(&out, "SessionTracker dump:\nGlobal Sessions(%d):\n", len(s.sessions))
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		fmt.Fprintf(&out, "0x%x\t%dms\n", id, s.sessions[id].timeout.Milliseconds())
	}
	fmt.Fprintf(&out, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(s.tree.ephemerals))
	for _, id := range slices.Sorted(maps.Keys(s.tree.ephemerals)) {
		fmt.Fprintf(&out, "0x%x:\n\t%s\n", id, strings.Join(slices.Sorted(maps.Keys(s.tree.ephemerals[id])), "\n\t"))
	}
	return out.String() + "Connections dump:\n"
}

// wchs counts data watches only, as ZooKeeper does.
func (s *Server) wchs() string {
	w := s.watches.data
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", len(w.byConnection), len(w.byPath), w.byPath.size())
}
