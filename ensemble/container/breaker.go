package container

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Faults implements [ensemble.Breaker].
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

func (e *Ensemble) cause(ctx context.Context, s ensemble.Server, f ensemble.ServerFault) error {
	id := e.ids[s.ID-1]
	if f == ensemble.Pause {
		return freeze(ctx, id)
	}
	command := map[ensemble.ServerFault][]string{
		ensemble.Kill:      {"kill", "--signal", "KILL"},
		ensemble.Partition: {"network", "disconnect", e.first.quorum()},
	}[f]
	_, err := docker(ctx, append(command, id)...)
	return err
}

const (
	freezeAttempts = 20
	freezePause    = 250 * time.Millisecond // between two attempts
)

// freeze pauses a container. With version 1 of control groups, the engine gives up if a thread of the container is in an
// uninterruptible sleep, such as a write to a slow disk. It then resumes the threads that have stopped, and freeze tries again.
func freeze(ctx context.Context, id string) error {
	for attempt := 1; ; attempt++ {
		_, err := docker(ctx, "pause", id)
		if err == nil || attempt == freezeAttempts || !strings.Contains(err.Error(), "unable to freeze") ||
			ensemble.Sleep(ctx, freezePause) != nil {
			return err
		}
	}
}

func (e *Ensemble) undo(ctx context.Context, s ensemble.Server) error {
	id := e.ids[s.ID-1]
	states, err := inspectEach(ctx, []string{id})
	if err != nil {
		return err
	}
	remedies, err := states[0].remedies(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, command := range remedies {
		if _, err := docker(ctx, append(command, id)...); err != nil {
			return err
		}
	}
	return nil
}

// remedies returns the commands that undo the faults of the server with the given id. A server can have several: one that is cut off
// may also crash. It is connected before it starts, because it listens on its address in the network.
//
// Note: a container that is killed keeps its volumes, its networks and its published port.
func (s state) remedies(ctx context.Context, id int) (commands [][]string, err error) {
	if s.status == "paused" {
		commands = append(commands, []string{"unpause"})
	}
	if !slices.Contains(s.networks, s.quorum()) {
		subnet, err := subnetOf(ctx, s.quorum())
		if err != nil {
			return nil, err
		}
		address := subnet.Addr().As4()
		address[3] = byte(1 + id) // as in compose.yaml: the first address is the gateway's
		commands = append(commands, []string{"network", "connect", "--ip", netip.AddrFrom4(address).String(), s.quorum()})
	}
	if !s.up() {
		commands = append(commands, []string{"start"})
	}
	return commands, nil
}

// EndedAt implements [ensemble.Dater]. The command that kills a container returns up to half a second after it has ended.
func (e *Ensemble) EndedAt(ctx context.Context, s ensemble.Server) (time.Time, error) {
	out, err := docker(ctx, "inspect", "--format", "{{if not .State.Running}}{{.State.FinishedAt}}{{end}}", e.ids[s.ID-1])
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, strings.TrimSpace(out))
}
