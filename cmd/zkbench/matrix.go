package main

import (
	"errors"
	"io"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// writeMatrix prints what each variant has made of each fault, if some of the measurements are those of the fault matrix.
func writeMatrix(w io.Writer, docs []*results.Document, width int) error {
	columns := list.Map(scenarios.MatrixFaults(), func(f scenarios.MatrixFault) string { return f.Name })
	m, found := report.NewMatrix(columns), false
	for _, d := range docs {
		if _, fault, ok := scenarios.MatrixCell(d.Scenario.Name); ok && slices.Contains(columns, fault) {
			m.Add(fault, d)
			found = true
		}
	}
	if !found {
		return nil
	}
	return m.Write(w, width)
}

// matrix returns the scenarios of the fault matrix with the flags that were given. Its faults are its own.
func (f *runFlags) matrix() ([]scenarios.Scenario, error) {
	var selected []scenarios.Scenario
	var errs []error
	for _, s := range scenarios.Matrix(catalog.Recipes(), nil) {
		s, err := f.override(s, catalog.Recipes())
		errs = append(errs, err)
		selected = append(selected, s)
	}
	return selected, errors.Join(errs...)
}
