package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/paired"
)

// CalibrationDays is how long a calibration tells something about the machine as it is.
const CalibrationDays = 7

// CalibrationPairs is how many A/A pairs it takes at least until their spread has a 95 % interval.
const CalibrationPairs = 6

// calibrationSchema is the version of the calibration's file.
const calibrationSchema = 2

// differs names the first thing by which two documents must not be compared; empty if there is none. That the builds are
// not the same is what pairs are about.
func differs(a, b *results.Document) string {
	for _, c := range a.Unlike(b) {
		if c.Aspect != results.BuildAspect {
			return fmt.Sprintf("measured under another %s (%s): %q, not %q", c.Name, c.Aspect, b.Conditions()[c], a.Conditions()[c])
		}
	}
	return ""
}

// fingerprint names everything that a document's times depend on besides the build.
func fingerprint(d *results.Document) string {
	conditions := d.Conditions()
	var parts []string
	for _, c := range results.SortedConditions(conditions) {
		if c.Aspect != results.BuildAspect {
			parts = append(parts, fmt.Sprintf("%s: %s", c.Name, conditions[c]))
		}
	}
	return strings.Join(parts, "; ")
}

// Resolution is what a machine moved by itself, in one metric.
type Resolution struct {
	Fingerprint string    `json:"fingerprint"` // of load, servers and machine
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

// Calibration is what is known about this machine, and about others whose cache was the same.
type Calibration struct {
	Schema  int          `json:"schema"`
	Entries []Resolution `json:"entries"`
}

// Find returns what was measured of the metric where and how the document was, unless that is too old.
func (c *Calibration) Find(d *results.Document, metric string, now time.Time) (Resolution, bool) {
	want := entryFor(d, metric)
	for _, e := range c.Entries {
		if age := now.Sub(e.Measured); e.sameAs(want) && age >= 0 && age <= CalibrationDays*24*time.Hour {
			return e, true
		}
	}
	return Resolution{}, false
}

func entryFor(d *results.Document, metric string) Resolution {
	return Resolution{Fingerprint: fingerprint(d), Scenario: d.Scenario.Name, Variant: d.Variant, Clients: d.Clients, Metric: metric}
}

// Calibrate returns the resolutions that A/A pairs show, both sides of which are the same build.
func Calibrate(p Pairs, r PairRules) ([]Resolution, error) {
	var out []Resolution
	var errs []error
	for _, d := range p.documents() { // what must not be used tells nothing about the machine
		for _, c := range builtIn([]*results.Document{d}) {
			if c.failed() {
				errs = append(errs, fmt.Errorf("%s: %s: %s", c.where(), c.Rule, c.Why))
			}
		}
	}
	for _, where := range p.places() {
		if why := p.incomparable(where); why != "" {
			errs = append(errs, fmt.Errorf("%s %s n=%d: %s", where.scenario, where.variant, where.clients, why))
			continue
		}
		for _, metric := range r.metrics(at(p.Screen[0][0], where)) {
			e, err := p.resolution(where, metric)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s n=%d, %s: %w", where.scenario, where.variant, where.clients, metric, err))
				continue
			}
			e.Measured = r.Now.UTC().Truncate(time.Second)
			out = append(out, e)
		}
	}
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("no pair has any result"))
	}
	return out, errors.Join(errs...)
}

func (p Pairs) resolution(where place, metric string) (Resolution, error) {
	e := entryFor(at(p.Screen[0][0], where), metric)
	ratios, err := logRatios(p.Screen, where, metric)
	if err != nil {
		return e, err
	}
	e.Pairs = len(ratios)
	e.Resolution, err = paired.Resolution(ratios)
	return e, err
}

// ReadCalibration returns what is kept in a file; nothing if there is none yet.
func ReadCalibration(file string) (*Calibration, error) {
	c := &Calibration{Schema: calibrationSchema}
	text, err := results.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s is no calibration (%w): remove it, and run `zkbench calibrate` again", file, err)
	}
	if c.Schema != calibrationSchema {
		return nil, fmt.Errorf("%s has schema %d, this zkbench reads %d: remove it, and run `zkbench calibrate` again", file, c.Schema, calibrationSchema)
	}
	return c, nil
}

// Keep replaces what was known of the same by newer entries, and writes the file in one step.
func (c *Calibration) Keep(file string, entries []Resolution) error {
	c.Entries = slices.DeleteFunc(c.Entries, func(old Resolution) bool {
		return slices.ContainsFunc(entries, func(e Resolution) bool { return e.sameAs(old) })
	})
	c.Entries = append(c.Entries, entries...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return results.WriteJSON(file, c)
}
