package observe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/variants/catalog"
)

// phrases returns what sessions with a role do.
func phrases() [roles]string {
	return [roles]string{
		creates: "create it", ephemeral: "create ephemeral znodes in it", sequential: "create sequential znodes in it",
		persistent: "create persistent znodes in it", joins: "find others' there", refused: "fail to create it", lists: "list it",
		waits: "watch the list while their own is in it", relists: "watch it while their own is the first", follows: "watch the list",
		reads: "read", watchesOther: "watch what another has made", awaits: "watch for a znode that is to come", writesOwn: "write to their own",
		writesOther: "write to what another has made", deletesOwn: "delete their own", deletesOther: "delete what another has made",
		consumes: "delete what another has made together with its claim",
		leaves:   "end while their own exists",
	}
}

// looks names what the rules recognize, the busiest first. Of those that look alike, and whose paths differ in numbers, one is named.
func (fs *families) looks() []Look {
	out, named, around, alike := []Look{}, map[string]bool{}, map[string]bool{}, map[string][]int{}
	add := func(f *family, e *evidence, rules []rule) {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.holds(f, e) })
		if i < 0 {
			return
		}
		r, key, least := rules[i], rules[i].variant+strings.Join(strings.FieldsFunc(f.path, unicode.IsDigit), ""), 1
		if r.variant == inboxes {
			key, least = r.variant+"/"+strings.Split(f.path, "/")[1], 2
		}
		named[f.path], around[parentOf(f.path)] = true, true
		alike[key] = append(alike[key], len(out))
		switch n := len(alike[key]); {
		case n == least:
			out = append(out, r.look(f, e))
			out[len(out)-1].Similar = least - 1
		case n > least:
			out[alike[key][least-1]].Similar++
		}
	}
	sorted, inDirectory, ofZnode := fs.sorted(), directoryRules(), znodeRules()
	for _, f := range sorted {
		add(f, &f.in, inDirectory)
	}
	for _, f := range sorted {
		if !named[f.path] && !named[parentOf(f.path)] {
			add(f, &f.self, ofZnode)
		}
	}
	numbered := rule{"barrier", "", "", does{persistent, watchesOther}, when{isBarrier, noList}}
	for _, f := range sorted {
		if !named[f.path] && !around[f.path] { // no rule names its znodes one by one
			add(f, &f.in, []rule{numbered})
		}
	}
	return out
}

// look says how many sessions have the rule's roles.
func (r rule) look(f *family, e *evidence) Look {
	l, first := Look{Path: f.path, Variant: r.variant, Equal: r.equal}, e.who(r.roles[0])
	var clauses []string
	phrases := phrases()
	for i, does := range r.roles {
		count, both := e.who(does), e.who(r.roles[0], does)
		who := fmt.Sprint(count)
		switch {
		case i == 0:
		case both == count && count == first:
			who = "the same " + who
		case both == 0:
			who += " " + table.Plural(count, "other")
		default:
			who += fmt.Sprintf(" (%d of them among the first)", both)
		}
		clauses = append(clauses, phrases[does]+": "+who)
		if i < 2 { // those that wait are the second, if there are any
			l.Sessions = min(count, e.most)
		}
	}
	l.Because = "sessions that " + strings.Join(clauses, ", that ")
	if first > e.most {
		l.Because += fmt.Sprintf("; at most %d sessions at a time", e.most)
	}
	herd := max(e.wakes.most, f.listWakes.most)
	if herd > 0 {
		l.Because += fmt.Sprintf("; largest herd: %d", herd)
	}
	if herd > 1 && cost(r.better, l.Sessions) < cost(r.variant, l.Sessions) {
		l.Better = r.better
	}
	return l
}

// cost returns the most messages that an operation of a variant needs, or 0 for a recipe.
func cost(variant string, sessions int) float64 {
	_, v, known := catalog.Variant(variant)
	if !known {
		return 0
	}
	return v.Free.Requests.At(sessions) + v.Free.Notifications.At(sessions)
}
