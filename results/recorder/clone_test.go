package recorder_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

// closed returns the document of a recorder whose window is closed.
func (l *load) closed(t *testing.T, r *recorder.Recorder, d *results.Document) *results.Document {
	t.Helper()
	facts := recorder.Facts{
		Oracle:         results.Oracle{Why: "no server", ClientNotifications: int64(len(l.notifications))},
		SessionTimeout: s, Counts: results.Counts{Requests: map[string]int64{}},
		Servers: []results.ServerReport{{Server: 0}, {Server: 1}, {Server: 2}},
	}
	if err := r.Close(d, facts); err != nil {
		t.Fatal(err)
	}
	return d
}

// A clone has everything that was recorded before: its document is that of a measurement that ended there. Neither of the two
// notices what the other one receives later.
func TestClone(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newLoad(seed)
			l.config.Cloned = true
			events := l.measurement().Events()
			at := l.window.Start + time.Duration(rand.New(rand.NewPCG(seed, 1)).Int64N(int64(l.window.length())))
			undisturbed, original, short := recorder.New(l.config), recorder.New(l.config), recorder.New(l.config)
			events.Play(undisturbed, math.MinInt64, math.MaxInt64)
			events.Play(original, math.MinInt64, at)
			events.Play(short, math.MinInt64, at)

			partial, twin := original.Clone(), original.Clone()
			partial.CloseWindow(at)
			short.CloseWindow(at)
			d := l.closed(t, partial, l.document())
			ended := l.closed(t, short, l.document())
			equal(t, "a document of the clone", d, ended)
			for _, second := range []float64{0.3, 0.6, 1} {
				upTo := at + time.Duration(second*float64(l.window.End+s-at))
				events.Play(original, at, upTo)
				events.Play(twin, at, upTo)
				at = upTo
			}
			events.Play(original, at, math.MaxInt64)
			events.Play(twin, at, math.MaxInt64)
			equal(t, "a document of the clone, after the original has gone on", d, ended)
			want := l.closed(t, undisturbed, l.document())
			equal(t, "the document of the original", l.closed(t, original, l.document()), want)
			equal(t, "the document of a clone that received the rest", l.closed(t, twin, l.document()), want)
		})
	}
}

// The timeline of a window that is cut short is from its middle, too, and that of a window of the planned length from exactly there.
func TestTimelineOfClones(t *testing.T) {
	const length = 100 * s
	rec := recorder.New(recorder.Config{Operation: "release", Version: "3.9.3", WindowLength: length, Cloned: true})
	rec.OpenWindow(s)
	for at := s; at <= s+length; at += 20 * ms {
		rec.Notification(note(at, 0, int64(at)))
		if so := at - s; so > 0 && so%(7*s) == 0 {
			clone, d := rec.Clone(), &results.Document{}
			clone.CloseWindow(at)
			if err := clone.Close(d, recorder.Facts{}); err != nil {
				t.Fatal(err)
			}
			off := ((d.Timeline.Start+d.Timeline.End)/2 - (s + so/2)).Abs()
			if off > max(125*ms, so/8) || len(d.Timeline.Notifications) < 50 {
				t.Errorf("after %s: %d notifications from %s to %s", so, len(d.Timeline.Notifications), d.Timeline.Start, d.Timeline.End)
			}
		}
	}
	rec.CloseWindow(s + length + 460*ms) // a little late
	d := &results.Document{}
	if err := rec.Close(d, recorder.Facts{}); err != nil {
		t.Fatal(err)
	}
	if middle := s + length/2 + 230*ms; d.Timeline.Start != middle-s/2 || d.Timeline.End != middle+s/2 {
		t.Errorf("the timeline of the whole window goes from %s to %s", d.Timeline.Start, d.Timeline.End)
	}
}
