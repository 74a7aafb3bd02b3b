package launch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

// grace is how long a worker may take to close its sessions after its standard input has ended.
const grace = 10 * time.Second

// The scripts, for any POSIX shell. Each begins with the first, which has the name of the program. A copy is complete before it gets
// that name, because hosts may share a home directory.
const (
	beginScript  = `d=${XDG_CACHE_HOME:-$HOME/.cache}/zkbench; f=$d/%s; `
	copyScript   = `mkdir -p "$d" && cat >"$f.$$" && [ "$(wc -c <"$f.$$")" -eq %d ] && chmod 700 "$f.$$" && mv -f "$f.$$" "$f"`
	removeScript = `cd "$d" 2>/dev/null || exit 0; f=${f##*/}; ls $f $f.* 2>/dev/null | sort -u; rm -f $f $f.*`
)

// ssh starts each worker by an ssh process of its own.
type ssh struct {
	*run
	hosts []string // of each worker
	kill  context.CancelFunc
	mu    sync.Mutex
	ended []string // why, for each worker that has ended
}

// start copies this program to the hosts, and starts it there.
func (s *ssh) start(ctx context.Context) error {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	s.kill = kill
	path, err := os.Executable()
	program, errRead := os.ReadFile(path)
	if err := cmp.Or(err, errRead); err != nil {
		return err
	}
	s.Say(fmt.Sprintf("copying zkbench (%d MB) to the hosts", len(program)>>20))
	if _, err := s.onHosts(ctx, program, fmt.Sprintf(copyScript, len(program))); err != nil {
		return err
	}
	for _, host := range s.hosts {
		if err := s.startWorker(working, host); err != nil {
			return err
		}
	}
	return nil
}

// startWorker starts a worker and gives it the token.
func (s *ssh) startWorker(ctx context.Context, host string) error {
	args := append([]string{"worker", "--join", s.Join, "--token-file", "-"}, s.Args...)
	var said ensemble.Tail
	cmd := s.command(ctx, host, `exec "$f" `+strings.Join(list.Map(args, quote), " "))
	cmd.Stdout, cmd.Stderr = &said, &said
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	context.AfterFunc(s.life, func() { _ = stdin.Close() }) //nolint:contextcheck // the life of all workers; closed already if ssh has ended
	s.running.Go(func() {
		_ = cmd.Wait() // the reason is in ProcessState; exit status 255 is that of ssh itself, or of a worker that was killed
		why := fmt.Sprintf("the worker on %s ended (ssh: %s): %s", host, cmd.ProcessState, lastLines(string(said)))
		s.report(strings.TrimSuffix(why, ": "))
	})
	_, _ = io.WriteString(stdin, s.Token+"\n") // fails if ssh has ended, which is reported with the reason
	return nil
}

func (s *ssh) report(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, why)
	if s.life.Err() == nil {
		s.exited <- why
	}
}

func (s *ssh) Missing(context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.ended, "\n")
}

func (s *ssh) End(ctx context.Context) error {
	s.stop() // closes the standard inputs
	patience, stop := context.WithTimeout(ctx, grace)
	defer stop()
	context.AfterFunc(patience, s.kill)
	s.running.Wait()
	_, err := s.onHosts(ctx, nil, removeScript)
	return err
}

func (s *ssh) clean(ctx context.Context) ([]string, error) {
	s.Name = "zkbench-*"
	return s.onHosts(ctx, nil, removeScript)
}

// onHosts runs a script once on each host, in parallel, and returns the words that it prints, each with its host.
func (s *ssh) onHosts(ctx context.Context, stdin []byte, script string) ([]string, error) {
	hosts := list.Distinct(s.hosts)
	words, errs := make([][]string, len(hosts)), make([]error, len(hosts))
	var wg sync.WaitGroup
	for i, host := range hosts {
		wg.Go(func() {
			cmd := s.command(ctx, host, script)
			cmd.Stdin = bytes.NewReader(stdin)
			out, err := output(ctx, cmd)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w (does `ssh %s true` work without a password?)", host, err, host)
			}
			words[i] = list.Map(strings.Fields(out), func(word string) string { return host + ":" + word })
		})
	}
	wg.Wait()
	return slices.Concat(words...), errors.Join(errs...)
}

// command prepares a script on a host. It may share an existing connection, which then outlives it, but makes none. All else is in the
// user's ~/.ssh/config.
func (s *ssh) command(ctx context.Context, host, script string) *exec.Cmd {
	return command(ctx, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ControlMaster=no",
		"-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", host, "exec sh -c "+quote(fmt.Sprintf(beginScript, s.Name)+script))
}

// quote returns a word of a shell for any text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
