package recorder

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

type stage struct {
	planned time.Duration // how long it lasts
	end     time.Duration // once the window is open
	bin
	latency results.LiveHistogram
}

// record lets f record an event in the stage in which a moment lies, if the load has stages and the moment is in the window. The last
// stage lasts until the window ends.
func (w *window) record(at time.Duration, f func(*stage)) {
	if len(w.stages) == 0 || !w.contains(at) {
		return
	}
	i := slices.IndexFunc(w.stages, func(s stage) bool { return at <= s.end })
	if i < 0 {
		i = len(w.stages) - 1
	}
	f(&w.stages[i])
}

func (r *Recorder) fillStages(d *results.Document) {
	d.Stages = nil
	start := r.window.start
	for i, s := range r.window.stages {
		if i > 0 && start >= r.window.end {
			break
		}
		end := s.end
		if last := i == len(r.window.stages)-1; last || end > r.window.end {
			end = r.window.end
		}
		d.Stages = append(d.Stages, results.Stage{
			Start: start, End: end, Operations: s.operations, Notifications: s.notifications,
			LargestHerd: s.largest[r.grouping().grouping], BacklogMax: s.waiting, Latency: s.latency.Encode(),
		})
		start = end
	}
}
