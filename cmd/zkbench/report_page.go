package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/zkbench/zkbench/plots/page"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/table"
)

// writePage writes a page about runs to a file, and prints its name and size.
func (a *app) writePage(args []string, path string) error {
	if path == "" {
		return usage(errors.New("--html is empty: name a file, such as report.html"))
	}
	if err := errors.Join(twice(args), checkFile("html", path)); err != nil {
		return err
	}
	sides, err := a.readSides(args)
	if err != nil {
		return err
	}
	report := page.Report{Sides: oneSideOfEachRun(sides), Explain: explanation}
	if len(report.Sides) > 1 {
		c, err := compare.Runs(report.Sides, compare.Options{})
		if err != nil {
			return usage(err)
		}
		report.Comparison = &c
	}
	var text bytes.Buffer
	if err := page.Write(&text, report); err != nil {
		return err
	}
	if err := renameio.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	fmt.Fprintf(a.stdout, "%s (%s)\n", path, table.Bytes(float64(text.Len())))
	return nil
}

// explanation returns what `zkbench explain` prints of a variant; empty for one that this zkbench does not know.
func explanation(recipe, variant string) string {
	r, v, known := variantNamed(recipe + "/" + variant)
	var text strings.Builder
	if !known || (&app{stdout: &text}).explainVariant(r, v) != nil {
		return ""
	}
	return text.String()
}
