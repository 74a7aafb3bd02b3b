package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Subject is a kind of condition that a comparison can be about.
type Subject = results.Aspect

// The subjects. A machine is not one of them: machines cannot take turns, so that times of two machines are never compared.
const (
	Engine    Subject = results.EngineAspect
	ZooKeeper Subject = results.ZooKeeperAspect
	Settings  Subject = results.SettingsAspect
)

// Subjects returns the subjects that a user can choose.
func Subjects() []Subject { return []Subject{Engine, ZooKeeper, Settings} }

// Difference is a condition in which two sides differ.
type Difference struct {
	Subject  Subject `json:"subject"`
	Name     string  `json:"name"` // such as "tickTime"
	Side     string  `json:"side"` // the side that differs from the base
	Base     string  `json:"base"`
	Other    string  `json:"other"`
	Accepted bool    `json:"accepted"` // times are compared all the same
	mixed    bool    // a side differs within itself
}

// unset stands for a setting that only the other side's servers report.
const unset = "unset"

// conditionValues returns the different values of each condition in a group's documents.
func (g group) conditionValues() map[results.Condition][]string {
	out := map[results.Condition][]string{}
	for _, d := range g.docs {
		for c, value := range d.Conditions() {
			out[c] = results.AppendNew(out[c], value)
		}
	}
	return out
}

// differing returns the conditions that are not the same in all documents of both groups, sorted.
func (m match) differing() []Difference {
	base, other := m.base.conditionValues(), m.other.conditionValues()
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

// engine returns the engines that a group was measured on. Every row names them, because times of the embedded server are
// not those of an ensemble.
func (g group) engine() string {
	return joined(g.conditionValues()[results.Condition{Aspect: Engine, Name: "engine"}])
}

func joined(values []string) string {
	if len(values) == 0 {
		return unset
	}
	return strings.Join(slices.Sorted(slices.Values(values)), " or ")
}

// otherName returns the name of the other side; within one run, that of the other variant.
func (m match) otherName() string {
	if m.base.side == m.other.side {
		return m.other.key.Name()
	}
	return m.other.side
}

// differentLoads returns an error if the two groups had different loads.
func (m match) differentLoads() error {
	loads := results.Where(m.differing(), func(d Difference) bool { return d.Subject == results.LoadAspect })
	if len(loads) == 0 {
		return nil
	}
	texts := results.Map(loads, func(d Difference) string { return fmt.Sprintf("%s %s and %s", d.Name, d.Base, d.Other) })
	return fmt.Errorf("%s: these are different loads: %s; measure both with the same load", m.base.key.Scenario, strings.Join(texts, ", "))
}

// differences returns the conditions in which the groups differ, the load aside. Settings that only one of two engines reports
// are left out.
func (m match) differences(across []Subject) []Difference {
	all := slices.DeleteFunc(m.differing(), func(d Difference) bool { return d.Subject == results.LoadAspect })
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

// accepted reports whether times may be compared in spite of the difference. They may not if one side differs within itself,
// or if only one side has its transaction log in memory, where no write waits for a disk.
func (d Difference) accepted(across []Subject) bool {
	switch {
	case d.Subject == results.BuildAspect:
		return true
	case !slices.Contains(across, d.Subject), d.mixed:
		return false
	case d.Name == results.TxnLogCondition && results.OnMemoryFileSystem(d.Base) != results.OnMemoryFileSystem(d.Other):
		return false
	default:
		return d.Subject != Engine || d.Base != results.Embedded && d.Other != results.Embedded
	}
}

// obstacle returns why times cannot be compared; empty if they can.
func obstacle(differences []Difference) string {
	refused := results.Where(differences, func(d Difference) bool { return !d.Accepted })
	if len(refused) == 0 {
		return ""
	}
	return "measured under different conditions: " + strings.Join(results.Map(refused, func(d Difference) string { return d.Name }), ", ")
}
