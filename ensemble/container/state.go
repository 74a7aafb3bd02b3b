package container

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

type state struct {
	service    string // the server's name
	id         string
	image      string
	lifetime   ensemble.Lifetime
	txnLog     ensemble.TxnLog
	protection string // as ensemble.ParseProtection reads it
	status     string // of the container, such as "running", "paused" or "exited"
	project    string // the prefix that Compose gives to the networks' names
	networks   []string
	ports      []string // of clients
}

func (s state) quorum() string { return s.project + "_quorum" }

// up reports whether the container runs or is paused, as none does after a reboot.
func (s state) up() bool { return s.status == "running" || s.status == "paused" }

func (s state) address(i int) string {
	if i >= len(s.ports) {
		return ""
	}
	return "127.0.0.1:" + s.ports[i]
}

func (s state) fault() ensemble.ServerFault {
	switch {
	case s.status == "paused":
		return ensemble.Pause
	case s.status != "running":
		return ensemble.Kill
	case !slices.Contains(s.networks, s.quorum()):
		return ensemble.Partition
	}
	return ""
}

// stateFormat prints the fields of a state in their order. The names and values have no spaces.
const stateFormat = `{{index .Config.Labels "com.docker.compose.service"}} {{.Id}} {{.Config.Image}} ` +
	`{{index .Config.Labels "` + lifetimeLabel + `"}} ` +
	`{{with index .Config.Labels "` + txnLogLabel + `"}}{{.}}{{else}}disk{{end}} ` +
	`{{with index .Config.Labels "` + protectionLabel + `"}}{{.}}{{else}}none{{end}} {{.State.Status}} ` +
	`{{index .Config.Labels "com.docker.compose.project"}} {{range $name, $_ := .NetworkSettings.Networks}}{{$name}},{{end}} ` +
	`{{with index .HostConfig.PortBindings "2181/tcp"}}{{range .}}{{.HostPort}},{{end}}{{end}}`

// inspectAll returns the states of all containers of an ensemble by service, and so by server id. There is at least one.
func inspectAll(ctx context.Context, name string) ([]state, error) {
	ids, err := list(ctx, name, "ps", "-a")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, ensemble.ErrNotUp
	}
	states, err := inspectEach(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("ensemble %q: %w", name, err)
	}
	return states, nil
}

func inspectEach(ctx context.Context, ids []string) ([]state, error) {
	out, err := docker(ctx, append([]string{"inspect", "--format", stateFormat}, ids...)...)
	if err != nil {
		return nil, err
	}
	var states []state
	for _, line := range slices.Sorted(strings.Lines(out)) {
		f := strings.Fields(line)
		if len(f) != 10 {
			return nil, fmt.Errorf("docker inspect said %q of a container", strings.TrimSpace(line))
		}
		states = append(states, state{
			service: f[0], id: f[1], image: f[2], lifetime: ensemble.Lifetime(f[3]), txnLog: ensemble.TxnLog(f[4]), protection: f[5],
			status: f[6], project: f[7], networks: strings.Split(f[8], ","), ports: strings.Split(strings.Trim(f[9], ","), ","),
		})
	}
	return states, nil
}
