package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// Tags are in the documents of a run and in all reports of it. They do not keep runs apart: the same measurements are compared and gated.
func TestTagsOfARun(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	for folder, tags := range map[string][]string{
		"plain": nil, "old": {"--tag", "branch=main"}, "new": {"--tag", "branch=topic", "--tag", "host=ci, 1"},
	} {
		args := []string{"run", "lock-drain", "--clients", "2", "--repeats", "1", "--variants", "znode,predecessor-watch", "--out", folder}
		if _, stderr, code := inMemory(t, embedded.Config{}, append(args, tags...)...); code != outcome.CodePass {
			t.Fatalf("%s: exit code %d: %s", folder, code, stderr)
		}
	}
	text := must.Get(os.ReadFile(must.Get(store.Files("plain"))(t)[0]))(t)
	if strings.Contains(string(text), `"tags"`) {
		t.Error("a document without tags has a member for them")
	}
	prints(t, outcome.CodePass, "tags: branch=topic; host=ci, 1\n\nlock-drain on embedded", "report", "new")
	prints(t, outcome.CodePass, "tags: branch=topic; host=ci, 1\n\n**lock-drain on embedded", "report", "new", "--format", "markdown")
	prints(t, outcome.CodePass, `,"branch=topic; host=ci, 1",`, "report", "new", "--format", "csv")
	prints(t, outcome.CodePass, `"host=ci, 1"`, "report", "new", "--format", "json")
	if strings.Contains(prints(t, outcome.CodePass, "lock-drain", "report", "plain"), "tags") {
		t.Error("a report of a run without tags mentions them")
	}
	compared := prints(t, outcome.CodePass, "tags of old: branch=main\ntags of new: branch=topic; host=ci, 1\n", "compare", "old", "new")
	plain := prints(t, outcome.CodePass, "", "compare", "old", "plain")
	_, want, _ := strings.Cut(plain, "\n\n")
	if _, got, _ := strings.Cut(compared, "\n\n"); got != strings.ReplaceAll(want, "plain", "new") || !strings.Contains(got, "requests/op") {
		t.Errorf("tags change the comparison\n%s\nto\n%s", plain, compared)
	}
	prints(t, outcome.CodePass, "", "baseline", "save", "old", "--dir", "baselines")
	prints(t, outcome.CodePass, "pass", "gate", "new", "--baseline", "baselines")
	var c struct{ Tags map[string][]string }
	must.Do(t, json.Unmarshal([]byte(prints(t, outcome.CodePass, "", "compare", "plain", "new", "--format", "json")), &c))
	if len(c.Tags) != 1 || len(c.Tags["new"]) != 2 {
		t.Errorf("tags of the sides: %v", c.Tags)
	}
	prints(t, outcome.CodePass, "", "report", "--html", "page.html", "new")
	hasAll(t, string(must.Get(os.ReadFile("page.html"))(t)), "<dt>Tags</dt>", "branch=topic; host=ci, 1")
}
