package report_test

import (
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
)

// eachInteger calls change with each integer below a value.
func eachInteger(v reflect.Value, path string, change func(v reflect.Value, path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachInteger(v.Elem(), path, change)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			eachInteger(v.Field(i), path+"."+v.Type().Field(i).Name, change)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachInteger(v.Index(i), path, change)
		}
	case reflect.Int, reflect.Int64:
		change(v, path)
	}
}

// However large or small a number in a document is, it is checked and shown without a panic.
func TestExtremeNumbers(t *testing.T) {
	open := stagedRun(t)
	open.Scenario.Mode, open.Rate = results.OpenMode, 5
	open.Open = &results.Open{Arrivals: 9, Served: 9, Completed: 9, LastEmpty: open.Window.End}
	connected := beside(t)
	connected.Connect = &results.Connect{Total: ms, Each: connected.Background.Alone.Read.Response}
	for _, d := range []*results.Document{connected, stagedRun(t), open, unfinishedRun(t)} {
		parts := []any{&d.Rate, &d.Clients, &d.Window, &d.Scenario.AtMost, &d.Scenario.Background, &d.Scenario.Stages, &d.Background, &d.Stages, &d.Open, &d.Connect, &d.Unfinished}
		for _, part := range parts {
			eachInteger(reflect.ValueOf(part), reflect.TypeOf(part).String(), func(v reflect.Value, path string) {
				before := v.Int()
				defer v.SetInt(before)
				for _, n := range []int64{math.MinInt64, -1, 0, 1, 2_000_000_000, math.MaxInt64} {
					v.SetInt(n)
					survives(t, d, path, n)
				}
			})
		}
	}
}

// survives checks and shows a document.
func survives(t *testing.T, d *results.Document, path string, n int64) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s = %d: panic: %v", path, n, p)
		}
	}()
	_ = store.CheckInvariants(d)
	doubts.Invalid(d)
	doubts.Warnings(d)
	_ = doubts.Progress(d)
	report.WriteTable(io.Discard, summary.Of([]*results.Document{d}), 120)
}
