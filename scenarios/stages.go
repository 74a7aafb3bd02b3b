package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
)

// The limits of stages. The document has a histogram for each of them.
const (
	maxStages     = 50
	shortestStage = results.FirstBin
)

func parseStage(text string) (results.StageLoad, error) {
	return strict.ReadLine(text, "for: 10s, rate: 100", func(root *yaml.Node, name string) (l results.StageLoad, mistakes strict.Mistakes) {
		mistakes, _ = strict.Mapping(root, name, stageFields(&l))
		return l, mistakes
	})
}

func stageFields(l *results.StageLoad) []strict.Field {
	return []strict.Field{
		{Name: "for", Wants: "a duration with its unit, such as 10s", Value: &l.For, Required: true},
		{Name: "rate", Wants: "a rate, a whole number per second, min or h, such as 100 or 6/min", Value: &l.Rate},
		{Name: "clients", Wants: "a whole number of clients", Value: &l.Clients},
		{Name: "ramp", Wants: "true or false", Value: &l.Ramp},
	}
}

func readStages(elements *yaml.Node, name string) (stages []results.StageLoad, mistakes strict.Mistakes) {
	mistakes = strict.List(elements, name, func() ([]strict.Field, func() []string) {
		stages = append(stages, results.StageLoad{})
		return stageFields(&stages[len(stages)-1]), nil // read before the next one is appended
	})
	return stages, mistakes
}

// Complete sets fields that follow from others: the arrivals of an open load, the duration of a load in stages, and the
// number of clients of a closed load in stages.
func (s *Scenario) Complete() {
	if s.Mode == Open {
		s.Arrivals = cmp.Or(s.Arrivals, Constant)
	}
	if len(s.Stages) == 0 || s.Mode == Lockstep {
		return
	}
	if s.Duration == 0 && s.Operations == 0 {
		s.Duration = results.StagesLast(s.Stages)
	}
	if most := s.HighestStage(); s.Mode == Closed && len(s.Clients) == 0 && most > 0 {
		s.Clients = []int{most}
	}
}

func (s *Scenario) validateStages(p *problems) {
	if len(s.Stages) == 0 {
		return
	}
	switch {
	case s.Mode == Lockstep:
		p.add("stages", "mean nothing in %s, where zkbench sets the pace: set mode to %s or %s", Lockstep, Closed, Open)
		return
	case s.Operations > 0:
		p.add("operations", "means nothing beside stages, which last for a time")
	case s.Duration != results.StagesLast(s.Stages):
		p.add("stages", "last for %s together, and duration is %s: without a duration, the load lasts as long as its stages",
			results.StagesLast(s.Stages), s.Duration)
	}
	if len(s.Stages) > maxStages {
		p.add("stages", "wants at most %d, not %d", maxStages, len(s.Stages))
	}
	for i, stage := range s.Stages {
		if why := s.wrongStage(i, stage); why != "" {
			p.add("stages", "stage %d (%s): %s", i+1, stage, why)
		}
	}
	if s.Mode == Closed && len(s.Stages) <= maxStages {
		if most, from := s.mostJoining(); most >= CrowdOfStarts {
			p.add("stages", "let %.0f clients join within one second, from %s on, and want fewer than %d: "+
				"so many that begin at once lose their sessions", most, from, CrowdOfStarts)
		}
	}
	if s.Mode == Open && len(s.Rate) > 0 {
		p.add("rate", "means nothing beside stages, each of which has a rate: leave one of the two out")
	}
	if most := s.HighestStage(); s.Mode == Closed && most > 0 && !slices.Equal(s.Clients, []int{most}) {
		p.add("clients", "wants [%d], the largest number of a stage, or to be left out, not %v", most, s.Clients)
	}
}

func (s *Scenario) wrongStage(i int, stage results.StageLoad) string {
	least, most, wants, not, other := minRate, results.Rate(maxRate), "rate", "clients", stage.Clients != 0
	if s.Mode == Closed {
		least, most, wants, not, other = 1, maxClients, "clients", "rate", stage.Rate != 0
	}
	switch {
	case stage.For < shortestStage || stage.For > maxLoad:
		return fmt.Sprintf("wants to last for %s to %s", shortestStage, maxLoad)
	case other:
		return fmt.Sprintf("mode %s wants %s, and no %s", s.Mode, wants, not)
	case results.Rate(stage.Level()) < least || results.Rate(stage.Level()) > most:
		return fmt.Sprintf("mode %s wants %s from %s to %s", s.Mode, wants, least, most)
	case i == 0 && stage.Ramp:
		return "there is no stage before it whose load could change to this one"
	}
	return ""
}

// CrowdOfStarts is the number of clients that lose their sessions if all begin within a second. The runner paces the first
// operations of this many or more. In a load in stages, fewer must join within any second.
const CrowdOfStarts = 5000

// mostJoining returns the largest number of clients that join within a second, and when that second begins.
//
// Note: the number of clients is linear within a stage. So the second in which most clients join begins or ends at the end of
// a stage. A second contains only one of its two bounds, and both ways are tried.
func (s *Scenario) mostJoining() (most float64, from time.Duration) {
	for i := range s.Stages {
		end := results.StagesLast(s.Stages[:i+1])
		for _, begin := range []time.Duration{end, end - time.Second} {
			for _, including := range []bool{false, true} {
				if n := s.joined(begin+time.Second, including) - s.joined(begin, including); n > most {
					most, from = n, max(begin, 0)
				}
			}
		}
	}
	return most, from
}

// joined returns how many clients join before a time, each time that they do; including adds those of a stage that begins then.
func (s *Scenario) joined(before time.Duration, including bool) (sum float64) {
	var begin time.Duration
	for i, stage := range s.Stages {
		share := 0.0
		switch {
		case i == 0: // these clients are paced before the window
		case stage.Ramp:
			share = min(max(float64(before-begin)/float64(stage.For), 0), 1)
		case begin < before || including && begin == before:
			share = 1
		}
		if share > 0 {
			sum += share * float64(max(stage.Clients-s.Stages[i-1].Clients, 0))
		}
		begin += stage.For
	}
	return sum
}
