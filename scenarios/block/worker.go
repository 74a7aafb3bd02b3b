package block

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Worker has a block for each measurement of a controller, one after another, and carries out its orders.
type Worker struct {
	*Block
	Recipes []variants.Recipe
	Epoch   time.Time // of the clock of this process, see [remote.Hello]
	// Access adds to a server what this process needs to connect to it, such as credentials, which no plan has.
	Access func(ensemble.Server) ensemble.Server

	present atomic.Pointer[Block] // Block; nil while a measurement begins
	untune  func()
	witness *pool.Witness // nil without one
}

// NewWorker returns a worker without a block.
func NewWorker(recipes []variants.Recipe, epoch time.Time, access func(ensemble.Server) ensemble.Server) *Worker {
	registerTypes()
	return &Worker{Block: New(variants.Recipe{}, variants.Variant{}), Recipes: recipes, Epoch: epoch, Access: access, untune: func() {}}
}

// Handle carries out an order, which is the name of a method of [Part]. args is nil for one without arguments. It returns true for one
// without an answer.
func (w *Worker) Handle(ctx context.Context, order string, args any) (any, error) {
	if _, ok := reflect.TypeFor[Part]().MethodByName(order); !ok {
		return nil, fmt.Errorf("there is no order %q", order)
	}
	method := reflect.ValueOf(w).MethodByName(order)
	var in []reflect.Value
	if method.Type().NumIn() > 0 && method.Type().In(0) == reflect.TypeFor[context.Context]() {
		in = append(in, reflect.ValueOf(ctx))
	}
	if args != nil {
		in = append(in, reflect.ValueOf(args))
	}
	out := method.Call(in)
	var err error
	if last := len(out) - 1; last >= 0 && method.Type().Out(last) == reflect.TypeFor[error]() {
		err, _ = out[last].Interface().(error)
		out = out[:last]
	}
	if len(out) == 0 {
		return true, err
	}
	answer := out[0].Interface()
	if b, ok := answer.(Batch); ok {
		b.Columns, b.Events = variants.EventsOf(b.Events), nil
		answer = b
	}
	return answer, err
}

// Connect begins a new measurement.
func (w *Worker) Connect(ctx context.Context, p Plan) (Connected, error) {
	recipe := p.Scenario.RecipeAmong(w.Recipes)
	if recipe == nil {
		return Connected{}, fmt.Errorf("there is no recipe %q", p.Scenario.Recipe)
	}
	all := recipe.All()
	i := slices.IndexFunc(all, func(v variants.Variant) bool { return v.Name == p.Variant })
	if i < 0 {
		return Connected{}, fmt.Errorf("recipe %s has no variant %q", recipe.Name, p.Variant)
	}
	w.present.Store(nil)
	p.Pool.Epoch, p.Pool.Calls = w.Epoch.Add(p.Epoch), recipe.Calls
	for i, s := range p.Pool.Servers {
		p.Pool.Servers[i] = w.Access(s)
	}
	if p.Witness {
		witness, err := pool.OpenWitness(ctx, p.Pool.Servers[p.Pool.Block.Index%len(p.Pool.Servers)])
		if err != nil {
			return Connected{}, err
		}
		w.witness, p.Pool.Witness = &witness, witness.Look
	}
	w.untune = machine.TuneCollector(p.Pool.Block.Count)
	w.Block = New(*recipe, all[i])
	w.present.Store(w.Block)
	return w.Block.Connect(ctx, p)
}

// Ready implements [Part]. It is the only order while Connect is under way.
func (w *Worker) Ready() int64 {
	if b := w.present.Load(); b != nil {
		return b.Ready()
	}
	return 0
}

// State implements [Part].
func (w *Worker) State() State {
	s := w.Block.State()
	if w.witness != nil {
		s.Beside.Add(w.witness.Counts())
	}
	return s
}

// Drain implements [Part].
func (w *Worker) Drain(d Drain) Batch {
	b := w.Block.Drain(d)
	b.Complete = b.At
	for _, c := range w.Clients {
		b.Complete = min(b.Complete, c.OldestEvent()-1)
	}
	return b
}

// Examine implements [Part].
func (w *Worker) Examine() Examined {
	e := w.Block.Examine()
	if own, err := net.InterfaceAddrs(); err == nil {
		e.Warnings = append(e.Warnings, besideServers(own, w.Plan.Pool.Servers)...)
	}
	return e
}

// besideServers warns of servers at addresses of this machine, whose CPUs they share with clients.
func besideServers(own []net.Addr, servers []ensemble.Server) (warnings []string) {
	host, _ := os.Hostname() // empty if it is not known
	for _, s := range servers {
		at, _ := netip.ParseAddrPort(s.Addr) // a name is not resolved
		if slices.ContainsFunc(own, func(a net.Addr) bool { return strings.HasPrefix(a.String(), at.Addr().String()+"/") }) {
			warnings = append(warnings,
				fmt.Sprintf("the worker on %s shares its machine with %s: run workers on other machines", host, s.Addr))
		}
	}
	return warnings
}

// CloseFloor ends the measurement.
func (w *Worker) CloseFloor(ctx context.Context) error {
	if w.witness != nil {
		w.witness.Close()
		w.witness = nil
	}
	err := w.Block.CloseFloor(ctx)
	w.untune()
	w.untune = func() {}
	return err
}

// Leave ends the measurement that is under way, if any, because the controller is gone.
func (w *Worker) Leave(ctx context.Context) error {
	w.Close(ctx)
	return w.CloseFloor(ctx)
}
