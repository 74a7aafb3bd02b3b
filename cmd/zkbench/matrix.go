package main

import (
	"io"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// writeMatrix prints what each variant has made of each fault, if some of the measurements are those of the fault matrix.
func writeMatrix(w io.Writer, docs []*results.Document, width int) error {
	var columns []string
	for _, f := range scenarios.MatrixFaults() {
		columns = append(columns, f.Name)
	}
	m, found := results.NewMatrix(columns), false
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
