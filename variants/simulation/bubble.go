package simulation

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/variants"
)

// Play makes the run of a plan. It calls recipe within the run's bubble of virtual time, because channels belong to the
// bubble in which they are made. Parallel tests must not call Play: it replaces the process's source of random numbers.
func Play(t *testing.T, recipe func() variants.Recipe, plan Plan) Outcome {
	t.Helper()
	r := &run{plan: plan}
	r.play(t, recipe)
	return r.out
}

func (r *run) play(t *testing.T, recipe func() variants.Recipe) {
	t.Helper()
	r.out = Outcome{Met: map[string]int{}, Lost: map[variants.Loss]int64{}}
	defer seed(r.plan.Seed)()
	defer func() {
		if p := recover(); p != nil {
			class, text := Panic, fmt.Sprint(p)
			if strings.HasPrefix(text, "deadlock") { // a goroutine is left when all has ended
				class = Leak
			}
			r.add(class, 0, text) // nothing runs in the bubble any more
		}
	}()
	synctest.Test(t, func(*testing.T) {
		r.recipe = recipe()
		all := r.recipe.All()
		if i := slices.IndexFunc(all, func(v variants.Variant) bool { return v.Name == r.plan.Variant }); i >= 0 {
			r.variant = all[i]
			r.perform()
		} else {
			r.find(Broken, "recipe %s has no variant %q", r.recipe.Name, r.plan.Variant)
		}
	})
}

// seed makes the process's random numbers repeatable, such as the GUIDs in the names of znodes, until restore is called.
func seed(n uint64) (restore func()) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], n)
	before := cryptorand.Reader
	cryptorand.Reader = &lockedReader{r: rand.NewChaCha8(key)} //nolint:reassign // no secret is made in a simulation
	return func() { cryptorand.Reader = before }               //nolint:reassign // as above
}

type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}
