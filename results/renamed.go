package results

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// CurrentMetric returns the name under which a metric is known today, and reports whether the given name is a former one.
// Documents, baselines, rules and scenario files may still use former names.
func CurrentMetric(name string) (current string, renamed bool) {
	if name == "useless-wakeups/op" {
		return SpuriousWakeupsPerOp, true
	}
	return name, false
}

// CurrentMode returns the name under which a mode of load is known today, and reports whether the given name is a former
// one.
func CurrentMode(name string) (current string, renamed bool) {
	if name == "drain" {
		return LockstepMode, true
	}
	return name, false
}

// formerKey returns the key that a part of a document had before schema 3. Each key occurs in one place.
func formerKey(key string) string {
	switch key {
	case "untimed_phases":
		return "paced_phases"
	case "lockstep":
		return "paced"
	case "spurious_wakeups":
		return "useless_wakeups"
	case "housekeeping":
		return "upkeep"
	default:
		return key
	}
}

// upgrade completes a document that was decoded from a text of an earlier schema: it reads the parts that have other keys
// today, gives the mode and the metrics their current names, and lists these in OldNames.
func (d *Document) upgrade(text []byte) error {
	var former struct {
		UntimedPhases []string `json:"paced_phases"`
		Window        struct {
			Lockstep bool `json:"paced"`
		} `json:"window"`
		Counts struct {
			SpuriousWakes int64 `json:"useless_wakeups"`
			Housekeeping  int64 `json:"upkeep"`
		} `json:"counts"`
	}
	if err := json.Unmarshal(text, &former); err != nil {
		return err
	}
	d.UntimedPhases, d.Window.Lockstep = former.UntimedPhases, former.Window.Lockstep
	d.Counts.SpuriousWakes, d.Counts.Housekeeping = former.Counts.SpuriousWakes, former.Counts.Housekeeping
	d.Scenario.Mode = d.OldNames.Mode(d.Scenario.Mode)
	renameMetrics(d.Metrics, &d.OldNames)
	renameMetrics(d.Expected.Costs, &d.OldNames)
	return nil
}

// renameMetrics gives the keys their current names, and notes the former ones.
func renameMetrics[V any](byMetric map[string]V, old *OldNames) {
	for _, name := range slices.Sorted(maps.Keys(byMetric)) {
		if current := old.Metric(name); current != name {
			byMetric[current] = byMetric[name]
			delete(byMetric, name)
		}
	}
}

// OldNamesLine returns one line that lists the former names in documents, each once; empty if there are none.
func OldNamesLine(docs []*Document) string {
	var all []string
	for _, d := range docs {
		all = append(all, d.OldNames...)
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "these results have former names: " + strings.Join(slices.Compact(all), "; ")
}
