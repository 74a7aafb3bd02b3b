package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Subject is a kind of condition that a comparison can be about.
type Subject = results.Aspect

// Subjects returns the subjects that a user can choose. A machine is not one of them: machines cannot take turns, so that times of two
// machines are never compared.
func Subjects() []Subject {
	return []Subject{results.EngineAspect, results.ZooKeeperAspect, results.SettingsAspect}
}

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

// differing returns the conditions that are not the same in all documents of both groups.
func (m match) differing() []Difference {
	return results.Map(results.Differing(m.base.docs, m.other.docs), func(d results.Difference) Difference {
		return Difference{Subject: d.Aspect, Name: d.Name, Side: m.otherName(), Base: strings.Join(d.Base, or), Other: strings.Join(d.Other, or),
			mixed: len(d.Base) > 1 || len(d.Other) > 1}
	})
}

// or stands between the values of a condition in which a side differs within itself.
const or = " or "

// otherName returns the name of the other side; within one run, that of the other variant.
func (m match) otherName() string {
	if m.base.side == m.other.side {
		return m.other.Name()
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
	return fmt.Errorf("%s: these are different loads: %s; measure both with the same load", m.base.Scenario, strings.Join(texts, ", "))
}

// differences returns the conditions in which the groups differ, the load aside. Settings that only one of two engines reports
// are left out.
func (m match) differences(across []Subject) []Difference {
	all := m.differing()
	engines := slices.ContainsFunc(all, func(d Difference) bool { return d.Subject == results.EngineAspect })
	var out []Difference
	for _, d := range all {
		if d.Subject == results.LoadAspect || engines && (d.Base == results.Unset || d.Other == results.Unset || d.Name == "image") {
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
		return d.Subject != results.EngineAspect || d.Base != results.Embedded && d.Other != results.Embedded
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
