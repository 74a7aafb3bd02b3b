package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

type kept struct{ ensemble.Local }

func (*kept) Describe(context.Context) (ensemble.Description, error) {
	return ensemble.Description{}, nil
}
func (*kept) Logs(context.Context, io.Writer, int) error { return nil }

// A run without a choice for the transaction logs attaches to any ensemble that is up, and progress names their place. A run
// that asks for another place is refused.
func TestAttachingChecksTheTransactionLogs(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	for _, tt := range []struct {
		asked, kept ensemble.TxnLog
		said        string // by progress, or by the error
		refused     bool
	}{
		{"", ensemble.OnDisk, "with its transaction logs on disk", false},
		{"", ensemble.InMemory, "with its transaction logs in memory", false},
		{ensemble.OnDisk, ensemble.OnDisk, "on disk", false},
		{ensemble.InMemory, ensemble.InMemory, "in memory", false},
		{ensemble.OnDisk, ensemble.InMemory, "in memory: `zkbench ensemble down --name x` first to start it with --txn-log disk", true},
		{ensemble.InMemory, ensemble.OnDisk, "on disk: `zkbench ensemble down --name x` first to start it with --txn-log memory", true},
	} {
		t.Run(fmt.Sprintf("asked for %q, kept %q", tt.asked, tt.kept), func(t *testing.T) {
			var progress strings.Builder
			lock := fmt.Sprintf("test-lifecycle-%d", os.Getpid())
			e, err := ensemble.Lifecycle[*kept]{
				LockName: lock,
				Find: func(context.Context) (*kept, error) {
					return &kept{ensemble.Local{Members: server.Servers(), TxnLog: tt.kept, Found: true}}, nil
				},
				Remove: func(context.Context) error { return errors.New("removed what is kept") },
				Start:  func(context.Context) (*kept, error) { return nil, errors.New("started a second one") },
			}.Up(t.Context(), ensemble.Options{Name: "x", TxnLog: tt.asked, Progress: &progress})
			if ensemble.InUse(lock) == tt.refused {
				t.Errorf("locked: %t", !tt.refused)
			}
			if !tt.refused {
				must.Do(t, e.Release())
			}
			if said := fmt.Sprint(progress.String(), err); (err != nil) != tt.refused || !strings.Contains(said, tt.said) {
				t.Errorf("refused: %t, said %q; want %q", err != nil, said, tt.said)
			}
		})
	}
}

// A start that fails because of a port is repeated with other ports, up to three times and only if the ports were free to
// choose. The remains of each failed start are removed.
func TestUpStartsAgainWithOtherPorts(t *testing.T) {
	const (
		allocated = "Bind for 127.0.0.1:31233 failed: port is already allocated"
		bound     = "failed to bind host port for 127.0.0.1:31233: address already in use"
		java      = "java.net.BindException: Address already in use"
	)
	server := ensembletest.Embedded(t, embedded.Config{})
	for _, tt := range []struct {
		name     string
		ports    []int
		failures []string // of the starts; those after the last succeed
		starts   int
		up       bool
	}{
		{"Docker", nil, []string{allocated, bound}, 3, true},
		{"Java", nil, []string{java}, 2, true},
		{"always", nil, []string{allocated, allocated, allocated}, 3, false},
		{"chosen by the user", []int{1, 2, 3}, []string{allocated}, 1, false},
		{"another reason", nil, []string{"no space left on device"}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var starts, removals int
			lock := fmt.Sprintf("test-ports-%d", os.Getpid())
			e, err := ensemble.Lifecycle[*kept]{
				LockName: lock,
				Find:     func(context.Context) (*kept, error) { return nil, ensemble.ErrNotUp },
				Remove:   func(context.Context) error { removals++; return nil },
				Start: func(context.Context) (*kept, error) {
					if starts++; starts <= len(tt.failures) {
						return nil, ensemble.PortTaken(errors.New("not started"), tt.failures[starts-1])
					}
					return &kept{ensemble.Local{Breakage: &ensemble.Breakage{}, Members: server.Servers()}}, nil
				},
			}.Up(t.Context(), ensemble.Options{Name: "x", Ports: tt.ports, Progress: io.Discard})
			if (err == nil) != tt.up || starts != tt.starts || removals != 1+min(starts, len(tt.failures)) {
				t.Errorf("%d starts, %d removals, error %v; want %d starts, up: %t", starts, removals, err, tt.starts, tt.up)
			}
			if err != nil && !errors.Is(err, ensemble.ErrNotStarted) {
				t.Errorf("error = %v", err)
			}
			if e == nil {
				return
			}
			before := removals
			if err := e.Close(t.Context()); err != nil || removals != before+1 || ensemble.InUse(lock) {
				t.Errorf("Close removes it %d times: %v; locked: %t", removals-before, err, ensemble.InUse(lock))
			}
		})
	}
}
