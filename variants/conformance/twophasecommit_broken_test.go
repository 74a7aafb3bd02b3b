package conformance_test

import (
	"bytes"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// liar is a session that reads every vote and every outcome as one to commit.
type liar struct{ variants.Session }

func (l liar) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := l.Session.Get(path)
	return bytes.ReplaceAll(data, []byte("abort"), []byte("commit")), stat, err
}

func (l liar) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := l.Session.GetW(path)
	return bytes.ReplaceAll(data, []byte("abort"), []byte("commit")), stat, watch, err
}

// The check above must be able to fail: wherever a vote or an outcome is misread, it is noticed.
func TestTwoPhaseCommitThatMisreadsIsCaught(t *testing.T) {
	t.Parallel()
	v := embeddedVenue(t)
	for _, variant := range siteVariants {
		for _, lying := range []int{0, 1} {
			cs := clients(t, v, 3)
			h := transact(t, transactionDirectory(t, v), variant.name, 15, cs, func(i int, s variants.Session) variants.Session {
				if i == lying {
					return liar{s}
				}
				return s
			})
			if len(twophasecommit.Recipe().Check(h)) == 0 {
				t.Errorf("%s: site %d read all votes as commit, and nobody noticed", variant.name, lying)
			}
		}
	}
}
