package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Every variant is explained by numbered steps, its cost, its source, and its weaknesses.
func TestEveryVariantIsExplained(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	steps := regexp.MustCompile(`(?m)^ 1\. .*(\n.*)*^ 2\. `)
	for _, r := range catalog.Recipes() {
		for _, v := range r.All() {
			name := r.Name + "/" + v.Name
			stdout, stderr, code := command(t.Context(), "explain", name)
			if code != 0 {
				t.Errorf("%s: exit code %d: %s", name, code, stderr)
				continue
			}
			hasAll(t, stdout, "Source: ", "Bad at: ", "requests", "largest herd")
			if !steps.MatchString(stdout) {
				t.Errorf("%s: the algorithm is not told in numbered steps:\n%s", name, stdout)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"lock", "lock/predecessor-watch"},
		{"lock", "writes 1, reads 0, notifications (N-1)/N."},
		{"lock-drain", "mode lockstep"},
		{"lock-leader-loss", "kill: leader, at: 3s, for: 6s; session-timeout 10s"},
		{"lock-open", "offered 25/s, 50/s, 100/s, 200/s; repeats"},
		{"acquire-p99", "Duration of the phase acquire: p99.\n\nUnit: ns. Less is better."},
		{"requests/op", "Variants state it as a formula."},
		{"items-lost", "Of several repeats, it is the sum."},
		{"stale/read", "Recipes: "},
		{"capacity", "More is better."},
	} {
		prints(t, 0, tt.want, "explain", tt.name)
	}
	prints(t, 0, "lock/znode", "__complete", "explain", "lock/z")
}

// The explanation of a variant that does not promise everything says so in words.
func TestExplainForgoes(t *testing.T) {
	for _, r := range catalog.Recipes() {
		for _, v := range r.Variants {
			stdout, _, _ := command(t.Context(), "explain", r.Name+"/"+v.Name)
			stdout = strings.Join(strings.Fields(stdout), " ")
			if said := strings.Contains(stdout, "server fails: "+forgone(v.Forgoes)); said != (len(v.Forgoes) > 0) {
				t.Errorf("%s/%s forgoes %v, which is explained: %v\n%s", r.Name, v.Name, v.Forgoes, said, stdout)
			}
			if said := strings.Contains(stdout, "nothing fails: "+forgone(v.ForgoesAlways)); said != (len(v.ForgoesAlways) > 0) {
				t.Errorf("%s/%s forgoes %v always, which is explained: %v\n%s", r.Name, v.Name, v.ForgoesAlways, said, stdout)
			}
			for _, l := range v.ForgoesAlways {
				if !v.Forgone(l) {
					t.Errorf("%s/%s forgoes %s while nothing fails, but not in failures", r.Name, v.Name, l)
				}
			}
			for _, l := range append(v.Forgoes, r.Losses...) {
				if forgone([]variants.Loss{l}) == string(l) {
					t.Errorf("%s/%s: there are no words for %s", r.Name, v.Name, l)
				}
			}
		}
	}
	const want = "an item or task may be lost; clients that work may wait without end for one that failed"
	if got := forgone([]variants.Loss{variants.ItemsLost, variants.Blocked}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
