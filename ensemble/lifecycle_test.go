package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// An ensemble that is up serves a run that names no place for transaction logs, and progress says where they are. It is
// never taken for one that keeps them elsewhere.
func TestAttachingMindsTheTransactionLogs(t *testing.T) {
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
			_, claim, err := ensemble.Lifecycle[*embedded.Ensemble]{
				ClaimName: fmt.Sprintf("test-lifecycle-%d", os.Getpid()),
				Find:      func(context.Context) (*embedded.Ensemble, error) { return server, nil },
				Remove:    func(context.Context) error { return errors.New("removed what is kept") },
				Start:     func(context.Context) (*embedded.Ensemble, error) { return nil, errors.New("started a second one") },
				TxnLogOf:  func(*embedded.Ensemble) ensemble.TxnLog { return tt.kept },
			}.Up(t.Context(), ensemble.Options{Name: "x", TxnLog: tt.asked, Progress: &progress})
			if releaseErr := claim.Release(); releaseErr != nil {
				t.Error(releaseErr)
			}
			if said := fmt.Sprint(progress.String(), err); (err != nil) != tt.refused || !strings.Contains(said, tt.said) {
				t.Errorf("refused: %t, said %q; want %q", err != nil, said, tt.said)
			}
		})
	}
}
