package gate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// shared is a part of a document that other documents of the same run have in common with it.
type shared struct {
	name  string
	value any
}

// sharedByScenario returns the parts that are equal in all documents of one scenario in one run, because these have one load
// and one ensemble.
func sharedByScenario(d *results.Document) []shared {
	return []shared{
		{"scenario", d.Scenario}, {"environment", d.Environment}, {"recipe", d.Recipe}, {"phases", d.Phases}, {"operation", d.Operation}, {"batch", d.Batch},
		{"waiting_phases", d.Waiting}, {"untimed_phases", d.UntimedPhases}, {"shares", d.Shares},
	}
}

// sharedByMeasured returns the parts that are also equal in all documents but rehearsals and unfinished measurements, which have no
// floor.
func sharedByMeasured(d *results.Document) []shared {
	var floor map[string]string
	if d.Floor != nil {
		floor = d.Floor.Phases
	}
	return []shared{{"floor.phases", floor}}
}

// sharedByRepeats returns the parts that are also equal in the repeats of one variant and number of clients.
func sharedByRepeats(d *results.Document) []shared {
	return []shared{{"kind", d.Kind}, {"expected.exact", d.Expected.Exact}, {"expected.costs", d.Expected.Costs}}
}

// contradiction returns the shared parts in which documents of one run differ; empty if there are none. A document that was
// edited, or that belongs to another run, describes the load or the machine differently.
func contradiction(docs []*results.Document) string {
	found := differing(docs, sharedByScenario)
	measured := slices.DeleteFunc(slices.Clone(docs), func(d *results.Document) bool { return d.Repeat == 0 || d.Unfinished != nil })
	found = append(found, differing(measured, sharedByMeasured)...)
	order, groups := groupBy(measured, func(d *results.Document) results.GroupKey {
		return results.GroupKey{Variant: d.Variant, Clients: d.Clients, Rate: d.Rate}
	})
	for _, key := range order {
		found = append(found, differing(groups[key], sharedByRepeats)...)
	}
	return strings.Join(found, "; ")
}

// differing returns where documents differ from the first one in the parts that they share.
func differing(docs []*results.Document, parts func(*results.Document) []shared) []string {
	var found []string
	for _, d := range docs {
		want := parts(docs[0])
		for i, got := range parts(d) {
			if !reflect.DeepEqual(got.value, want[i].value) {
				found = append(found, fmt.Sprintf("%s and %s differ in %s", docs[0].Filename(), d.Filename(), leaf(got.name, got.value, want[i].value)))
			}
		}
	}
	return found
}

// leaf returns the JSON name of the first field in which two structs differ; the given name if they are not structs.
func leaf(name string, a, b any) string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Kind() != reflect.Struct {
		return name
	}
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			tag, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
			return name + "." + tag
		}
	}
	return name
}
