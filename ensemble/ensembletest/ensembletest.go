// Package ensembletest gives tests an ensemble to run against.
//
// It takes one position: the same tests must pass on the embedded server and on real ones. Live tests, on real servers, are
// skipped with the reason if the machine has none, and fail if ZKBENCH_REQUIRE_LIVE is set.
package ensembletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
)

// The environment variables of live tests.
const (
	liveVariable    = "ZKBENCH_LIVE"         // run live tests if possible
	requireVariable = "ZKBENCH_REQUIRE_LIVE" // fail if it is not possible
	nameVariable    = "ZKBENCH_TEST_NAME"    // begins the names of ensembles; differs between test runs that share a Docker engine
)

// Name returns the name of the ensemble that live tests share. A test that needs another ensemble appends to the name.
func Name() string { return cmp.Or(os.Getenv(nameVariable), "test") }

// startTimeout includes building the image, and waiting for other packages' tests.
const startTimeout = 30 * time.Minute

// Shared is the ensemble of one package's live tests. The first test that needs it starts it, and Main takes it down.
type Shared struct {
	Suffix string // of the name; packages with the same one take turns

	once     sync.Once
	turn     *ensemble.FileLock // held while this package uses the ensemble
	ensemble ensemble.Ensemble
	err      error
}

// Main runs a package's tests, takes the shared ensemble down, and returns the exit code.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.ensemble != nil {
		if err := s.ensemble.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "take down the test ensemble:", err)
			code = max(code, 1)
		}
	}
	_ = s.turn.Release()
	return code
}

// Get returns the shared ensemble. Only one package at a time uses it, because tests change the servers' counters.
func (s *Shared) Get(t testing.TB) ensemble.Ensemble {
	t.Helper()
	Require(t, nil)
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if s.turn, s.err = turn(ctx, Name()+s.Suffix); s.err == nil {
			s.ensemble, s.err = open(ctx, Name()+s.Suffix)
		}
	})
	Require(t, s.err)
	return s.ensemble
}

func turn(ctx context.Context, name string) (*ensemble.FileLock, error) {
	for {
		lock, err := ensemble.TryLock(name + "-tests")
		if !errors.Is(err, ensemble.ErrBusy) || ctx.Err() != nil {
			return lock, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// open starts the ensemble. It returns an error instead of the embedded server, which has its own tests.
func open(ctx context.Context, name string) (ensemble.Ensemble, error) {
	var why strings.Builder
	opts := ensemble.Options{Name: name, Progress: &why}
	engine, _, err := auto.Resolve(ctx, auto.Choice{}, opts)
	if err != nil {
		return nil, err
	}
	if engine == ensemble.Embedded {
		return nil, fmt.Errorf("%w: %s", ensemble.ErrUnavailable, why.String())
	}
	opts.Progress = os.Stderr
	return auto.Open(ctx, auto.Choice{Engine: string(engine)}, opts)
}

// Embedded starts servers on ports, which end with the test.
func Embedded(t testing.TB, config embedded.Config) *embedded.Ensemble {
	t.Helper()
	s := must.Get(embedded.Listen(config))(t)
	t.Cleanup(func() {
		must.Do(t, s.Close())
	})
	return embedded.Of(s)
}

// Require skips a live test if live tests are off, or if err wraps ErrUnavailable and they are not required. Any other error fails the
// test.
func Require(t testing.TB, err error) {
	t.Helper()
	required := os.Getenv(requireVariable) != ""
	switch {
	case os.Getenv(liveVariable) == "" && !required:
		t.Skipf("live tests are off: set %s=1, or run `make test`", liveVariable)
	case err == nil:
	case errors.Is(err, ensemble.ErrUnavailable) && !required:
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
