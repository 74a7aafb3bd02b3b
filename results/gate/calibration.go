package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/store"
)

// CalibrationDays is the number of days after which a calibration is out of date.
const CalibrationDays = 7

// CalibrationPairs is the smallest number of A/A pairs whose spread has a 95 % interval.
const CalibrationPairs = 6

const calibrationSchema = 2

// Resolution is the run-to-run noise of one metric on one machine.
type Resolution struct {
	Fingerprint string    `json:"fingerprint"` // all conditions that times depend on, except the build
	Scenario    string    `json:"scenario"`
	Variant     string    `json:"variant"`
	Clients     int       `json:"clients"`
	Metric      string    `json:"metric"`
	Resolution  float64   `json:"resolution"` // a ratio from 1 upwards
	Pairs       int       `json:"pairs"`
	Measured    time.Time `json:"measured"`
}

func (r Resolution) sameAs(o Resolution) bool {
	r.Resolution, r.Pairs, r.Measured = o.Resolution, o.Pairs, o.Measured
	return r == o
}

// Calibration holds the resolutions of this machine, and of others that share its cache.
type Calibration struct {
	Schema  int          `json:"schema"`
	Entries []Resolution `json:"entries"`
}

// entryFor returns the entry of a metric under the conditions of a document, without the measured values.
func entryFor(d *results.Document, metric string) Resolution {
	conditions := grouping.Conditions(d)
	maps.DeleteFunc(conditions, func(c grouping.Condition, _ string) bool { return c.Aspect == grouping.BuildAspect })
	return Resolution{
		Fingerprint: fmt.Sprintf("%q", conditions), // fmt sorts maps
		Scenario:    d.Scenario.Name, Variant: d.Variant, Clients: d.Clients, Metric: metric,
	}
}

// resolution returns the machine's resolution for a metric: without a current calibration, 1 and a note. A machine has none for counts.
func (r PairRules) resolution(d *results.Document, name string) (resolution float64, note string) {
	if isCount(name) {
		return 1, ""
	}
	for _, e := range cmp.Or(r.Calibration, &Calibration{}).Entries {
		if age := r.Now.Sub(e.Measured); e.sameAs(entryFor(d, name)) && age >= 0 && age <= CalibrationDays*24*time.Hour {
			return e.Resolution, ""
		}
	}
	return 1, fmt.Sprintf("not calibrated for %[1]s on this machine, or not within %[2]d days: a slowdown has to exceed only the minimum "+
		"effect; `zkbench calibrate %[1]s` measures the machine's run-to-run noise, within which no slowdown is flagged",
		d.Scenario.Name, CalibrationDays)
}

// Calibrate returns the resolutions that A/A pairs show. Both sides of such a pair are the same build.
func Calibrate(p Pairs, r PairRules) ([]Resolution, error) {
	var out []Resolution
	var errs []error
	for _, d := range p.Documents() { // one at a time, because they are of many runs
		for _, c := range list.Where(builtIn([]*results.Document{d}, p.called), Check.failed) { // such numbers say nothing about the machine
			errs = append(errs, fmt.Errorf("%s: %s: %s", subject([]Check{c}), c.Rule, c.Why))
		}
	}
	for _, c := range p.comparisons() {
		first := c.docs[0]
		what := subject([]Check{about(first, FromPairs, "")})
		if why := c.incomparable(); why != "" {
			errs = append(errs, fmt.Errorf("%s: %s", what, why))
			continue
		}
		for _, metric := range list.Where(r.metrics(first), isTime) {
			e := entryFor(first, metric)
			ratios, err := logRatios(c.screen, 0, metric)
			if err == nil {
				e.Resolution, err = paired.Resolution(ratios)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s, %s: %w", what, metric, err))
				continue
			}
			e.Pairs, e.Measured = len(ratios), r.Now.UTC().Truncate(time.Second)
			out = append(out, e)
		}
	}
	return out, errors.Join(errs...)
}

// ReadCalibration returns the calibration in a file; an empty one if there is no file.
func ReadCalibration(file string) (*Calibration, error) {
	c := &Calibration{Schema: calibrationSchema}
	text, err := store.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := store.DecodeSealed(text, calibrationSchema, c); err != nil {
		return nil, fmt.Errorf("%s is not a calibration: it %w: remove it, and run `zkbench calibrate` again", file, err)
	}
	return c, nil
}

// Keep replaces older entries by new ones of the same metric and conditions, and writes the file in one step.
func (c *Calibration) Keep(file string, entries []Resolution) error {
	c.Entries = slices.DeleteFunc(c.Entries, func(old Resolution) bool {
		return slices.ContainsFunc(entries, func(e Resolution) bool { return e.sameAs(old) })
	})
	c.Entries = append(c.Entries, entries...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return store.WriteSealed(file, c)
}
