package plots

import (
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"
)

// A line ends where no values follow for long, and begins again with the next one. A single value stays visible.
func TestPieces(t *testing.T) {
	t.Parallel()
	track := track{step: 100 * time.Millisecond}
	point := func(x float64) plotter.XY { return plotter.XY{X: x, Y: 7} }
	for _, tt := range []struct {
		name string
		line plotter.XYs
		want []plotter.XYs
	}{
		{"no values", nil, nil},
		{"a short gap", plotter.XYs{point(0), point(0.1), point(1.2)}, []plotter.XYs{{point(0), point(0.1), point(1.2)}}},
		{"a long gap", plotter.XYs{point(0), point(0.1), point(1.3), point(1.4)}, []plotter.XYs{{point(0), point(0.1)}, {point(1.3), point(1.4)}}},
		{"one value", plotter.XYs{point(1)}, []plotter.XYs{{point(0.95), point(1.05)}}},
	} {
		if got := track.pieces(tt.line); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
