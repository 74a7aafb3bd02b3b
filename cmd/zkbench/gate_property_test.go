package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// A result never passes after a change of one leaf, or if one part is removed, emptied or doubled. No such change is harmless.
func TestGateNoticesEveryChange(t *testing.T) {
	t.Parallel()
	text, judge := passing(t)
	changes := 0
	for change := range changesOf(t, text) {
		changes++
		if r := judge(change.text()); r.Code != outcome.CodeInvalid {
			t.Errorf("%s %s: exit code %d", change.path, change.what, r.Code)
		}
	}
	if changes < 1000 {
		t.Errorf("only %d changes of %d bytes", changes, len(text))
	}
}

// passing returns the text of one of two results that pass, and a function that returns the gate's report with another text in
// its place.
func passing(t *testing.T) (text []byte, judge func(text []byte) gate.Report) {
	t.Helper()
	s := scenarios.Default()
	s.Name, s.Mode, s.Question, s.Recipe = "stepped", scenarios.Lockstep, "does one leaf matter?", "lock"
	s.Clients, s.Repeats, s.Variants = []int{3}, 2, []string{"predecessor-watch"}
	s.Hold = 20 * time.Millisecond // so that bystanders read in each repeat
	whole := gate.Read([]string{plantedInMemory(t, s, catalog.Recipes())})
	baselines, err := gate.BaselinesOf(whole.Documents)
	if err := errors.Join(append(whole.Unreadable, err)...); err != nil {
		t.Fatal(err)
	}
	judge = func(text []byte) gate.Report {
		e := gate.Evidence{Documents: whole.Documents[1:]}
		if d, err := store.Decode(text); err == nil {
			e.Documents = whole.Documents
			e.Documents[0] = d
		} else {
			e.Unreadable = []error{err}
		}
		return gate.Evaluate(e, gate.Rules{Baselines: baselines, VariantsOf: variantsOf})
	}
	if text, err = store.Seal(whole.Documents[0]); err != nil {
		t.Fatal(err)
	}
	if r := judge(text); r.Code != 0 {
		t.Fatalf("unchanged: %+v", r.Checks[0])
	}
	return text, judge
}

// change is a document's text after one change. The text is valid until the next change.
type change struct {
	path, what string
	text       func() []byte
}

// tree is a JSON value whose keys keep their order, and may be repeated.
type tree struct {
	literal string // of a value without parts
	open    byte   // '{', '[' or 0
	keys    []string
	parts   []*tree
}

func parse(d *json.Decoder) (*tree, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		literal, err := json.Marshal(token)
		return &tree{literal: string(literal)}, err
	}
	node := &tree{open: byte(delim)}
	for d.More() {
		if node.open == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			node.keys = append(node.keys, key.(string))
		}
		part, err := parse(d)
		if err != nil {
			return nil, err
		}
		node.parts = append(node.parts, part)
	}
	_, err = d.Token()
	return node, err
}

func (n *tree) write(w *bytes.Buffer) {
	if n.open == 0 {
		w.WriteString(n.literal)
		return
	}
	w.WriteByte(n.open)
	for i, part := range n.parts {
		if i > 0 {
			w.WriteByte(',')
		}
		if n.open == '{' {
			w.WriteString(`"` + n.keys[i] + `":`) // no key needs an escape
		}
		part.write(w)
	}
	w.WriteByte(n.open + 2) // the closing bracket, in ASCII
}

// changesOf yields each single change of a document: of every leaf, object and list. In a long list, it changes only the first
// and the last element.
func changesOf(t *testing.T, text []byte) func(yield func(change) bool) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	root, err := parse(d)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(change) bool) {
		walk(root, "", func(path, what string) bool {
			return yield(change{strings.TrimPrefix(path, "."), what, func() []byte {
				var out bytes.Buffer
				root.write(&out)
				return out.Bytes()
			}})
		})
	}
}

// walk applies each change to the tree, shows it, and takes it back.
func walk(n *tree, path string, show func(path, what string) bool) bool {
	for i, part := range n.parts {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.open == '{' {
			at = path + "." + n.keys[i]
		}
		if n.open == '[' && i > 0 && i < len(n.parts)-1 {
			continue
		}
		original := *part
		for _, to := range replacements(part) {
			*part = to
			if !show(at, "is "+to.short()) {
				return false
			}
		}
		*part = original
		whole := *n
		n.keys, n.parts = remove(n.keys, i), remove(n.parts, i)
		ok := show(at, "is missing")
		*n = whole
		if n.open == '{' && ok {
			n.keys, n.parts = append(slices.Clone(n.keys), n.keys[i]), append(slices.Clone(n.parts), part)
			ok = show(at, "stands there twice")
			*n = whole
		}
		if !ok || !walk(part, at, show) {
			return false
		}
	}
	return true
}

func remove[T any](list []T, i int) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func (n tree) short() string {
	var out bytes.Buffer
	n.write(&out)
	return out.String()[:min(out.Len(), 40)]
}

// replacements returns the replacements of a value: null, another type, an empty value, and for a number its neighbours.
func replacements(n *tree) []tree {
	literals := []string{"null", `"x"`}
	switch value := json.Number(n.literal); {
	case n.open != 0:
		literals = append(literals, string([]byte{n.open, n.open + 2}))
	case n.literal == "true" || n.literal == "false":
		literals = append(literals, "true", "false")
	case strings.HasPrefix(n.literal, `"`):
		literals = append(literals, "1", `""`, strings.TrimSuffix(n.literal, `"`)+`x"`)
	default:
		f, err := value.Float64()
		literals = append(literals, "-1", "0", "1e999", fmt.Sprint(2*f), fmt.Sprint(f+1))
		if i, notWhole := value.Int64(); err == nil && notWhole == nil {
			literals = append(literals, fmt.Sprint(2*i), fmt.Sprint(i+1))
		}
	}
	var out []tree
	var text bytes.Buffer
	n.write(&text)
	for _, literal := range slices.Compact(slices.Sorted(slices.Values(literals))) {
		if literal != text.String() {
			out = append(out, tree{literal: literal})
		}
	}
	return out
}
