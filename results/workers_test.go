package results_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

func TestMergeHealth(t *testing.T) {
	still := func(at time.Duration) results.Standstill { return results.Standstill{Start: at, Length: 1} }
	for _, tt := range []struct {
		name string
		each []results.Health
		want results.Health
	}{
		{"of none", nil, results.Health{MachineCPU: -1}},
		{"shares and delays are the worst",
			[]results.Health{
				{ClientCPU: 0.1, MachineCPU: 0.9, SchedulerP99: 3, GCPauseMax: 1, LatenessP99: 7},
				{ClientCPU: 0.5, MachineCPU: -1, SchedulerP99: 2, GCPauseMax: 4, LatenessP99: 6},
			},
			results.Health{ClientCPU: 0.5, MachineCPU: 0.9, SchedulerP99: 3, GCPauseMax: 4, LatenessP99: 7}},
		{"counts are added",
			[]results.Health{
				{Throttled: 1, Reconnects: 2, SessionsLost: 3, BystanderErrors: 4, UnmatchedReplies: 5},
				{Throttled: 10, Reconnects: 20, SessionsLost: 30, BystanderErrors: 40, UnmatchedReplies: 50, LeaderChanged: true},
				{LeaderChanged: false},
			},
			results.Health{
				Throttled: 11, Reconnects: 22, SessionsLost: 33, BystanderErrors: 44, UnmatchedReplies: 55, LeaderChanged: true,
			}},
		{"standstills are in order",
			[]results.Health{{StoodStill: []results.Standstill{still(2), still(9)}}, {StoodStill: []results.Standstill{still(1)}}},
			results.Health{StoodStill: []results.Standstill{still(1), still(2), still(9)}}},
	} {
		if got := results.MergeHealth(tt.each); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// No field of the health is forgotten: that of one worker is the whole.
func TestMergedHealthHasAllFields(t *testing.T) {
	var h results.Health
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			f.SetInt(int64(i) + 1)
		}
	}
	if got := results.MergeHealth([]results.Health{h}); !reflect.DeepEqual(got, h) {
		t.Errorf("%+v, want %+v", got, h)
	}
}

func TestWorkersOfADocument(t *testing.T) {
	for _, tt := range []struct {
		workers []results.Worker
		zones   string
		bound   float64
	}{
		{nil, "0", 0},
		{[]results.Worker{{ClockBound: 5}}, "1", 5},
		{[]results.Worker{{ClockBound: 5}, {ClockBound: 9}, {ClockBound: 7}}, "3", 16},
		{[]results.Worker{{Zone: "b", ClockBound: 9}, {Zone: "a", ClockBound: 9}, {Zone: "b", ClockBound: 7}}, "1 in a, 2 in b", 18},
		{[]results.Worker{{Zone: "b"}, {ClockBound: 5}}, "1 in b, 1 in no zone", 5},
	} {
		d := results.Document{Workers: tt.workers}
		if zones, bound := results.Zones(tt.workers), d.ClockError(); zones != tt.zones || bound != tt.bound {
			t.Errorf("%v: %q and %g, want %q and %g", tt.workers, zones, bound, tt.zones, tt.bound)
		}
	}
}
