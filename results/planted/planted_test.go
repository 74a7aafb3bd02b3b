package planted_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

const (
	chosen    = "ZKBENCH_PLANTED" // the name of the mistake that the binary makes; none if it is empty
	allOfThem = "ZKBENCH_PLANTED_ALL"
	sample    = 7 // one of so many mistakes is planted without it
)

// The loads. Each mistake needs one of them, and without a mistake, runs and gates of all of them pass.
const (
	lockstep   = "lock-drain"
	closed     = "lock-contention --variants predecessor-watch --clients 5 --warm-up 0s --duration 1s"
	operations = "lock-contention --variants predecessor-watch --clients 5 --warm-up 0s --operations 50"
	turns      = "priority-urgent --variants marked-ticket --clients 5 --warm-up 0s --operations 20"
)

// mistake is planted where a text stands in a file: the text is replaced by another one, in which on is true if the mistake is chosen.
type mistake struct {
	name     string
	file     string
	old, new string
	load     string
	caught   string // a regular expression of what run or gate print
}

// What run or gate print, by the check that fails.
const (
	byCounts        = `(notifications|requests|writes)(/| per )op` // formulas and baselines
	byInvariants    = `contradicts itself: `
	byPackets       = ` packets, servers received `
	byNotifications = ` notifications, servers sent `
	byTransactions  = `, servers made `
	byPromise       = `the recipe's promise was breached`
)

func mistakes() []mistake {
	return []mistake{
		{"a request of three is not counted", "ensemble/wire/conn.go",
			"l.counts.Requests[r.op]++", "if !on || r.xid%3 > 0 {\nl.counts.Requests[r.op]++\n}", closed, byPackets},
		{"no exists is counted", "ensemble/wire/conn.go",
			"l.inFlight++\n", "l.inFlight++\nif on && r.op == OpGetData {\nreturn\n}\n", operations, byPackets},
		{"deletes are not counted as writes", "ensemble/wire/ledger.go",
			"total += c.Requests[op]", "if !on || Opcode(op) != OpDelete {\ntotal += c.Requests[op]\n}", closed, byTransactions},
		{"failed requests are not counted", "ensemble/wire/conn.go",
			"l.counts.Failed[r.op]++", "if !on {\nl.counts.Failed[r.op]++\n}", lockstep, byCounts},
		{"a notification of three is not counted", "ensemble/wire/ledger.go",
			"l.counts.CountNotification(n.Type)", "if !on || n.Zxid%3 > 0 {\nl.counts.CountNotification(n.Type)\n}", closed, byInvariants},
		{"a notification of three is lost", "ensemble/wire/ledger.go",
			"if l.tap != nil {\n\t\tn.Path", "if on && n.Zxid%3 == 0 {\nreturn\n}\nif l.tap != nil {\nn.Path", closed, byNotifications},
		{"the counts of a client are left out", "scenarios/pool/pool.go",
			"total.Add(c.Counts())", "if !on || c.ID > 0 {\ntotal.Add(c.Counts())\n}", closed, byInvariants},
		{"a notification of two is not recorded", "scenarios/block/block.go",
			"for _, n := range c.TakeNotifications() {", "for _, n := range c.TakeNotifications() {\nif on && n.Zxid%2 == 0 {\ncontinue\n}",
			closed, byInvariants},
		{"a notification is recorded twice", "scenarios/runner/stream.go",
			"s.recorder.Notification(", "if on {\ns.recorder.Notification(n)\n}\ns.recorder.Notification(", closed, byInvariants},
		{"the window lacks a notification of two", "results/recorder/recorder.go",
			"r.notified[n.Type]++", "if !on || n.Zxid%2 == 0 {\nr.notified[n.Type]++\n}", operations, byInvariants},
		{"an operation of two is not completed", "results/recorder/recorder.go",
			"r.window.operations++", "if !on || r.window.operations%2 == 0 || id > 0 {\nr.window.operations++\n}", closed, byInvariants},
		{"times are a tenth too short", "results/recorder/recorder.go",
			"r.addTime(phase, end, end-start)", "if on {\nstart += (end - start) / 10\n}\nr.addTime(phase, end, end-start)",
			operations, byInvariants},
		{"herds are too small", "results/recorder/herds.go",
			"one.size, one.last = one.size+1, n.At", "if !on || n.Client > 0 {\none.size++\n}\none.last = n.At", closed, byInvariants},
		{"the counts before the window are included", "scenarios/runner/measure.go",
			"counts.Sub(m.first.client)", "if !on {\ncounts.Sub(m.first.client)\n}", lockstep, byCounts},
		{"the requests after the window are included", "scenarios/runner/closed.go",
			"o.counts = counts\n", "o.counts = counts\nif on {\no.counts = m.crew.state().Clients\no.counts.Add(counts)\n}\n", closed, byInvariants},
		{"a client takes no step", "scenarios/runner/lockstep.go",
			"err := c.Participant.Step(ctx)", "var err error\nif !on || c.ID > 0 {\nerr = c.Participant.Step(ctx)\n}", lockstep, byCounts},
		{"a metric is half of what it should be", "results/metric/list.go",
			"return perOp(d, d.Counts.Notified())", "n := d.Counts.Notified()\nif on {\nn /= 2\n}\nreturn perOp(d, n)", lockstep, byCounts},
		{"a variant lists once more", "variants/tickets/tickets.go",
			"return l.AwaitEachBy(ctx, next, func(ctx", "if on {\n_, _ = l.List(ctx)\n}\n" +
				"return l.AwaitEachBy(ctx, next, func(ctx", closed, byCounts},
		{"a variant leaves a watch behind", "variants/tickets/tickets.go",
			"return l.EnterWith(ctx, nil) }", "\nt, err := l.EnterWith(ctx, nil)\nif on {\n_, _, err = l.ListW(ctx)\n}\nreturn t, err\n}",
			lockstep, byCounts},
		{"a variant is another one", "variants/lock/optimized_predecessor_watch.go",
			"join(NewPredecessorWatch)", "map[bool]variants.JoinFunc{" +
				"true: join(NewChildrenWatch), false: join(NewPredecessorWatch)}[on]", closed, byCounts},
		{"a variant does not wait", "variants/tickets/tickets.go",
			"return l.AwaitEach(ctx, l.Before(mine))", "if on {\nreturn nil\n}\nreturn l.AwaitEach(ctx, l.Before(mine))", closed, byPromise},
		{"a turn ends before its item is taken", "variants/priorityqueue/optimized_marked_ticket.go",
			"item, err := q.Delete(", "if on {\n_ = q.turns.Leave(ctx, mine)\n}\nitem, err := q.Delete(", turns, byCounts},
		{"a taker does not wait for its turn", "variants/priorityqueue/optimized_marked_ticket.go",
			"q.turns.AwaitTurn)", "map[bool]func(context.Context, tickets.Ticket) error{" +
				"true: func(context.Context, tickets.Ticket) error { return nil }, false: q.turns.AwaitTurn}[on])", turns, byCounts},
	}
}

// plant writes the files with all mistakes into a directory, and overlay.json, with which they are compiled. A mistake whose text is not
// in its file, or is there twice, must be planted anew.
func plant(t *testing.T, dir string, all []mistake) (overlay string) {
	t.Helper()
	root := must.Get(filepath.Abs("../.."))(t)
	replace, texts := map[string]string{}, map[string]string{}
	for _, m := range all {
		if texts[m.file] == "" {
			texts[m.file] = string(must.Get(os.ReadFile(filepath.Join(root, m.file)))(t))
			texts[filepath.Join(filepath.Dir(m.file), "planted.go")] = guard(filepath.Base(filepath.Dir(m.file)))
		}
		if n := strings.Count(texts[m.file], m.old); n != 1 {
			t.Fatalf("%s: the text %q is %d times in %s: plant the mistake elsewhere", m.name, m.old, n, m.file)
		}
		planted := regexp.MustCompile(`\bon\b`).ReplaceAllLiteralString(m.new, fmt.Sprintf("zkbenchPlanted(%q)", m.name))
		texts[m.file] = strings.Replace(texts[m.file], m.old, planted, 1)
	}
	for file, text := range texts {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "+"))
		must.Do(t, os.WriteFile(copied, []byte(text), 0o600))
		replace[filepath.Join(root, file)] = copied
	}
	overlay = filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(overlay, must.Get(json.Marshal(map[string]any{"Replace": replace}))(t), 0o600))
	return overlay
}

// guard is a file of a package with mistakes.
func guard(name string) string {
	return fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar zkbenchMistake = os.Getenv(%q)\n\n"+
		"func zkbenchPlanted(name string) bool { return name == zkbenchMistake }\n", name, chosen)
}

// zkbench runs a command of the binary, with a mistake or without any, and returns its exit code and what it prints in one line.
func zkbench(t *testing.T, binary, mistake string, args ...string) (code int, printed string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, args...)
	c.Env = append(os.Environ(), chosen+"="+mistake)
	out, err := c.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), strings.Join(strings.Fields(string(out)), " ")
}

// runAndGate runs a load and gates its results. Only the whole scenario has a baseline.
func runAndGate(t *testing.T, binary, mistake, load string) (run, gate int, printed string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	name := fmt.Sprintf("planted-%d-%x", os.Getpid(), sha256.Sum256([]byte(t.Name())))[:50]
	args := append([]string{"run"}, strings.Fields(load)...)
	run, printed = zkbench(t, binary, mistake, append(args, "--ensemble", "embedded", "--name", name, "--repeats", "1", "--out", out)...)
	against := []string{"gate", out}
	if load == lockstep {
		against = append(against, "--baseline", "../baselines")
	}
	gate, more := zkbench(t, binary, mistake, against...)
	return run, gate, printed + " " + more
}

// TestMistakes plants each mistake and demands that a check finds it. Without a mistake, everything passes.
func TestMistakes(t *testing.T) {
	all, dir := mistakes(), t.TempDir()
	binary := filepath.Join(dir, "zkbench")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", plant(t, dir, all), "-o", binary, "../../cmd/zkbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the mistakes: %v\n%s", err, out)
	}
	for _, load := range []string{lockstep, closed, operations, turns} {
		t.Run("none/"+load, func(t *testing.T) {
			t.Parallel()
			if run, gate, printed := runAndGate(t, binary, "", load); run != 0 || gate != 0 {
				t.Errorf("run exits with %d and gate with %d without a mistake: %s", run, gate, printed)
			}
		})
	}
	for i, m := range all {
		t.Run(m.name, func(t *testing.T) {
			if os.Getenv(allOfThem) == "" && i%sample != 0 {
				t.Skip("`make planted` plants all mistakes")
			}
			t.Parallel()
			run, gate, printed := runAndGate(t, binary, m.name, m.load)
			if run == 0 && gate == 0 || !regexp.MustCompile(m.caught).MatchString(printed) {
				t.Errorf("run exits with %d and gate with %d, want another code than 0 and %q: %s", run, gate, m.caught, printed)
			}
		})
	}
}
