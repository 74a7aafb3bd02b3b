package ensemble

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// commandTimeout is how long a server may take to answer an administrative command.
const commandTimeout = 5 * time.Second

// Command sends one of ZooKeeper's four-letter words and returns the answer. A server that is up but does not allow
// the word answers with a sentence, which is returned as an error.
func Command(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("no answer within %s", commandTimeout))
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", fmt.Errorf("send %s to %s: %w (%w)", word, addr, ErrUnanswered, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	switch text := string(answer); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s to %s: %w", word, addr, context.Cause(ctx))
	case err != nil && text == "":
		return "", fmt.Errorf("read the answer to %s from %s: %w (%w)", word, addr, ErrUnanswered, err)
	case text == "":
		return "", fmt.Errorf("%s: %q: %w: is it a ZooKeeper client port?", addr, word, ErrUnanswered)
	case strings.Contains(text, "is not in the whitelist"):
		return "", fmt.Errorf("%s: %q is %w: add it to 4lw.commands.whitelist", addr, word, ErrNotAllowed)
	case strings.Contains(text, "not currently serving requests"):
		return "", fmt.Errorf("%s: %w", addr, ErrNotServing)
	default:
		return text, nil
	}
}

// What may come of an administrative command instead of an answer.
var (
	// ErrNotServing is what a server answers that runs but belongs to no quorum.
	ErrNotServing = errors.New("this server is up but not serving requests (no quorum yet)")
	// ErrNotAllowed is what a server answers to a command that its settings leave out.
	ErrNotAllowed = errors.New("not allowed by this server")
	// ErrUnanswered is the end of a connection before any answer.
	ErrUnanswered = errors.New("the connection was closed without an answer")
	// ErrNotZooKeeper is an answer that no ZooKeeper gives.
	ErrNotZooKeeper = errors.New("this does not look like ZooKeeper")
)

// Role is the part a server plays.
type Role string

// The roles; a server alone calls itself standalone.
const (
	Leader     Role = "leader"
	Follower   Role = "follower"
	Observer   Role = "observer"
	Standalone Role = "standalone"
	ReadOnly   Role = "read-only" // without a quorum, where readonlymode.enabled is set
)

// Unknown stands in a Status for a number that the server did not tell.
const Unknown = -1

// Status is one server's account of itself.
type Status struct {
	Role     Role
	Version  string
	Zxid     int64 // last transaction applied; Unknown before any
	Sessions int64 // client connections, the asking one left out
	Znodes   int64
	Watches  int64 // Unknown where the server does not allow mntr
}

// Srvr asks one server for its status by `srvr` alone, which is allowed by default. The number of watches stays unknown.
func Srvr(ctx context.Context, addr string) (Status, error) {
	text, err := Command(ctx, addr, "srvr")
	if err != nil {
		return Status{}, err
	}
	s, err := parseSrvr(text)
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", addr, err)
	}
	return s, nil
}

// Probe asks one server for its status. Without `mntr`, which few servers allow by default, the number of watches stays
// unknown.
func Probe(ctx context.Context, addr string) (Status, error) {
	s, err := Srvr(ctx, addr)
	if err != nil {
		return Status{}, err
	}
	if counters, err := Monitor(ctx, addr); err == nil {
		if watches, ok := counters["zk_watch_count"]; ok {
			s.Watches = watches
		}
	}
	return s, nil
}

func parseSrvr(text string) (Status, error) {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			fields[key] = value
		}
	}
	version, _, _ := strings.Cut(fields["Zookeeper version"], ",")
	version, _, _ = strings.Cut(version, "-")
	s := Status{
		Role:     Role(fields["Mode"]),
		Version:  version,
		Zxid:     number(fields["Zxid"]),
		Sessions: max(number(fields["Connections"])-1, 0), // without the one that asks
		Znodes:   number(fields["Node count"]),
		Watches:  Unknown,
	}
	if s.Role == "" || s.Version == "" {
		return Status{}, fmt.Errorf("%w: it answered %.60q to srvr", ErrNotZooKeeper, text)
	}
	return s, nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return Unknown
	}
	return n
}

// Monitor returns the whole numbers among a server's `mntr` counters.
func Monitor(ctx context.Context, addr string) (map[string]int64, error) {
	text, err := Command(ctx, addr, "mntr")
	if err != nil {
		return nil, err
	}
	counters := map[string]int64{}
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		key, value, ok := strings.Cut(scanner.Text(), "\t")
		if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
			counters[key] = n
		}
	}
	return counters, nil
}

// NotificationsSent returns how many watch events a server has sent since its start, by its own count.
func NotificationsSent(ctx context.Context, addr string) (int64, error) {
	counters, err := Monitor(ctx, addr)
	if err != nil {
		return 0, err
	}
	total, err := NotificationsIn(counters)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", addr, err)
	}
	return total, nil
}

// NotificationsIn adds up the watch events among the counters that Monitor returns.
//
// A session that holds both a data watch and a child watch on a node that is deleted counts twice here although it
// is notified once.
func NotificationsIn(counters map[string]int64) (int64, error) {
	var total int64
	for _, kind := range []string{"created", "deleted", "changed", "children"} {
		key := "zk_sum_node_" + kind + "_watch_count"
		n, ok := counters[key]
		if !ok {
			return 0, fmt.Errorf("mntr has no %s (ZooKeeper before 3.6?)", key)
		}
		total += n
	}
	return total, nil
}

// Config returns a server's settings by its `conf` command; none where that is not allowed.
func Config(ctx context.Context, addr string) map[string]string {
	settings := map[string]string{}
	text, err := Command(ctx, addr, "conf")
	if err != nil {
		return settings
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	return settings
}

// DescribeServers fills in what the servers themselves can tell: the version and the settings of the first one.
func DescribeServers(ctx context.Context, engine Engine, servers []Server) (Description, error) {
	status, err := Probe(ctx, servers[0].Addr)
	if err != nil {
		return Description{}, err
	}
	return Description{Engine: engine, Version: status.Version, Config: Config(ctx, servers[0].Addr)}, nil
}
