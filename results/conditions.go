package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Aspect is what a condition is a condition of.
type Aspect string

// The aspects.
const (
	LoadAspect      Aspect = "load"
	EngineAspect    Aspect = "engine"
	ZooKeeperAspect Aspect = "zookeeper" // version and image
	SettingsAspect  Aspect = "settings"  // of the servers, their number, and where their transaction log lies
	MachineAspect   Aspect = "machine"
	BuildAspect     Aspect = "zkbench"
)

// TxnLogCondition is the name of the condition that is the transaction log's file system.
const TxnLogCondition = "transaction log"

// Condition names something that numbers depend on besides recipe, variant and number of clients.
type Condition struct {
	Aspect Aspect
	Name   string // such as "tickTime"
}

// Conditions returns everything that the document's numbers depend on besides recipe, variant and number of clients. This
// is the one list of it: what may be pooled, compared or gated is decided by it everywhere. Where each server runs and
// keeps its files is none of it: these differ for every ensemble that zkbench starts.
func (d *Document) Conditions() map[Condition]string {
	out := d.Scenario.conditions()
	maps.Copy(out, d.Environment.conditions())
	return out
}

// conditions returns what shapes a single measurement. How often it is repeated, and what is measured besides, does not.
func (s Scenario) conditions() map[Condition]string {
	return map[Condition]string{
		{LoadAspect, "mode"}:           s.Mode,
		{LoadAspect, "size"}:           fmt.Sprint(max(s.Size, 1)),
		{LoadAspect, "operations"}:     fmt.Sprint(s.Operations),
		{LoadAspect, "duration"}:       s.Duration.String(),
		{LoadAspect, "warm-up"}:        s.WarmUp.String(),
		{LoadAspect, "hold"}:           s.Hold.String(),
		{LoadAspect, "think"}:          s.Think.String(),
		{LoadAspect, "heap"}:           fmt.Sprint(s.Heap),
		{LoadAspect, "bystander rate"}: fmt.Sprint(s.BystanderRate),
	}
}

func (e Environment) conditions() map[Condition]string {
	out := map[Condition]string{
		{EngineAspect, "engine"}:            e.Engine,
		{ZooKeeperAspect, "ZooKeeper"}:      e.ZooKeeper,
		{SettingsAspect, "servers"}:         fmt.Sprint(len(e.Servers)),
		{SettingsAspect, "session timeout"}: e.SessionTimeout.String(),
		{SettingsAspect, TxnLogCondition}:   fileSystem(e.TxnLog),
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
	if e.Chroot != "" { // a part of every path, and so of the bytes
		out[Condition{SettingsAspect, "chroot"}] = e.Chroot
	}
	for key, value := range e.Settings() {
		out[Condition{SettingsAspect, key}] = value
	}
	return out
}

// fileSystem leaves the path out of "path (file system)".
func fileSystem(txnLog string) string {
	if i := strings.LastIndex(txnLog, " ("); i >= 0 {
		return strings.Trim(txnLog[i+1:], "()")
	}
	return txnLog
}

// InMemory reports whether the transaction log is on a memory file system, so that no write waits for a disk.
func (e Environment) InMemory() bool { return OnMemoryFileSystem(fileSystem(e.TxnLog)) }

// OnMemoryFileSystem reports whether a value of TxnLogCondition, such as "tmpfs on tmpfs", is a memory file system.
func OnMemoryFileSystem(value string) bool {
	kind, _, _ := strings.Cut(value, " ")
	return kind == "tmpfs" || kind == "ramfs"
}

// Unlike returns the conditions that are not the same for both documents, sorted.
func (d *Document) Unlike(o *Document) []Condition {
	a, b := d.Conditions(), o.Conditions()
	all := maps.Clone(a)
	maps.Copy(all, b)
	maps.DeleteFunc(all, func(c Condition, _ string) bool {
		x, inA := a[c]
		y, inB := b[c]
		return inA == inB && x == y
	})
	return SortedConditions(all)
}

// SortedConditions returns the keys by aspect and name.
func SortedConditions[V any](conditions map[Condition]V) []Condition {
	return slices.SortedFunc(maps.Keys(conditions), func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Aspect, b.Aspect), cmp.Compare(a.Name, b.Name))
	})
}
