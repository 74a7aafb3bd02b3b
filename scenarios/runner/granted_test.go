package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Servers with a tick of half a second grant 1 s to 10 s. What they changed is said once before the measurements, and in each document.
func TestChangedSessionTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked, granted time.Duration
		fault          string
		said, refused  string
	}{
		{14 * time.Second, 10 * time.Second, "", "the servers granted a session timeout of 10s instead of 14s", ""},
		{500 * time.Millisecond, time.Second, "", "the servers granted a session timeout of 1s instead of 500ms", ""},
		{0, 10 * time.Second, "", "the servers granted a session timeout of 10s instead of 30s", ""},
		{4 * time.Second, 4 * time.Second, "", "", ""},
		{500 * time.Millisecond, 0, "stop: holder, at: 1s", "1s instead of 500ms", "the session of the client that stops at 1s ends at about 2s"},
	} {
		bubbleOn(t, embedded.Config{Tick: 500 * time.Millisecond, ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) {
			s := closedOf("lock", 2, "predecessor-watch")
			s.Name, s.Duration, s.SessionTimeout = "granted", 1800*time.Millisecond, tt.asked
			if tt.fault != "" {
				s.Faults = schedule(t, tt.fault)
			}
			var docs []*results.Document
			var said []string
			r := runnerOf(t, e, catalog.Recipes(), func(d *results.Document) { docs = append(docs, d) })
			r.ShortenFloors()
			r.SkipRehearsals()
			r.Notice = func(text string) { said = append(said, text) }
			err := r.RunScenario(t.Context(), s)
			if text := strings.Join(said, "\n"); !strings.Contains(text, tt.said) || (tt.said == "") != (text == "") {
				t.Errorf("asked for %s: said %q, want %q", tt.asked, text, tt.said)
			}
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("error = %v, want %q", err, tt.refused)
				}
				return
			}
			if err != nil || len(docs) == 0 {
				t.Fatalf("%d documents, %v", len(docs), err)
			}
			warned := slices.Contains(docs[0].Warnings, tt.said)
			if got := docs[0].Environment.SessionTimeout; got != tt.granted || warned != (tt.said != "") || docs[0].Scenario.SessionTimeout != tt.asked {
				t.Errorf("asked for %s: granted %s, warnings %q", tt.asked, got, docs[0].Warnings)
			}
		})
	}
}
