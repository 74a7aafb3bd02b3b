package rwlock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// revocableTeller's events are one second apart, and the grace is in seconds. A request's value is a mode, and "urgent" if it is.
func revocableTeller() variantstest.HistoryBuilder {
	b := teller()
	plain := b.Value
	for name, kind := range map[string]variants.EventKind{
		"agreed": agreed, "priorities": agreedUrgent, "heeded": exclusion.Heeded,
	} {
		b.Events[name] = kind
	}
	b.Apart = time.Second
	b.Value = func(t testing.TB, event string, parts []string) int64 {
		switch {
		case event == "agreed" || event == "priorities":
			return variantstest.Number(t, parts[0]) * int64(time.Second)
		case len(parts) > 1 && parts[1] == "urgent":
			return plain(t, event, parts[:1]) | stamp(Read, 1)
		}
		return plain(t, event, parts)
	}
	return b
}

func TestRevocableCheck(t *testing.T) {
	revocableTeller().Check(t, RevocableRecipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"gives up in time", "0:agreed:3 0:requested:r 0:acquired:r:1 1:requested:w - 0:heeded:r 0:releasing:r 0:released:r 1:acquired:w:2 1:releasing:w 1:released:w", ""},
		{"was asked before it held", "0:agreed:3 0:requested:w 1:requested:w - - - - 0:acquired:w:1 0:heeded:w 0:releasing:w 0:released:w 1:acquired:w:2", ""},
		{"none asks", "0:agreed:3 0:requested:w 0:acquired:w:1 - - - - 0:releasing:w 0:released:w", ""},
		{"a reader and a writer at a time", "0:agreed:3 0:acquired:r:1 1:acquired:w:2", "client 1 acquired the lock as a writer while client 0 held it as a reader"},
		{"gives up too late", "0:agreed:3 0:acquired:w:1 1:requested:r - - - 0:releasing:w 1:acquired:r:2", "client 0 held on for 4s after it was asked; the grace is 3s"},
		{"never gives up", "0:agreed:3 0:acquired:w:1 1:requested:r - - - 2:requested:r", "client 0 held on for 4s after it was asked; the grace is 3s"},
		{"one of two readers never gives up", "0:agreed:3 0:acquired:r:1 1:acquired:r:2 2:requested:w 0:releasing:r 0:released:r - 3:requested:r", "client 1 held on for 4s after it was asked; the grace is 3s"},
		{"gives up for none", "0:agreed:3 0:requested:w 0:acquired:w:1 - 0:heeded:w 0:releasing:w 0:released:w", "client 0 was asked to give up although no client that may ask it wanted the lock"},
		{"gives up for one that withdrew", "0:agreed:3 0:requested:w 0:acquired:w:1 1:requested:w 1:withdrew:w 0:heeded:w 0:releasing:w 0:released:w", ""},
		{"gives up for one that withdrew before", "0:agreed:3 1:requested:w 1:withdrew:w 0:requested:w 0:acquired:w:1 0:heeded:w 0:releasing:w 0:released:w", "client 0 was asked to give up although"},
		{"gives up for one that died before", "0:agreed:3 1:requested:w 1:died 0:requested:w 0:acquired:w:1 0:heeded:w 0:releasing:w 0:released:w", ""},
		{"gives up as its session ends", "0:agreed:3 0:requested:w 0:acquired:w:1 0:heeded:w 0:releasing:w 0:lost", ""},
		{"dies", "0:agreed:3 0:acquired:w:1 1:requested:w 0:died - - - - 1:acquired:w:2", ""},
	})
}

func TestPriorities(t *testing.T) {
	revocableTeller().Check(t, RevocableRecipe(), []variantstest.Case{
		{"an ordinary client waits", "0:priorities:3 0:requested:w 0:acquired:w:1 1:requested:w - - - - 0:releasing:w 0:released:w 1:acquired:w:2", ""},
		{"gives up for an urgent client", "0:priorities:3 0:requested:w 0:acquired:w:1 1:requested:w:urgent - 0:heeded:w 0:releasing:w 0:released:w 1:acquired:w:2", ""},
		{"too late for an urgent client", "0:priorities:3 0:requested:w 0:acquired:w:1 1:requested:w:urgent - - - 0:releasing:w 0:released:w 1:acquired:w:2", "client 0 held on for 4s after it was asked; the grace is 3s"},
		{"gives up for an ordinary client", "0:priorities:3 0:requested:w 0:acquired:w:1 1:requested:w 0:heeded:w 0:releasing:w 0:released:w 1:acquired:w:2", "client 0 was asked to give up although no client that may ask it wanted the lock"},
		{"an urgent client holds on", "0:priorities:3 0:requested:w:urgent 0:acquired:w:1 1:requested:w:urgent - - - - 0:releasing:w 0:released:w 1:acquired:w:2", ""},
		{"an urgent client gives up", "0:priorities:3 0:requested:w:urgent 0:acquired:w:1 1:requested:w:urgent 0:heeded:w 0:releasing:w 0:released:w 1:acquired:w:2", "client 0 was asked to give up although no client that may ask it wanted the lock"},
	})
}

func TestRevocableDamage(t *testing.T) {
	revocableTeller().Damage(t, RevocableRecipe(), []variantstest.Case{
		{"a deaf holder blocks", "0:agreed:1 0:acquired:r:1 0:deaf 1:requested:w - - 0:hears 0:releasing:r 0:released:r 1:acquired:w:2", "blocked-ns=3000000000"},
		{"an expired holder", "0:agreed:3 0:acquired:w:1 1:requested:w 1:acquired:w:2 0:lost 0:deposed:w", "fenced=1"},
	})
}

func TestRevocableSpans(t *testing.T) {
	revocableTeller().Spans(t, RevocableRecipe(), []variantstest.Case{{
		"an ordinary writer and an urgent one ask two readers",
		"0:agreed:9 0:requested:r 0:acquired:r:1 1:requested:r 1:acquired:r:2 2:requested:w - 3:requested:w:urgent 0:heeded:r 0:releasing:r 1:heeded:r 1:releasing:r" +
			" 2:acquired:w:3 2:heeded:w 2:releasing:w 3:acquired:w:4",
		"acquire(0)=1s acquire(1)=1s acquire(2)=7s acquire(3)=8s hold(0)=7s hold(1)=7s hold(2)=2s handoff(2)=1s handoff(3)=1s" +
			" revoke(0)=3s revoke(1)=5s revoke(2)=1s urgent(3)=8s inversion(0)=2s inversion(1)=4s inversion(2)=2s",
	}, {
		"with priorities, only the urgent one counts",
		"0:priorities:9 0:requested:w 0:acquired:w:1 1:requested:r - 2:requested:r:urgent 0:heeded:w 0:releasing:w 1:acquired:r:2 2:acquired:r:3 1:releasing:r",
		"acquire(0)=1s acquire(1)=5s acquire(2)=4s hold(0)=5s hold(1)=2s handoff(1)=1s handoff(2)=2s revoke(0)=1s urgent(2)=4s inversion(0)=2s",
	}})
}

// named makes contenders of words such as "R1", or "W2u" for an urgent writer.
func named(words string) []contender {
	var children []string
	for i, word := range strings.Fields(words) {
		marker := map[byte]string{'R': readMarker, 'W': writeMarker}[word[0]]
		if strings.HasSuffix(word, "u") {
			marker = urgentMarker + marker
		}
		children = append(children, fmt.Sprintf("%s%s%010d", word, marker, i))
	}
	return contenders(children)
}

func names(all []contender) string {
	var words []string
	for _, c := range all {
		word, _, _ := strings.Cut(c.Name, "-")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestWhomToAsk(t *testing.T) {
	for _, tt := range []struct{ before, reader, writer, front string }{
		{"", "", "", ""},
		{"R0", "", "R0", "R0"},
		{"R0 R1", "", "R0 R1", "R0 R1"},
		{"W0", "W0", "W0", "W0"},
		{"R0 W1", "W1", "W1", "R0"},
		{"R0 W1 W2u", "W2u", "W2u", "R0"},
		{"R0 R1u W2 R3 R4", "W2", "R3 R4", "R0 R1u"},
		{"W0 R1 W2", "W2", "W2", "W0"},
	} {
		for _, c := range []struct{ what, got, want string }{
			{"a reader asks", names(inTheWay(Read, named(tt.before))), tt.reader},
			{"a writer asks", names(inTheWay(Write, named(tt.before))), tt.writer},
			{"at the front are", names(atTheFront(named(tt.before))), tt.front},
		} {
			if c.got != c.want {
				t.Errorf("behind %q, %s %q, want %q", tt.before, c.what, c.got, c.want)
			}
		}
	}
}

func TestPressed(t *testing.T) {
	for _, tt := range []struct {
		line string
		want bool // the first one is pressed
	}{
		{"R0", false}, {"R0 R1u", false}, {"R0 W1", false}, {"R0 W1u", true}, {"R0 W1 R2u", true}, {"R0 R1u W2", false},
		{"R0 R1u W2 R3u", true}, {"W0 R1", false}, {"W0 R1u", true}, {"W0 R1 R2u", true},
	} {
		if all := named(tt.line); isPressed(all[0], all) != tt.want {
			t.Errorf("in %q, the first one is pressed: %v", tt.line, !tt.want)
		}
	}
}

func TestRevocableObserverMemory(t *testing.T) {
	revocableTeller().ObserverMemory(t, RevocableRecipe(), func(i int) string {
		urgent := [3]string{":urgent"}[i%3]
		return fmt.Sprintf("%[1]d:agreed:1 %[1]d:requested:w%[4]s %[1]d:acquired:w:%[3]d %[2]d:requested:r:urgent "+
			"%[1]d:heeded+releasing+released:w:%[3]d %[2]d:withdrew:r:urgent", i%10, (i+1)%10, i, urgent)
	})
}

func TestOneParticipantIsUrgent(t *testing.T) {
	for _, n := range []int{1, 2, 7} {
		for step := range 2 * n {
			urgent := 0
			for i := range n {
				if isUrgentStep(variants.Env{Clients: n, Index: i}, step) {
					urgent++
				}
			}
			if urgent != 1 {
				t.Errorf("%d of %d participants are urgent in step %d, want 1", urgent, n, step)
			}
		}
	}
}
