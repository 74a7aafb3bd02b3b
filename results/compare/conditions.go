package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Subject is what a comparison can be about.
type Subject = results.Aspect

// The subjects. Machines cannot take turns, so that their times are not compared even then.
const (
	Engine    Subject = results.EngineAspect
	ZooKeeper Subject = results.ZooKeeperAspect
	Settings  Subject = results.SettingsAspect
	Machine   Subject = results.MachineAspect
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

// unset stands for a setting that only one side's servers told.
const unset = "unset"

// told collects the different values that a group's documents have for each condition.
func (g group) told() map[results.Condition][]string {
	out := map[results.Condition][]string{}
	for _, d := range g.docs {
		for c, value := range d.Conditions() {
			if !slices.Contains(out[c], value) {
				out[c] = append(out[c], value)
			}
		}
	}
	return out
}

// unlike returns the conditions that are not the same in all documents of both groups, sorted.
func (m match) unlike() []Difference {
	base, other := m.base.told(), m.other.told()
	all := maps.Clone(base)
	maps.Copy(all, other)
	var out []Difference
	for _, c := range results.SortedConditions(all) {
		a, b := base[c], other[c]
		if len(a) == 1 && len(b) == 1 && a[0] == b[0] {
			continue
		}
		out = append(out, Difference{Subject: c.Aspect, Name: c.Name, Side: m.otherName(), Base: joined(a), Other: joined(b), mixed: len(a) > 1 || len(b) > 1})
	}
	return out
}

// engine says on what a group was measured, as embedded times are no ensemble's even where they may be compared.
func (g group) engine() string {
	var engines []string
	for _, d := range g.docs {
		if e := d.Environment.Engine; !slices.Contains(engines, e) {
			engines = append(engines, e)
		}
	}
	return joined(engines)
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
	for _, d := range m.unlike() {
		if d.Subject == results.LoadAspect {
			texts = append(texts, fmt.Sprintf("%s %s and %s", d.Name, d.Base, d.Other))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%s: these are different loads: %s; measure both alike", m.base.scenario, strings.Join(texts, ", "))
}

// differences returns the conditions in which the groups differ. What only servers of another engine tell is none.
func (m match) differences(across []Subject) []Difference {
	all := slices.DeleteFunc(m.unlike(), func(d Difference) bool { return d.Subject == results.LoadAspect })
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

// accepted reports whether times may be compared in spite of the difference. Not where a side is at odds with itself, and
// never with a transaction log in memory, which leaves out what a write is about.
func (d Difference) accepted(across []Subject) bool {
	switch {
	case d.Subject == results.BuildAspect:
		return true
	case d.Subject == Machine, !slices.Contains(across, d.Subject), d.mixed:
		return false
	case d.Name == results.TxnLogCondition && results.OnMemoryFileSystem(d.Base) != results.OnMemoryFileSystem(d.Other):
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
