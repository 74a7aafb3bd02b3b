package plots

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot/vg"
)

// thinned returns the points that remain of a line.
func thinned(line []vg.Point) (all, left []place) {
	c := &inlineCanvas{height: 400}
	c.addPart(vg.PathComp{Type: vg.MoveComp, Pos: line[0]})
	for _, p := range line[1:] {
		c.addPart(vg.PathComp{Type: vg.LineComp, Pos: p})
	}
	for _, p := range line {
		all = append(all, c.place(p))
	}
	return all, c.line
}

// distanceTo returns how far a point is from a segment, in units.
func distanceTo(p, from, to place) float64 {
	dx, dy := float64(to.x-from.x), float64(to.y-from.y)
	px, py := float64(p.x-from.x), float64(p.y-from.y)
	share := 0.0
	if square := dx*dx + dy*dy; square > 0 {
		share = min(max((px*dx+py*dy)/square, 0), 1)
	}
	return math.Hypot(px-share*dx, py-share*dy)
}

// A line that has lost points is nowhere more than one unit away from what it was, begins and ends where it did, and has as few
// points as its turns need.
func TestPointsOnALineAreLeftOut(t *testing.T) {
	line := func(n int, y func(x float64) float64) []vg.Point {
		var out []vg.Point
		for i := range n {
			out = append(out, vg.Point{X: vg.Length(i), Y: vg.Length(y(float64(i)))})
		}
		return out
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name  string
		line  []vg.Point
		least int
		most  int
	}{
		{"straight", line(40, func(x float64) float64 { return 3 * x }), 2, 2},
		{"longer than what is looked at again", line(200, func(float64) float64 { return 7 }), 2, 5},
		{"a bend", line(40, func(x float64) float64 { return math.Abs(x - 20) }), 3, 3},
		{"there and back", []vg.Point{{X: 1, Y: 1}, {X: 9, Y: 1}, {X: 1, Y: 1}}, 3, 3},
		{"a curve", line(300, func(x float64) float64 { return 100 * math.Log(1+x) }), 10, 60},
		{"noise", line(300, func(float64) float64 { return 50 * random.Float64() }), 250, 300},
	} {
		all, left := thinned(tt.line)
		if len(left) < tt.least || len(left) > tt.most || left[0] != all[0] || left[len(left)-1] != all[len(all)-1] {
			t.Errorf("%s: %d of %d points are left", tt.name, len(left), len(all))
		}
		for _, p := range all {
			nearest := math.Inf(1)
			for i := range left[1:] {
				nearest = min(nearest, distanceTo(p, left[i], left[i+1]))
			}
			if nearest > 1 {
				t.Errorf("%s: %v is %.1f units away", tt.name, p, nearest)
			}
		}
	}
}
