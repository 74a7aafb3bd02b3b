package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
)

// The caller of tell holds the mutex.
func (r *run) tell(client int, text string) {
	r.lines = append(r.lines, fmt.Sprintf("%14s  client %d %s\n", time.Since(r.epoch).Round(time.Microsecond), client, text))
}

func (r *run) say(client int, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.telling {
		r.tell(client, fmt.Sprintf(format, args...))
	}
}

func (r *run) describe(e variants.Event) string {
	lives := map[variants.EventKind]string{
		variants.SessionLost: "knows that its session is lost", variants.Died: "dies", variants.Rejoined: "joins again",
		variants.Deafened: "ignores others", variants.Hearing: "hears others again",
	}
	if text, known := lives[e.Kind]; known {
		return text
	}
	text := fmt.Sprintf("event %d", e.Kind)
	if int(e.Kind) < len(r.recipe.Events) {
		text = r.recipe.Events[e.Kind]
	}
	if e.Value != 0 {
		text += fmt.Sprintf(" (%d)", e.Value)
	}
	return text
}

// tap adds the requests and replies on a client's connections to the story.
type tap struct {
	run    *run
	client int
}

func (t tap) say(format string, args ...any) { t.run.say(t.client, format, args...) }

func (t tap) Connected(session int64, resumed bool, _ time.Duration) {
	if resumed {
		t.say("is connected again, in session %x", session)
	} else {
		t.say("has session %x", session)
	}
}

func (t tap) Exchanged(_ int64, e wire.Exchange) {
	watch := ""
	if e.Armed {
		watch = ", and watches it"
	}
	request := strings.TrimSpace(fmt.Sprint(e.Op, " ", e.Path))
	t.say("%s: %v, zxid %d, sent %v ago%s", request, e.Code, e.Zxid, (e.Reply - e.Sent).Round(time.Microsecond), watch)
}

func (t tap) Notified(_ int64, n wire.Notification) {
	t.say("is notified: %v of %s, zxid %d", n.Type, n.Path, n.Zxid)
}

func (t tap) Over(session int64, expired bool) {
	if expired {
		t.say("learns that session %x has expired", session)
	}
}
