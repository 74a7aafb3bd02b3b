package treecache

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// testLeaves is how many leaves the tree of a story has: changes 1, 2, 3 and so on are of slots 3, 2, 1, 0, 3, ….
const testLeaves = 4

// teller's values are numbers, and of changes their numbers, or "number@slot".
func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{
		Answered: []string{"changed"},
		Events: map[string]variants.EventKind{
			"enrolled": enrolled, "changing": changing, "changed": changed, "following": following, "shown": shown, "refreshed": refreshed,
			"cut": cutOff, "reconnected": reconnected, "restored": restored,
		},
		Value: func(t testing.TB, event string, parts []string) int64 {
			text, slot, given := strings.Cut(parts[0], "@")
			number := variantstest.Number(t, text)
			switch {
			case event != "changing" && event != "changed" && event != "shown":
				return number
			case given:
				return stamp(number, int(variantstest.Number(t, slot)))
			default:
				return stamp(number, int(slotOf(number, testLeaves)))
			}
		},
	}
}

// ready is a client that has loaded the tree, which then changes twice.
const ready = "0:enrolled:4 0:refreshed:4 9:changing:1 9:changed:1 9:changing:2 9:changed:2 "

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"both changes", ready + "0:following:2 0:shown:1 0:shown:2 0:refreshed:4", ""},
		{"not followed yet", ready, ""},
		{"in another order, as after a reconnect", ready + "0:following:2 0:shown:2 0:shown:1 0:refreshed:4", ""},
		{"a later one of the same znode", ready + "9:changing:3 9:changing:4 9:changing:5 9:changed:5 0:following:2 0:shown:5 0:shown:2 0:refreshed:4", ""},
		{"before it is acknowledged", "0:enrolled:4 0:refreshed:4 9:changing:1 0:following:2 0:shown:1 9:changed:1 9:changing:2 0:shown:2 0:refreshed:4 9:changed:2", ""},
		{"made again by a successor", "0:enrolled:4 0:refreshed:4 9:changing:1 9:changing:1 9:changed:1 0:following:1 0:shown:1 0:refreshed:4", ""},
		{"found by a client that joins", "9:changing:1 9:changed:1 0:enrolled:4 0:shown:1 0:refreshed:4", ""},
		{"cut off for good", ready + "0:following:2 0:cut:0", ""},
		{"still being restored", ready + "0:following:2 0:cut:0 0:reconnected:0", ""},
		{"dead", ready + "0:following:2 0:died:0", ""},
		{"older in its next life", ready + "0:following:2 0:shown:1 0:shown:2 0:lost:0 0:rejoined:1 0:enrolled:4 0:shown:1 0:refreshed:4", ""},
		{"told by a lost life", ready + "0:lost:0 0:shown:2 0:shown:2@3 0:rejoined:1 0:enrolled:4 0:refreshed:4", ""},
		{"never made", ready + "0:shown:3", "client 0 shows change 3, when the last was 2"},
		{"backwards", ready + "9:changing:3 9:changing:4 9:changing:5 0:shown:5 0:shown:1", "client 0 shows change 1 of a znode after change 5 of it"},
		{"never shown", ready + "0:following:2 0:shown:2 0:refreshed:4", "client 0 never showed change 1"},
		{"never shown after a reconnect", ready + "0:following:2 0:cut:0 0:reconnected:0 0:restored:0 0:refreshed:4", "client 0 never showed change 1"},
		{"never shown in its next life", ready + "0:lost:0 0:rejoined:1 0:enrolled:4 0:refreshed:4 0:following:2", "client 0 never showed change 1"},
		{"a leaf that is gone", ready + "0:following:2 0:shown:1 0:shown:2 0:refreshed:5", "client 0 shows 5 leaves of a tree of 4"},
		{"another client's copy", "1:enrolled:4 " + ready + "0:following:2 1:shown:1 1:shown:2 1:refreshed:4", "client 0 never showed change 1"},
	})
}

// A copy that stays as it is does not go back in time. It is caught when its client has seen a later state.
func TestCheckOfCopiesThatStayOld(t *testing.T) {
	slow := teller()
	slow.Apart = 5 * time.Second
	const old = "client 0 does not show change 2, although its server had shown a state with it before"
	slow.Check(t, Recipe(), []variantstest.Case{
		{"by a server that lags behind", ready + "0:following:2 0:refreshed:4 0:shown:1 0:shown:2 0:refreshed:4", ""},
		{"while it is cut off", ready + "0:cut:0 - - - - 0:following:2 0:refreshed:4 0:reconnected:0 0:refreshed:4 0:shown:1 0:shown:2 0:restored:0 0:refreshed:4", ""},
		{"cut off in its first load", "9:changing:1 9:changed:1 - - - - 0:enrolled:4 0:cut:0 0:reconnected:0 0:refreshed:0 0:shown:1 0:refreshed:4 0:restored:0", ""},
		{"not restored yet", "0:enrolled:4 0:refreshed:4 0:cut:0 9:changing:1 0:reconnected:0 - - 9:changed:1", ""},
		{"of a state that was shown", ready + "0:sees 0:following:0 0:refreshed:4", old},
		{"of a state that was shown, after a reconnect", ready + "0:cut:0 0:reconnected:0 0:restored:0 0:sees 0:following:0 0:refreshed:4", old},
		{
			"never restored", "0:enrolled:4 0:refreshed:4 0:cut:0 9:changing:1 0:reconnected:0 - - - - 9:changed:1",
			"client 0 has not everything again, more than 20s after its connection was made again",
		},
	})
}

func TestSpans(t *testing.T) {
	teller().Intervals(t, Recipe(), []variantstest.Case{
		{
			"two clients follow two changes",
			"0:enrolled:4 0:refreshed:4 1:enrolled:4 1:refreshed:4 0:following:2 1:following:2 9:changing:1 9:changed:1 " + // 1 to 8
				"0:shown:1 1:shown:1 0:refreshed:4 1:refreshed:4 0:following:2 9:changing:2 0:shown:2 0:refreshed:4 9:changed:2", // 9 to 17
			"change(9)=7-8 change(9)=14-17 refresh(0)=7-9 refresh(1)=7-10 refresh(0)=14-15 follow(0)=5-11 follow(1)=6-12 follow(0)=13-16",
		},
		{
			"three clients are cut off; one of them loses its session, and one is cut off again before it has reloaded",
			"0:enrolled:4 0:refreshed:4 1:enrolled:4 1:refreshed:4 2:enrolled:4 2:refreshed:4 0:cut:0 1:cut:0 2:cut:0 " + // 1 to 9
				"0:reconnected:0 0:restored:0 1:reconnected:0 2:lost:0 1:cut:0 1:reconnected:0 2:rejoined:1 1:restored:0 2:enrolled:4 2:refreshed:4", // 10 to 19
			"reload(0)=10-11 reload(1)=15-17 reload(2)=13-19 storm(2)=7-19",
		},
	})
}

// Client 0 follows the changes of client 9, and is cut off now and then.
func TestObserverMemory(t *testing.T) {
	variantstest.ObserverMemory(t, Recipe(), func(i int) (events []variants.Event) {
		record := func(client int, kind variants.EventKind, value int64) {
			events = append(events, variants.Event{Client: client, Kind: kind, Value: value})
		}
		if i == 0 {
			record(0, enrolled, testLeaves)
			record(0, refreshed, testLeaves)
		}
		number := int64(i + 1)
		change := stamp(number, int(slotOf(number, testLeaves)))
		record(0, following, number)
		record(9, changing, change)
		if i%5 == 0 {
			record(0, cutOff, 0)
			record(0, reconnected, 0)
		}
		record(9, changed, change)
		record(0, shown, change)
		if i%5 == 0 {
			record(0, restored, 0)
		}
		record(0, refreshed, testLeaves)
		return events
	})
}

// Paths and data of leaves can be read back, and parents are not leaves.
func TestLayout(t *testing.T) {
	for _, slot := range []int{0, 7, 49, 50, 4999, 123_456} {
		p := leafPath("/run/tree-1", slot, 42)
		if got, isLeaf := slotIn(p); !isLeaf || got != slot {
			t.Errorf("%s has slot %d (%v), want %d", p, got, isLeaf, slot)
		}
	}
	if _, isLeaf := slotIn("/run/tree-1/" + parentName(77)); isLeaf {
		t.Error("a parent is taken for a leaf")
	}
	if got := numberIn(leafData(42)); got != 42 || len(leafData(42)) != leafBytes {
		t.Errorf("%q is read as %d, want 42", leafData(42), got)
	}
}
