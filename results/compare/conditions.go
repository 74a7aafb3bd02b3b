package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
)

// Subject is a kind of condition that a comparison can be about.
type Subject = grouping.Aspect

// Subjects returns the subjects that a user can choose. A machine is not one of them: machines cannot take turns, so that times of two
// machines are never compared.
func Subjects() []Subject {
	return []Subject{grouping.EngineAspect, grouping.ZooKeeperAspect, grouping.SettingsAspect}
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
	return list.Map(grouping.Differing(m.base.docs, m.other.docs), func(d grouping.Difference) Difference {
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
	loads := list.Where(m.differing(), func(d Difference) bool { return d.Subject == grouping.LoadAspect })
	if len(loads) == 0 {
		return nil
	}
	texts := list.Map(loads, func(d Difference) string { return fmt.Sprintf("%s %s and %s", d.Name, d.Base, d.Other) })
	return fmt.Errorf("%s: these are different loads: %s; measure both with the same load", m.base.Scenario, strings.Join(texts, ", "))
}

// differences returns the conditions in which the groups differ, the load aside. Settings that only one of two engines reports
// are left out.
func (m match) differences(across []Subject) []Difference {
	all := m.differing()
	engines := slices.ContainsFunc(all, func(d Difference) bool { return d.Subject == grouping.EngineAspect })
	var out []Difference
	for _, d := range all {
		if d.Subject == grouping.LoadAspect || engines && (d.Base == grouping.Unset || d.Other == grouping.Unset || d.Name == "image") {
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
	case d.Subject == grouping.BuildAspect:
		return true
	case !slices.Contains(across, d.Subject), d.mixed:
		return false
	case d.Name == grouping.TxnLogCondition && grouping.OnMemoryFileSystem(d.Base) != grouping.OnMemoryFileSystem(d.Other):
		return false
	default:
		return d.Subject != grouping.EngineAspect || d.Base != results.Embedded && d.Other != results.Embedded
	}
}

// obstacle returns why times cannot be compared; empty if they can.
func obstacle(differences []Difference) string {
	refused := list.Where(differences, func(d Difference) bool { return !d.Accepted })
	if len(refused) == 0 {
		return ""
	}
	return "measured under different conditions: " + strings.Join(list.Map(refused, func(d Difference) string { return d.Name }), ", ")
}
