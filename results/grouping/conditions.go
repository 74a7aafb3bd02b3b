package grouping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// Aspect groups related conditions, such as the load or the machine.
type Aspect string

// The aspects.
const (
	LoadAspect      Aspect = "load"
	EngineAspect    Aspect = "engine"
	ZooKeeperAspect Aspect = "zookeeper" // product, version and image
	// SettingsAspect has the settings of the servers, their number, the file system of their transaction log, and how clients connect
	// to them: TLS and authentication have a cost on servers of any product.
	SettingsAspect Aspect = "settings"
	MachineAspect  Aspect = "machine"
	BuildAspect    Aspect = "zkbench"
)

// The names of conditions that other packages ask about.
const (
	TxnLogCondition  = "transaction log" // the transaction log's file system
	ProductCondition = "product"         // the product of the servers, such as ZooKeeper
	RateCondition    = "rate"            // the operations per second that an open load offers
)

// Condition names something that numbers depend on besides recipe, variant and number of clients.
type Condition struct {
	Aspect Aspect
	Name   string // such as "tickTime"
}

// Conditions returns the values of all conditions. Reports, comparisons and gates use this list to decide which documents
// belong together. It leaves out the servers' addresses and folders, which differ for each ensemble that zkbench starts.
func Conditions(d *results.Document) map[Condition]string {
	e := d.Environment
	out := map[Condition]string{
		{LoadAspect, "tunnelled"}:           fmt.Sprint(d.Scenario.Tunnelled),
		{EngineAspect, "engine"}:            e.Engine,
		{ZooKeeperAspect, ProductCondition}: e.ProductName(),
		{ZooKeeperAspect, e.ProductName()}:  e.ZooKeeper,
		{SettingsAspect, "servers"}:         fmt.Sprint(len(e.Servers)),
		{SettingsAspect, "session timeout"}: e.SessionTimeout.String(),
		{SettingsAspect, TxnLogCondition}:   fileSystem(e.TxnLog),
		{SettingsAspect, "TLS"}:             fmt.Sprint(e.TLS),
		{SettingsAspect, "authentication"}:  cmp.Or(e.Auth, "none"),
		{MachineAspect, "CPU"}:              e.CPU,
		{MachineAspect, "CPUs"}:             fmt.Sprint(e.CPUs),
		{MachineAspect, "memory"}:           fmt.Sprintf("%.1f GiB", float64(e.Memory)/(1<<30)),
		{MachineAspect, "kernel"}:           e.Kernel,
		{MachineAspect, "operating system"}: e.OS,
		{BuildAspect, "zkbench"}:            e.Zkbench,
		{BuildAspect, "Go"}:                 e.Go,
	}
	if e.Image != "" {
		out[Condition{ZooKeeperAspect, "image"}] = e.Image
	}
	if e.Chroot != "" { // part of every path, and therefore of the number of bytes
		out[Condition{SettingsAspect, "chroot"}] = e.Chroot
	}
	for name, value := range e.ServerConfig {
		if !varies(name) {
			out[Condition{SettingsAspect, name}] = value
		}
	}
	for _, f := range d.Scenario.Fields() {
		if f.Condition {
			out[Condition{LoadAspect, f.Name}] = cmp.Or(f.Text(), "none")
		}
	}
	if len(d.Workers) > 0 {
		out[Condition{LoadAspect, "workers"}] = results.Zones(d.Workers)
	}
	if d.Rate > 0 {
		out[Condition{LoadAspect, RateCondition}] = fmt.Sprint(d.Rate)
	}
	return out
}

// varies reports whether a server setting is an id, a port, an address, a folder or a file size, which have no effect on numbers. Those
// of ClickHouse Keeper end in small letters.
func varies(name string) bool {
	endsName := func(ending string) bool { return strings.HasSuffix(name, ending) }
	return strings.HasPrefix(name, "server.") || slices.Contains([]string{"serverId", "server_id", "version"}, name) ||
		slices.ContainsFunc([]string{"Port", "Address", "Dir", "DirSize", "LogSize", "_port", "_port_secure", "_path"}, endsName)
}

// fileSystem returns the file system of "path (file system)".
func fileSystem(txnLog string) string {
	if i := strings.LastIndex(txnLog, " ("); i >= 0 {
		return strings.Trim(txnLog[i+1:], "()")
	}
	return txnLog
}

// InMemory reports whether the transaction log is on a memory file system, so that no write waits for a disk.
func InMemory(e results.Environment) bool { return OnMemoryFileSystem(fileSystem(e.TxnLog)) }

// OnMemoryFileSystem reports whether a value of TxnLogCondition, such as "tmpfs on tmpfs", is a memory file system.
func OnMemoryFileSystem(value string) bool {
	kind, _, _ := strings.Cut(value, " ")
	return kind == "tmpfs" || kind == "ramfs"
}

// Unset is the value of a condition that a document does not have, such as a setting that only other servers report.
const Unset = "unset"

// Difference is a condition that is not the same everywhere, with its distinct values in two groups of documents.
type Difference struct {
	Condition
	Base, Other []string
}

// Differing returns the conditions that are not the same in all documents of two groups, by aspect and name.
func Differing(base, other []*results.Document) []Difference {
	all := slices.Concat(base, other)
	conditions := list.Map(all, Conditions)
	names := map[Condition]string{}
	for _, c := range conditions {
		maps.Copy(names, c)
	}
	var out []Difference
	byName := func(a, b Condition) int { return cmp.Or(cmp.Compare(a.Aspect, b.Aspect), cmp.Compare(a.Name, b.Name)) }
	for _, name := range slices.SortedFunc(maps.Keys(names), byName) {
		values := list.Map(conditions, func(c map[Condition]string) string {
			if value, ok := c[name]; ok {
				return value
			}
			return Unset
		})
		if len(list.Distinct(values)) > 1 {
			out = append(out, Difference{name, list.Distinct(values[:len(base)]), list.Distinct(values[len(base):])})
		}
	}
	return out
}
