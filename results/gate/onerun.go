package gate

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// shared is a part of a document that other documents of the same run have, too.
type shared struct {
	name  string
	value any
}

// sharedByScenario returns what all documents of one scenario in one run have in common: they were asked for together, and
// measured on one ensemble.
func sharedByScenario(d *results.Document) []shared {
	return []shared{
		{"scenario", d.Scenario}, {"environment", d.Environment}, {"recipe", d.Recipe}, {"phases", d.Phases}, {"operation", d.Operation}, {"batch", d.Batch},
		{"waiting_phases", d.Waiting}, {"paced_phases", d.PacedPhases}, {"shares", d.Shares},
	}
}

// sharedByMeasured returns what, besides, those of them have in common that are no rehearsals, which have no floor.
func sharedByMeasured(d *results.Document) []shared {
	var floor map[string]string
	if d.Floor != nil {
		floor = d.Floor.Phases
	}
	return []shared{{"floor.phases", floor}}
}

// sharedByRepeats returns what, besides, the repeats of one variant and number of clients have in common.
func sharedByRepeats(d *results.Document) []shared {
	return []shared{{"kind", d.Kind}, {"expected.exact", d.Expected.Exact}, {"expected.costs", d.Expected.Costs}}
}

// contradiction returns in what the documents of one run contradict each other; empty if in nothing. One of them that was
// changed, or that belongs to another run, describes the same load or machine differently.
func contradiction(docs []*results.Document) string {
	var found []string
	first := map[string]*results.Document{}
	compare := func(key string, d *results.Document, parts func(*results.Document) []shared) {
		if first[key] == nil {
			first[key] = d
		}
		want := parts(first[key])
		for i, got := range parts(d) {
			if !reflect.DeepEqual(got.value, want[i].value) {
				found = append(found, fmt.Sprintf("%s and %s differ in %s", first[key].Filename(), d.Filename(), leaf(got.name, got.value, want[i].value)))
			}
		}
	}
	for _, d := range docs {
		compare("", d, sharedByScenario)
		if d.Repeat > 0 {
			compare("measured", d, sharedByMeasured)
		}
		compare(fmt.Sprint(d.Variant, " ", d.Clients), d, sharedByRepeats)
	}
	return strings.Join(found, "; ")
}

// leaf names the first field in which two structs differ, by its name in JSON; the whole, if they are none.
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
