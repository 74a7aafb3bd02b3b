package conformance_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants/doublebarrier"
)

// interruptedReadyRace is the view of a client to which something happens just before it first creates a znode whose path contains a word.
func interruptedReadyRace(t *testing.T, c *client, g doublebarrier.Group, word string, do func()) doublebarrier.Barrier {
	t.Helper()
	var once sync.Once
	session := c.handle.Through(hooked{c.conn, func(op, path string) {
		if op == "create" && strings.Contains(path, word) {
			once.Do(do)
		}
	}})
	return openBarrier(t, readyRace, session, g)
}

// soon is a context that ends long before the test does.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(testContext(t), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// A client is cancelled just as the last one enters. The others go through the round without it, and meet it in the next.
func TestReadyRaceCancelledJustAsTheLastOneEnters(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		cs := clients(t, v, 3)
		g := doublebarrier.Group{Dir: directory(t, v), Size: 3}
		ctx, cancel := context.WithCancel(soon(t))
		var cancelled <-chan error
		last := interruptedReadyRace(t, cs[2], g, "/ready", func() {
			cancel()
			if err := <-cancelled; err == nil {
				t.Error("a cancelled Enter succeeded")
			}
		})
		bs := barriersFor(t, g.Dir, readyRace, cs[0], cs[1], cs[2])[:2]
		cancelled = doubleBarrierWait(ctx, t, bs[0], bs[0].Enter)
		second := doubleBarrierWait(soon(t), t, bs[1], bs[1].Enter)
		must(t, last.Enter(soon(t)))
		doubleBarrierMustBeDone(t, "enter", second)
		doubleBarrierLeave(t, bs[1], last)
		ends := []<-chan error{doubleBarrierWait(soon(t), t, bs[0], bs[0].Enter)}
		for _, b := range []doublebarrier.Barrier{bs[1], last} {
			ends = append(ends, background(func() error { return b.Enter(soon(t)) }))
		}
		doubleBarrierMustBeDone(t, "enter again", ends...)
		doubleBarrierLeave(t, bs[0], bs[1], last)
	})
}

// A round begins, and may end, between a client's look for ready and its registration. That client waits for the next round, although its
// watch has fired.
func TestReadyRaceOvertakenBeforeItRegisters(t *testing.T) {
	for name, over := range map[string]bool{"begins": false, "ends": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, v venue) { overtakeReadyRace(t, v, over) })
		})
	}
}

func overtakeReadyRace(t *testing.T, v venue, over bool) {
	t.Helper()
	cs := clients(t, v, 3)
	g := doublebarrier.Group{Dir: directory(t, v), Size: 2}
	others := barriersFor(t, g.Dir, readyRace, cs[:2]...)
	overtaken := interruptedReadyRace(t, cs[2], g, "-member-", func() {
		doubleBarrierEnter(t, others...)
		if over {
			doubleBarrierLeave(t, others...)
		}
	})
	entered := doubleBarrierWait(soon(t), t, overtaken, overtaken.Enter)
	if !over {
		doubleBarrierLeave(t, others...)
	}
	must(t, others[0].Enter(soon(t)))
	doubleBarrierMustBeDone(t, "enter", entered)
	doubleBarrierLeave(t, others[0], overtaken)
}

// A member that is back before its earlier session has ended does not let the others wait for that session.
func TestReadyRaceMemberIsBackInsideARound(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		cs := clients(t, v, 3)
		g := doublebarrier.Group{Dir: directory(t, v), Size: 2, Member: "0"}
		first := openBarrier(t, readyRace, cs[0].session(), g)
		g.Member = "1"
		doubleBarrierEnter(t, first, openBarrier(t, readyRace, cs[1].session(), g))
		openBarrier(t, readyRace, cs[2].session(), g)
		must(t, first.Leave(soon(t)))
	})
}
