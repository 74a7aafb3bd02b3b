package page_test

import (
	"context"
	_ "embed" // of the script that measures the page
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/zkbench/zkbench/plots/page"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
)

//go:embed testdata/measure.js
var measure string

// screenshots names an environment variable with a folder, in which the test then stores a picture of each page that it has measured.
const screenshots = "ZKBENCH_SCREENSHOTS"

// device is a width of the screen, in CSS pixels, and the color scheme that the reader prefers.
type device struct {
	width  int64
	scheme string
}

func (d device) name() string { return fmt.Sprintf("%d-%s", d.width, d.scheme) }

func (d device) emulate(ctx context.Context) error {
	metrics := emulation.SetDeviceMetricsOverrideParams{Width: d.width, Height: 844, DeviceScaleFactor: 1, Mobile: d.width < 600}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, metrics); err != nil {
		return err
	}
	preferred := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: d.scheme}}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: preferred})
	return err
}

// layoutFaults is what measure.js returns: the pixels by which the document is too wide, and descriptions of faulty elements.
type layoutFaults struct {
	Overflow                             int
	Unhinted, Small, Faint, Covered, Cut []string
}

// On a phone, a tablet and a desktop, in both color schemes, the page never scrolls sideways, each part that does has a hint, texts are
// large enough and have a contrast of at least 4.5:1, and no button covers a text. On a desktop, tables are whole. The test needs Chromium.
func TestPageInChromium(t *testing.T) {
	ctx := startChromium(t)
	pages := map[string]page.Report{"one": report(busy("lock-contention")), "many": many(t)}
	for name, r := range pages {
		path := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(path, []byte(written(t, r)), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, d := range []device{{390, "light"}, {390, "dark"}, {768, "light"}, {768, "dark"}, {1280, "light"}, {1280, "dark"}} {
			t.Run(name+"-"+d.name(), func(t *testing.T) {
				got := layoutOf(ctx, t, d, path)
				if got.Overflow > 0 || len(got.Unhinted)+len(got.Small)+len(got.Faint)+len(got.Covered) > 0 {
					t.Errorf("%+v", got)
				}
				if d.width >= 1280 && len(got.Cut) > 0 {
					t.Errorf("cut on a desktop: %q", got.Cut)
				}
			})
		}
	}
}

// busy returns measurements of three variants with all that a section can have: many metrics, a claim that does not hold, doubts, a
// breach and an invalid measurement.
func busy(scenario string) []*results.Document {
	var out []*results.Document
	for _, clients := range []int{1, 10, 100} {
		for _, d := range []*results.Document{
			doc("r1", "children-watch", "naive", clients, 1),
			doc("r1", "znode", "naive", clients, 1),
			doc("r1", "predecessor-watch", "optimized", clients, 1),
		} {
			d.Scenario.Name = scenario
			for i, phase := range []string{"handoff", "acquire", "release", "hold", results.BystanderPhase} {
				latency := d.Metrics[metric.OpsPerSecond].Value * 12345 * float64(i+1)
				d.Metrics[metric.Quantile(phase, 50)] = results.Metric{Value: latency, Unit: "ns"}
				d.Metrics[metric.Quantile(phase, 99)] = results.Metric{Value: 19 * latency, Unit: "ns"}
			}
			for i, name := range []string{
				metric.RequestsPerOp, metric.WritesPerOp, metric.FailedWritesPerOp, metric.HerdMax, metric.SpuriousWakeupsPerOp,
				metric.FloorMultiple("handoff"),
			} {
				d.Metrics[name] = results.Metric{Value: float64(i*clients) + 2.25}
			}
			out = append(out, d)
		}
	}
	out[0].Warnings = []string{"over 25% of the bystanders' p99 is the delay with which zkbench sent their reads"}
	out[1].Invalid = []string{"the counts disagree"}
	out[4].Violations = []results.Violation{{Text: "two clients held the lock at the same time"}}
	return out
}

// many returns two scenarios of two runs that are compared.
func many(t *testing.T) page.Report {
	t.Helper()
	var sides []compare.Side
	for i, name := range []string{"results/runs/20260102T030405Z-ab12", "results/runs/20260103T030405Z-cd34"} {
		s := compare.Side{Name: name, Docs: append(busy("lock-contention"), busy("lock-handoff")...)}
		for _, d := range s.Docs {
			d.Run, d.Started = filepath.Base(name), d.Started.AddDate(0, 0, i)
		}
		sides = append(sides, s)
	}
	c, err := compare.Runs(sides, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Report{Sides: sides, Comparison: &c}
}

// startChromium starts a browser for the test, and skips the test where there is none.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium: apt-get install chromium")
	}
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses a sandbox to root
	}
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine takes one
	t.Cleanup(cancel)
	allocated, stop := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return ctx
}

// unfold opens all details, and returns after the next frame.
const unfold = `document.querySelectorAll("details").forEach((d) => { d.open = true });
new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// layoutOf shows a page on a device, and returns its faults with all details open.
func layoutOf(ctx context.Context, t *testing.T, d device, path string) layoutFaults {
	t.Helper()
	if err := d.emulate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+path)); err != nil {
		t.Fatal(err)
	}
	store(ctx, t, "")
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](unfold, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[layoutFaults](measure))
	if err != nil {
		t.Fatal(err)
	}
	store(ctx, t, "-open")
	return faults
}

// store stores a picture of the shown page, if a folder for it is set.
func store(ctx context.Context, t *testing.T, ending string) {
	t.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(t.Name())+ending+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
