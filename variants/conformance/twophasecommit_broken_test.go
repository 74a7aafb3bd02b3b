package conformance_test

import (
	"bytes"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// liar is a session that reads every vote and every outcome as one to commit.
type liar struct{ variants.Conn }

func (l liar) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := l.Conn.Get(path)
	return bytes.ReplaceAll(data, []byte("abort"), []byte("commit")), stat, err
}

func (l liar) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := l.Conn.GetW(path)
	return bytes.ReplaceAll(data, []byte("abort"), []byte("commit")), stat, watch, err
}

// The check above must be able to fail: wherever a vote or an outcome is misread, it is noticed.
func TestTwoPhaseCommitThatMisreadsIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		for _, variant := range siteVariants {
			for _, lying := range []int{0, 1} {
				cs := clients(t, v, 3)
				h := transact(t, transactionDirectory(t, v), variant.name, 15, cs, func(i int, s variants.Conn) variants.Conn {
					if i == lying {
						return liar{s}
					}
					return s
				})
				if len(twophasecommit.Recipe().Violations(h)) == 0 {
					t.Errorf("%s: site %d read all votes as commit, and nobody noticed", variant.name, lying)
				}
			}
		}
	})
}

// outdated is a session that reads every transaction's query as that of the first.
type outdated struct{ variants.Conn }

func (o outdated) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := o.Conn.Get(path)
	return o.first(data), stat, err
}

func (o outdated) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := o.Conn.GetW(path)
	return o.first(data), stat, watch, err
}

// first replaces a query, which is five digits, and leaves votes and outcomes alone.
func (outdated) first(data []byte) []byte {
	if len(data) == 5 && data[0] == '0' {
		return []byte("00000")
	}
	return data
}

// A site that votes on another transaction than the one that the others vote on is caught, even if all votes are alike.
func TestSiteThatVotesOnTheWrongTransactionIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		for _, variant := range siteVariants {
			h := transact(t, transactionDirectory(t, v), variant.name, 3, clients(t, v, 3), func(i int, s variants.Conn) variants.Conn {
				if i == 1 {
					return outdated{s}
				}
				return s
			})
			mustBreak(t, twophasecommit.Recipe(), h, "site 1 was given the query of transaction 0 in transaction 1")
		}
	})
}
