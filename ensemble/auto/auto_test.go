package auto_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/results/must"
)

// fakeDocker replaces the docker command. By default, engine and Compose answer, there is no image, and other calls fail;
// cases override that in the syntax of the shell's `case`.
func fakeDocker(t *testing.T, cases string) {
	t.Helper()
	dir := t.TempDir()
	text := `#!/bin/sh
case "$*" in
` + cases + `
version*) echo 1.0 ;;
"compose version") ;;
"network inspect"*) echo 10.0.9.0/24 ;;
ps*|network*|volume*) ;;
*) echo "no $1 today" >&2; exit 1 ;;
esac
`
	must.Do(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(text), 0o755))
	for _, tool := range []string{"bash", "mktemp", "rm", "sleep"} {
		path := must.Get(filepath.EvalSymlinks(filepath.Join("/bin", tool)))(t)
		must.Do(t, os.Symlink(path, filepath.Join(dir, tool)))
	}
	t.Setenv("PATH", dir)
	t.Setenv("ZKBENCH_IMAGE", "")
	t.Setenv("ZKBENCH_DEBIAN_IMAGE", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	noJava(t)
}

func noJava(t *testing.T) {
	t.Helper()
	t.Setenv("JAVA_HOME", "")
	t.Setenv("ZOOKEEPER_HOME", t.TempDir())
}

// fakeZooKeeper provides an installation with a Java that cannot be started.
func fakeZooKeeper(t *testing.T) {
	t.Helper()
	home, java := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(home, "lib", "zookeeper-3.9.3.jar"), filepath.Join(java, "bin", "java")} {
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte("#!/out/of/order\n"), 0o755))
	}
	t.Setenv("ZOOKEEPER_HOME", home)
	t.Setenv("JAVA_HOME", java)
}

const (
	noCompose = `"compose -p"*) echo "no network is left" >&2; exit 1 ;;`
	hasImage  = `"image inspect"*) ;;`
)

// Open falls back to the next engine if the servers of an available one do not start.
func TestOpenFallsBack(t *testing.T) {
	name := fmt.Sprintf("test-auto-%d", os.Getpid())
	for _, tt := range []struct {
		name, cases string
		zooKeeper   bool
		engine      string
		opts        ensemble.Options
		want        ensemble.Engine // none if it fails
		said        []string        // on progress, or in the error
	}{
		{name: "no image", want: ensemble.Embedded, said: []string{"container engine does not start", "FALLING BACK to the embedded server", "no pull today", "mmdebstrap"}},
		{name: "no containers", cases: hasImage + noCompose, want: ensemble.Embedded, said: []string{"FALLING BACK to the embedded server", "no network is left"}},
		{name: "no processes either", zooKeeper: true, want: ensemble.Embedded, said: []string{"FALLING BACK to three local processes", "FALLING BACK to the embedded server", "bin/java"}},
		{name: "an engine that is asked for", engine: "container", said: []string{"no pull today"}},
		{name: "an image that is asked for", opts: ensemble.Options{Image: "x:1"}, said: []string{"x:1 is not on this machine"}},
		{name: "a transaction log in memory", opts: ensemble.Options{TxnLog: ensemble.InMemory}, said: []string{"no pull today"}},
		{name: "an ensemble to keep", opts: ensemble.Options{Lifetime: ensemble.Kept}, said: []string{"no pull today"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fakeDocker(t, tt.cases)
			if tt.zooKeeper {
				fakeZooKeeper(t)
			}
			var progress strings.Builder
			tt.opts.Name, tt.opts.Progress = name, &progress
			e, err := auto.Open(t.Context(), auto.Choice{Engine: tt.engine}, tt.opts)
			text := progress.String()
			if tt.want == "" {
				if err == nil || strings.Contains(text, "FALLING BACK") {
					t.Fatalf("error %v, progress %q; want a failure", err, text)
				}
				text = err.Error()
			} else {
				checkEngine(t, e, err, tt.want)
			}
			for _, want := range tt.said {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in %q", want, text)
				}
			}
		})
	}
}

func checkEngine(t *testing.T, e ensemble.Ensemble, err error, want ensemble.Engine) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if d, err := e.Describe(t.Context()); err != nil || d.Engine != want {
		t.Errorf("engine %q, %v; want %q", d.Engine, err, want)
	}
}

// After an interrupt, no other engine is started.
func TestInterruptIsNoReasonToFallBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	fakeDocker(t, hasImage+`"compose -p"*) : >`+started+`; exec sleep 60 ;;`)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	var progress strings.Builder
	e, err := auto.Open(ctx, auto.Choice{}, ensemble.Options{Name: fmt.Sprintf("test-auto-%d", os.Getpid()), Progress: &progress})
	if err == nil {
		e.Close(t.Context())
	}
	if !errors.Is(err, context.Canceled) || strings.Contains(progress.String(), "FALLING BACK") {
		t.Errorf("error %v, progress %q; want to be cancelled", err, progress.String())
	}
}

// The caller may refuse the next engine, such as for its limits.
func TestStartAsksBeforeItFallsBack(t *testing.T) {
	fakeDocker(t, "")
	refused := errors.New("too many clients")
	e, err := auto.Start(t.Context(), auto.Choice{}, ensemble.Container, ensemble.Options{Name: fmt.Sprintf("test-auto-%d", os.Getpid())},
		func(next ensemble.Engine) error { return fmt.Errorf("%s: %w", next, refused) })
	if err == nil {
		e.Close(t.Context())
	}
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "embedded: too many clients") {
		t.Errorf("error %v, want %v", err, refused)
	}
}
