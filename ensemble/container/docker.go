package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Available returns nil if a Docker engine answers and a Compose command is installed.
func Available(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return fmt.Errorf("%w: there is no docker command: install Docker Engine, or choose another --ensemble", ensemble.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := docker(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("%w: no Docker engine answers: start it, or choose another --ensemble: %w", ensemble.ErrUnavailable, err)
	}
	_, err := composeCommand(ctx)
	return err
}

func composeCommand(ctx context.Context) ([]string, error) {
	if exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if _, err := exec.LookPath("docker-compose"); err == nil {
		return []string{"docker-compose"}, nil
	}
	return nil, fmt.Errorf("%w: there is neither `docker compose` nor docker-compose: install one of them", ensemble.ErrUnavailable)
}

func compose(ctx context.Context, env []string, args ...string) error {
	command, err := composeCommand(ctx)
	if err != nil {
		return err
	}
	_, err = run(ctx, env, append(command, args...)...)
	return err
}

func docker(ctx context.Context, args ...string) (string, error) {
	return run(ctx, nil, append([]string{"docker"}, args...)...)
}

// dockerCombined returns standard output and error as one text, for commands that print both streams of a container.
func dockerCombined(ctx context.Context, args ...string) (string, error) {
	out, err := command(ctx, nil, append([]string{"docker"}, args...)...).CombinedOutput()
	return string(out), err
}

func run(ctx context.Context, env []string, args ...string) (string, error) {
	return output(ctx, strings.Join(args[:2], " "), command(ctx, env, args...))
}

// output returns what a command prints. The error of a command that failed has the last lines of its standard error, with the reason.
func output(ctx context.Context, name string, cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	text := strings.Join(lines[max(len(lines)-3, 0):], "; ")
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, context.Cause(ctx))
	case errors.As(err, new(*exec.ExitError)) && text != "":
		return "", fmt.Errorf("%s: %s", name, text)
	default:
		return "", fmt.Errorf("%s: %w %s", name, err, text)
	}
}

// command prepares a child in its own process group, so that Ctrl-C does not end the commands that take the ensemble down.
func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = ensemble.ChildAttributes()
	cmd.Cancel = func() error { return ensemble.SignalGroup(cmd.Process, syscall.SIGTERM) } // its children too
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
