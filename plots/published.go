package plots

import (
	"maps"
	"slices"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/results"
)

// published draws what others have published about the same load beside what was measured. The embedded server has no ensemble's
// times to compare.
func (s *set) published() []Figure {
	theirs := s.docs[0].Scenario.Published
	if theirs == nil || s.docs[0].Environment.Engine == results.Embedded || len(s.clients()) < 2 {
		return nil
	}
	metric, factor := theirs.Measured()
	q := quantityOf(metric)
	if theirs.Metric == "" {
		q = quantity{metric, theirs.Unit + " per second", "", factor}
	}
	measured := s.againstClients(q)
	if len(measured) == 0 {
		return nil
	}
	all := slices.Concat(measured, s.publishedSeries(*theirs))
	y := scaleOf(values(all))
	p := newPlot(y.label(q), "clients", "")
	for _, one := range all {
		addSeries(p, one, y, q)
	}
	y.set(&p.Y)
	s.clientAxis(p)
	for _, one := range all[len(measured):] {
		p.X.Min, p.X.Max = min(p.X.Min, one.points[0].x*0.9), max(p.X.Max, one.last().x*1.1)
	}
	return []Figure{s.gridFigure("published", "Beside "+theirs.Source, []*plot.Plot{p}, legendOf(all))}
}

// publishedSeries returns the published runs, as libraries are drawn: they are measured elsewhere.
func (s *set) publishedSeries(theirs results.Published) []series {
	var out []series
	for i, row := range theirs.Rows {
		one := series{name: "published: " + row.Name, look: look{plain()[i%len(plain())], crosses()[i%len(crosses())]}}
		for _, clients := range slices.Sorted(maps.Keys(row.Seconds)) {
			if value, ok := theirs.Value(row, clients); ok {
				one.points = append(one.points, point{float64(clients), value, value, value})
			}
		}
		for _, clients := range slices.Sorted(maps.Keys(row.Values)) {
			one.points = append(one.points, point{float64(clients), row.Values[clients], row.Values[clients], row.Values[clients]})
		}
		if len(one.points) > 0 {
			out = append(out, one)
		}
	}
	return out
}
