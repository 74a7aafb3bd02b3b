package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/variants"
)

const stagesField = "stages"

// The limits of stages. Each has a histogram of its own in the document.
const (
	maxStages     = 50
	shortestStage = results.FirstBin
	largestStep   = 5000 // clients that join at once; more of them are paced, see the runner
)

// ParseStage reads a stage as a command line has it: "for: 10s, rate: 100", with or without braces around it.
func ParseStage(text string) (results.StageLoad, error) {
	load := &stageFields{}
	err := strict.ReadLine(text, "for: 10s, rate: 100", func(root *yaml.Node) strict.Mistakes {
		mistakes, _ := strict.Mapping(root, "", load.fields())
		return mistakes
	})
	return load.stage(), err
}

// stageFields are the fields of one stage in a file.
type stageFields struct {
	length        Duration
	rate, clients int
	ramp          bool
}

func (f *stageFields) fields() []strict.Field {
	return []strict.Field{
		{Name: "for", Wants: "a duration with its unit, such as 10s", Value: &f.length, Required: true},
		{Name: "rate", Wants: "a whole number", Value: &f.rate},
		{Name: "clients", Wants: "a whole number", Value: &f.clients},
		{Name: "ramp", Wants: "true or false", Value: &f.ramp},
	}
}

func (f *stageFields) stage() results.StageLoad {
	return results.StageLoad{For: time.Duration(f.length), Rate: f.rate, Clients: f.clients, Ramp: f.ramp}
}

func (s *Scenario) readStages(list *yaml.Node, name string) strict.Mistakes {
	var all []*stageFields
	mistakes := strict.List(list, name, func() ([]strict.Field, func() []string) {
		f := &stageFields{}
		all = append(all, f)
		return f.fields(), nil
	})
	for _, f := range all {
		s.Stages = append(s.Stages, f.stage())
	}
	return mistakes
}

// SetStages replaces the stages, and what follows from them. The scenario keeps a number of clients that the caller has set.
func (s *Scenario) SetStages(stages []results.StageLoad, keepClients bool) {
	s.Stages, s.Duration, s.Operations, s.Rate = stages, 0, 0, nil
	if s.Mode == Closed && !keepClients {
		s.Clients = nil
	}
	s.followStages()
}

// followStages fills in what the stages say of the whole load: its length and, if clients loop, their number.
func (s *Scenario) followStages() {
	if len(s.Stages) == 0 || s.Mode == Lockstep {
		return
	}
	if s.Duration == 0 && s.Operations == 0 {
		s.Duration = Duration(results.StagesLast(s.Stages))
	}
	if most := s.highestStage(); s.Mode == Closed && len(s.Clients) == 0 && most > 0 {
		s.Clients = []int{most}
	}
}

// highestStage returns the largest rate, or number of clients, of a stage.
func (s *Scenario) highestStage() (most int) {
	for _, stage := range s.Stages {
		level := stage.Rate
		if s.Mode == Closed {
			level = stage.Clients
		}
		most = max(most, level)
	}
	return most
}

// validateStages checks the stages, and what the load says beside them.
func (s *Scenario) validateStages(p *problems) {
	if len(s.Stages) == 0 {
		return
	}
	switch {
	case s.Mode == Lockstep:
		p.add(stagesField, "mean nothing in %s, where zkbench sets the pace: set mode to %s or %s", Lockstep, Closed, Open)
		return
	case s.Operations > 0:
		p.add("operations", "means nothing beside stages, which last for a time")
	case time.Duration(s.Duration) != results.StagesLast(s.Stages):
		p.add(stagesField, "last for %s together, and duration is %s: without a duration, the load lasts as long as its stages",
			results.StagesLast(s.Stages), time.Duration(s.Duration))
	}
	if len(s.Stages) > maxStages {
		p.add(stagesField, "wants at most %d, not %d", maxStages, len(s.Stages))
	}
	for i, stage := range s.Stages {
		if why := s.wrongStage(i, stage); why != "" {
			p.add(stagesField, "stage %d (%s): %s", i+1, stage, why)
		}
	}
	if s.Mode == Open && len(s.Rate) > 0 {
		p.add(rateField, "means nothing beside stages, each of which has a rate: leave one of the two out")
	}
	if most := s.highestStage(); s.Mode == Closed && most > 0 && !slices.Equal(s.Clients, []int{most}) {
		p.add("clients", "wants [%d], the largest number of a stage, or to be left out, not %v", most, s.Clients)
	}
}

// wrongStage returns what is wrong with a stage; empty if it makes sense.
func (s *Scenario) wrongStage(i int, stage results.StageLoad) string {
	level, other, most := stage.Rate, stage.Clients, maxRate
	wants, not := rateField, "clients"
	if s.Mode == Closed {
		level, other, most, wants, not = stage.Clients, stage.Rate, maxClients, "clients", rateField
	}
	switch {
	case stage.For < shortestStage || stage.For > maxLoad:
		return fmt.Sprintf("wants to last for %s to %s", shortestStage, maxLoad)
	case other != 0:
		return fmt.Sprintf("mode %s wants %s, and no %s", s.Mode, wants, not)
	case level < 1 || level > most:
		return fmt.Sprintf("mode %s wants %s from 1 to %d", s.Mode, wants, most)
	case i == 0 && stage.Ramp:
		return "there is no stage before it whose load could change to this one"
	case i > 0 && !stage.Ramp && stage.Clients-s.Stages[i-1].Clients >= largestStep:
		return fmt.Sprintf("wants fewer than %d clients more than the stage before it, or ramp: true: so many that begin at once lose their sessions", largestStep)
	}
	return ""
}

// validateStagedRecipe refuses recipes whose clients cannot work while others pause.
func (s *Scenario) validateStagedRecipe(p *problems, recipe variants.Recipe) {
	if s.Mode == Closed && len(s.Stages) > 0 && recipe.Collective {
		p.add(stagesField, "want clients that act by themselves, and in recipe %s clients depend on each other: measure several numbers of clients instead", recipe.Name)
	}
}

// describeStages says in words how the load changes.
func (s *Scenario) describeStages() string {
	unit := "clients at their own pace"
	if s.Mode == Open {
		unit = fmt.Sprintf("operations per second (%s arrivals)", s.EffectiveArrivals())
	}
	var parts []string
	for _, stage := range s.Stages {
		how := ""
		if stage.Ramp {
			how = "changing to "
		}
		parts = append(parts, fmt.Sprintf("%s%d for %s", how, stage.Level(), stage.For))
	}
	return fmt.Sprintf("%s: %s; after %s of warm-up", unit, strings.Join(parts, ", "), time.Duration(s.WarmUp))
}
