package doublebarrier

import (
	"slices"
	"strconv"
	"testing"

	"github.com/zkbench/zkbench/variants/variantstest"
)

// bench is a few znodes and their one-shot watches.
type bench struct {
	variantstest.Counts
	n     int
	armed map[string]map[int]bool // who watches what
}

// read is a request, with a watch unless what is empty.
func (b *bench) read(who int, what string) {
	b.Read(1)
	if what == "" {
		return
	}
	if b.armed[what] == nil {
		b.armed[what] = map[int]bool{}
	}
	b.armed[what][who] = true
}

// write is a request that sets off the watches on some things at once, and returns whom it wakes.
func (b *bench) write(what ...string) (woken []int) {
	for _, w := range what {
		for who := range b.armed[w] {
			woken = append(woken, who)
		}
		delete(b.armed, w)
	}
	b.Write(len(woken))
	return woken
}

// simulate walks through one round.
func simulate(variant string, n int) variantstest.Counts {
	b := &bench{Counts: variantstest.Counts{Operations: float64(n)}, n: n, armed: map[string]map[int]bool{}}
	map[string]func(*bench){"children-watch": simulateChildrenWatch, "ready-race": simulateReadyRace, "ready-node": simulateReadyNode, "counted": simulateCounted}[variant](b)
	return b.Counts
}

func simulateChildrenWatch(b *bench) {
	for who := range b.n { // left by the round before
		b.read(who, "children")
	}
	b.Requests = 0
	for range 2 { // to enter, and to leave
		waiting := map[int]bool{}
		for who := range b.n {
			for _, woken := range b.write("children") {
				if waiting[woken] {
					b.read(woken, "children")
				}
			}
			b.read(who, "children")
			waiting[who] = true
		}
	}
}

func simulateReadyNode(b *bench) {
	for who := range b.n {
		b.read(who, "ready")
		b.write()
		b.read(who, "")
	}
	b.write("ready")
	lowest := func(left int) { // what the lowest does when it looks
		b.read(0, "")
		if left > 1 {
			b.read(0, "highest")
			return
		}
		for _, woken := range b.write("lowest", "ready") {
			b.read(woken, "")
		}
	}
	lowest(b.n)
	for who := 1; who < b.n; who++ {
		b.read(who, "")
		if who < b.n-1 {
			b.write()
			b.read(who, "lowest")
			continue
		}
		woken := b.write("highest")
		b.read(who, "lowest") // it watches before the lowest has come to delete its znode: no client goes on before all rest
		if len(woken) != 1 || woken[0] != 0 {
			panic("the highest should wake the lowest")
		}
		lowest(1)
	}
}

// simulateReadyRace counts children, and follows the znodes of the round by name.
func simulateReadyRace(b *bench) {
	var processes []int
	for who := range b.n {
		b.read(who, "ready")
		b.write()
		processes = append(processes, who)
		b.read(who, "")
		if len(processes) == b.n {
			b.write("ready")
		}
	}
	leave := func(who int) {
		b.read(who, "")
		if processes[0] == who && len(processes) > 1 {
			b.read(who, strconv.Itoa(processes[len(processes)-1]))
		}
	}
	leave(0)
	for who := 1; who < b.n; who++ {
		leave(who)
		b.read(who, strconv.Itoa(processes[0]))
		processes = slices.DeleteFunc(processes, func(p int) bool { return p == who })
		for _, woken := range b.write(strconv.Itoa(who)) {
			leave(woken)
		}
	}
	for _, woken := range b.write("0") { // with ready, and with the round
		b.read(woken, "")
	}
}

func simulateCounted(b *bench) {
	for who := range b.n {
		b.write()
		b.read(who, "directory")
	}
	b.write("directory")
	for who := range b.n - 1 {
		b.write()
		b.read(who, "anchor")
	}
	b.read(b.n-1, "")
	b.write("anchor")
}

func TestSteppedCostsMatchASimulation(t *testing.T) {
	variantstest.LockstepCosts(t, Recipe(), simulate, "children-watch", "ready-race", "ready-node", "counted")
}

func TestFreeCostsBoundSteppedOnes(t *testing.T) { variantstest.FreeCosts(t, Recipe()) }
