package scenarios

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// claimed is a row of a table of the page.
type claimed struct{ claim, scenarios, outcome, verdict string }

func claimedRows(page string) []claimed {
	var rows []claimed
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) == 4 && !strings.HasPrefix(cells[0], "---") && strings.TrimSpace(cells[0]) != "claim" {
			rows = append(rows, claimed{strings.TrimSpace(cells[0]), cells[1], strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
		}
	}
	return rows
}

// The page about the sources' claims names scenarios that exist, and has an outcome and a verdict for each claim.
func TestSeedsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := claimedRows(string(page))
	if len(rows) < 40 {
		t.Errorf("only %d claims were found", len(rows))
	}
	verdicts := []string{"confirmed", "refuted", "in part", "undecided"}
	for _, row := range rows {
		names := regexp.MustCompile("`([a-z0-9-]+)").FindAllStringSubmatch(row.scenarios, -1)
		for _, name := range names {
			if !slices.Contains(Names(), name[1]) && name[1] != MatrixName {
				t.Errorf("%q: there is no scenario %s", row.claim, name[1])
			}
		}
		if len(names) == 0 || row.outcome == "" || strings.Contains(row.outcome, "@@") || !slices.Contains(verdicts, row.verdict) {
			t.Errorf("%q: scenarios %q, outcome %q, verdict %q, want one of %q", row.claim, row.scenarios, row.outcome, row.verdict, verdicts)
		}
	}
}
