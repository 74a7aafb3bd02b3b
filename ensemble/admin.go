package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

const commandTimeout = 5 * time.Second

// Command sends one of ZooKeeper's four-letter commands and returns the answer. It returns an error if the server does not allow the
// command, or serves no requests.
func Command(ctx context.Context, s Server, word string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("no answer within %s", commandTimeout))
	defer cancel()
	conn, err := s.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", fmt.Errorf("send %s to %s: %w (%w)", word, s.Addr, ErrUnanswered, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	switch text := string(answer); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s to %s: %w", word, s.Addr, context.Cause(ctx))
	case dial.IsLasting(err):
		return "", err
	case err != nil && text == "":
		return "", fmt.Errorf("read the answer to %s from %s: %w (%w)", word, s.Addr, ErrUnanswered, err)
	case text == "":
		return "", fmt.Errorf("%s: %q: %w: is it a ZooKeeper client port?", s.Addr, word, ErrUnanswered)
	case strings.Contains(text, "is not in the whitelist"):
		return "", fmt.Errorf("%s: %q is %w: add it to 4lw.commands.whitelist", s.Addr, word, ErrNotAllowed)
	case strings.Contains(text, "not currently serving requests"):
		return "", fmt.Errorf("%s: %w", s.Addr, ErrNotServing)
	case err != nil:
		return "", fmt.Errorf("read the answer to %s from %s, which is cut off after %d bytes: %w", word, s.Addr, len(text), err)
	default:
		return text, nil
	}
}

// The errors of four-letter commands.
var (
	ErrNotServing   = errors.New("this server is up but not serving requests (no quorum yet)")
	ErrNotAllowed   = errors.New("not allowed by this server") // by its 4lw.commands.whitelist
	ErrUnanswered   = errors.New("the connection was closed without an answer")
	ErrNotZooKeeper = errors.New("this does not look like ZooKeeper")
)

// Role is a server's role in its ensemble, as it reports it.
type Role string

// The roles.
const (
	Leader     Role = "leader"
	Follower   Role = "follower"
	Observer   Role = "observer"
	Standalone Role = "standalone"
	ReadOnly   Role = "read-only" // without a quorum, where readonlymode.enabled is set
)

// ZooKeeper is the product whose behaviour zkbench expects. ClickHouse Keeper and others speak its protocol, too.
const ZooKeeper = "ZooKeeper"

// Unknown is the value of a number in a Status that the server did not report.
const Unknown = -1

// Status is the part of a server's srvr report that zkbench uses.
type Status struct {
	Role     Role
	Product  string // such as ZooKeeper
	Version  string // such as 3.9.3
	Zxid     int64  // last transaction applied; Unknown before any
	Sessions int64  // client connections, without the one that asks
	Znodes   int64
}

// Srvr returns a server's status by `srvr`, which servers allow by default.
func Srvr(ctx context.Context, server Server) (Status, error) {
	text, err := Command(ctx, server, "srvr")
	if err != nil {
		return Status{}, err
	}
	fields := keyValues(text, ": ")
	product, version := software(text)
	s := Status{
		Role:     Role(fields["Mode"]),
		Product:  product,
		Version:  version,
		Zxid:     number(fields["Zxid"]),
		Sessions: max(number(fields["Connections"])-1, 0), // without the one that asks
		Znodes:   number(fields["Node count"]),
	}
	if s.Role == "" || s.Product == "" || s.Version == "" {
		return Status{}, fmt.Errorf("%s: %w: it answered %.60q to srvr", server.Addr, ErrNotZooKeeper, text)
	}
	return s, nil
}

// software returns the product and the version in the first line of srvr, such as "ClickHouse Keeper version: v26.7.5.10-stable-0a1b2c".
// The version lacks a "v", the build and the repeated name with which some products begin and end it.
func software(srvr string) (product, version string) {
	first, _, _ := strings.Cut(srvr, "\n")
	product, build, _ := strings.Cut(first, " version: ")
	version, _, _ = strings.Cut(build, ",")
	version, _, _ = strings.Cut(strings.TrimPrefix(version, product+" "), "-")
	if product == "Zookeeper" {
		product = ZooKeeper
	}
	return product, strings.TrimPrefix(strings.TrimSpace(version), "v")
}

func keyValues(text, separator string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), separator); ok {
			fields[key] = value
		}
	}
	return fields
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return Unknown
	}
	return n
}

// Monitor returns the whole numbers among a server's `mntr` counters.
func Monitor(ctx context.Context, s Server) (map[string]int64, error) {
	text, err := Command(ctx, s, "mntr")
	if err != nil {
		return nil, err
	}
	counters := map[string]int64{}
	for key, value := range keyValues(text, "\t") {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			counters[key] = n
		}
	}
	return counters, nil
}

// NotificationsIn returns how many watch events a server has sent since its start, from the counters of Monitor.
//
// A session with both a data watch and a child watch on a deleted znode is counted twice, although it is notified once.
func NotificationsIn(counters map[string]int64) (int64, error) {
	var total int64
	for _, kind := range []string{"created", "deleted", "changed", "children"} {
		key := "zk_sum_node_" + kind + "_watch_count"
		n, ok := counters[key]
		if !ok {
			return 0, fmt.Errorf("mntr has no %s: ZooKeeper before 3.6 and ClickHouse Keeper do not count notifications", key)
		}
		total += n
	}
	return total, nil
}

// Config returns a server's settings by its `conf` command, or an empty map if the server does not allow it.
func Config(ctx context.Context, s Server) map[string]string {
	text, _ := Command(ctx, s, "conf") // empty after an error
	return keyValues(text, "=")
}

// DescribeServers returns the product, its version and the settings that the first server reports.
func DescribeServers(ctx context.Context, engine Engine, servers []Server) (Description, error) {
	status, err := Srvr(ctx, servers[0])
	if err != nil {
		return Description{}, err
	}
	return DescriptionOf(engine, servers[0], status, Config(ctx, servers[0])), nil
}

// DescriptionOf returns the description of an ensemble by what one of its servers reports.
func DescriptionOf(engine Engine, s Server, status Status, config map[string]string) Description {
	d := Description{Engine: engine, Product: status.Product, Version: status.Version, Config: config, TLS: s.hasTLS()}
	if s.Auth != nil {
		d.Auth = s.Auth.Scheme
	}
	return d
}
