package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Subject is what kind of condition differs, and by that what a comparison can be about.
type Subject string

// The kinds of conditions.
const (
	Engine    Subject = "engine"
	ZooKeeper Subject = "zookeeper" // version and image
	Settings  Subject = "settings"  // of the servers, their number, and where their transaction log lies
	Machine   Subject = "machine"   // two machines cannot take turns, so that their times are not compared even then
	build     Subject = "zkbench"   // is always a subject
	load      Subject = "load"      // never is one
)

// Subjects returns what a user may declare to be the subject.
func Subjects() []Subject { return []Subject{Engine, ZooKeeper, Settings, Machine} }

// Difference is a condition under which two sides were not measured alike.
type Difference struct {
	Subject  Subject `json:"subject"`
	Name     string  `json:"name"` // such as "tickTime"
	Side     string  `json:"side"` // the one that differs from the base
	Base     string  `json:"base"`
	Other    string  `json:"other"`
	Accepted bool    `json:"accepted"` // does not keep times from being compared
	mixed    bool    // within a side
}

type condition struct {
	subject Subject
	name    string
}

// unset stands for a setting that only one side's servers told.
const unset = "unset"

// loadOf returns what shapes a single measurement.
func loadOf(s results.Scenario) map[condition]string {
	return map[condition]string{
		{load, "mode"}:           s.Mode,
		{load, "operations"}:     fmt.Sprint(s.Operations),
		{load, "duration"}:       s.Duration.String(),
		{load, "warm-up"}:        s.WarmUp.String(),
		{load, "hold"}:           s.Hold.String(),
		{load, "think"}:          s.Think.String(),
		{load, "heap"}:           fmt.Sprint(s.Heap),
		{load, "bystander rate"}: fmt.Sprint(s.BystanderRate),
	}
}

// conditionsOf returns what the numbers depend on besides load and variant. Where each server runs and keeps its files is
// none of it: these differ for every ensemble that zkbench starts.
func conditionsOf(e results.Environment) map[condition]string {
	out := map[condition]string{
		{Engine, "engine"}:            e.Engine,
		{ZooKeeper, "ZooKeeper"}:      e.ZooKeeper,
		{Settings, "servers"}:         fmt.Sprint(len(e.Servers)),
		{Settings, "session timeout"}: e.SessionTimeout.String(),
		{Settings, "transaction log"}: fileSystem(e.TxnLog),
		{Machine, "CPU"}:              e.CPU,
		{Machine, "CPUs"}:             fmt.Sprint(e.CPUs),
		{Machine, "memory"}:           fmt.Sprintf("%.1f GiB", float64(e.Memory)/(1<<30)),
		{Machine, "kernel"}:           e.Kernel,
		{Machine, "operating system"}: e.OS,
		{build, "zkbench"}:            e.Zkbench,
		{build, "Go"}:                 e.Go,
	}
	if e.Image != "" {
		out[condition{ZooKeeper, "image"}] = e.Image
	}
	for key, value := range e.Settings() {
		out[condition{Settings, key}] = value
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

// told collects the different values that a group's documents have for each condition.
func (g group) told(of func(*results.Document) map[condition]string) map[condition][]string {
	out := map[condition][]string{}
	for _, d := range g.docs {
		for c, value := range of(d) {
			if !slices.Contains(out[c], value) {
				out[c] = append(out[c], value)
			}
		}
	}
	return out
}

// unlike returns the conditions that are not the same in all documents of both groups, sorted.
func (m match) unlike(of func(*results.Document) map[condition]string) []Difference {
	base, other := m.base.told(of), m.other.told(of)
	all := maps.Clone(base)
	maps.Copy(all, other)
	var out []Difference
	for c := range all {
		a, b := base[c], other[c]
		if len(a) == 1 && len(b) == 1 && a[0] == b[0] {
			continue
		}
		out = append(out, Difference{Subject: c.subject, Name: c.name, Side: m.otherName(), Base: joined(a), Other: joined(b), mixed: len(a) > 1 || len(b) > 1})
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return strings.Compare(string(a.Subject)+a.Name, string(b.Subject)+b.Name)
	})
	return out
}

// engine says on what a group was measured, as embedded times are no ensemble's even where they may be compared.
func (g group) engine() string {
	of := func(d *results.Document) map[condition]string { return conditionsOf(d.Environment) }
	return joined(g.told(of)[condition{Engine, "engine"}])
}

func joined(values []string) string {
	if len(values) == 0 {
		return unset
	}
	return strings.Join(slices.Sorted(slices.Values(values)), " or ")
}

// otherName tells the other group from the base: by its side, within one run by its variant.
func (m match) otherName() string {
	if m.base.side == m.other.side {
		return m.other.name()
	}
	return m.other.side
}

// differentLoads refuses to compare what was not the same work.
func (m match) differentLoads() error {
	var texts []string
	for _, d := range m.unlike(func(d *results.Document) map[condition]string { return loadOf(d.Scenario) }) {
		texts = append(texts, fmt.Sprintf("%s %s and %s", d.Name, d.Base, d.Other))
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%s: these are different loads: %s; measure both alike", m.base.scenario, strings.Join(texts, ", "))
}

// differences returns the conditions in which the groups differ. What only servers of another engine tell is none.
func (m match) differences(across []Subject) []Difference {
	all := m.unlike(func(d *results.Document) map[condition]string { return conditionsOf(d.Environment) })
	engine := slices.IndexFunc(all, func(d Difference) bool { return d.Subject == Engine })
	var out []Difference
	for _, d := range all {
		if engine >= 0 && (d.Base == unset || d.Other == unset || d.Name == "image") {
			continue
		}
		d.Accepted = d.accepted(across)
		out = append(out, d)
	}
	return out
}

// accepted tells whether times may be compared in spite of the difference. Not where a side is at odds with itself.
func (d Difference) accepted(across []Subject) bool {
	switch {
	case d.Subject == build:
		return true
	case d.Subject == Machine, !slices.Contains(across, d.Subject), d.mixed:
		return false
	default:
		return d.Subject != Engine || d.Base != results.Embedded && d.Other != results.Embedded
	}
}

// obstacle is the reason why times cannot be compared, if there is one.
func obstacle(differences []Difference) string {
	var names []string
	for _, d := range differences {
		if !d.Accepted {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "measured under different conditions: " + strings.Join(names, ", ")
}
