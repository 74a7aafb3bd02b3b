package container

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/ensemble"
)

func possibleFaults() []ensemble.ServerFault {
	return []ensemble.ServerFault{ensemble.Kill, ensemble.Pause, ensemble.Partition}
}

// Faults implements [ensemble.Diagnoser].
func (e *Ensemble) Faults(ctx context.Context) (map[string]ensemble.ServerFault, error) {
	states, err := inspectEach(ctx, e.ids)
	if err != nil {
		return nil, err
	}
	faults := map[string]ensemble.ServerFault{}
	for _, s := range states {
		if f := s.fault(); f != "" {
			faults[s.service] = f
		}
	}
	return faults, nil
}

// cause makes a server fail.
func (e *Ensemble) cause(ctx context.Context, s ensemble.Server, f ensemble.ServerFault) error {
	command := map[ensemble.ServerFault][]string{
		ensemble.Kill:      {"kill", "--signal", "KILL"},
		ensemble.Pause:     {"pause"},
		ensemble.Partition: {"network", "disconnect", e.quorum},
	}[f]
	_, err := docker(ctx, append(command, e.ids[s.ID-1])...)
	return err
}

// undo undoes all faults of a server.
func (e *Ensemble) undo(ctx context.Context, s ensemble.Server) error {
	id := e.ids[s.ID-1]
	states, err := inspectEach(ctx, []string{id})
	if err != nil {
		return err
	}
	for _, command := range states[0].remedies(s.ID) {
		if _, err := docker(ctx, append(command, id)...); err != nil {
			return err
		}
	}
	return nil
}

// remedies returns the commands that undo the faults of the server with the given id. There may be several: a server that is cut
// off may also crash. A server is connected before it starts, because it looks its own address up in the network.
//
// Note: a container that is killed keeps its volumes, its networks and its published port.
func (s state) remedies(id int) (commands [][]string) {
	if s.status == "paused" {
		commands = append(commands, []string{"unpause"})
	}
	if !slices.Contains(s.networks, s.quorum()) {
		commands = append(commands, []string{"network", "connect", "--alias", fmt.Sprintf("quorum%d", id), s.quorum()})
	}
	if s.status != "paused" && s.status != "running" {
		commands = append(commands, []string{"start"})
	}
	return commands
}
