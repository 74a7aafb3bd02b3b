// Package drivers runs programs through which clients of libraries in other languages take part in a recipe.
//
// It takes one position: zkbench relies on a driver only for whether a call has returned. Requests are counted on their way to
// the servers, and times are taken at the pipe. A driver is one process with all clients of a measurement, each with its own
// session, so that 50 clients of a Java library do not need 50 virtual machines. docs/drivers.md describes the protocol, which
// Driver.java and driver.py implement for the programs of their languages.
package drivers

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/screen"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/variants"
)

// Process is a running driver. Its methods may be called concurrently.
type Process struct {
	name    string
	command *exec.Cmd
	dir     string        // with the program, unless it is a user's own, and with its compiled form
	ended   chan struct{} // closed when the process has ended and nothing more is read

	writing sync.Mutex
	calls   io.WriteCloser

	mu      sync.Mutex
	replies map[string]chan reply // by the client that waits
	failure error                 // why further calls fail
}

type reply struct {
	result string
	err    error
}

// protocol has the files that the programs of a language share.
//
//go:embed *.java *.py
var protocol embed.FS

// Start starts a driver, whose program is in code, or is the user's own file. The context bounds the start only: Close ends
// the process.
func Start(ctx context.Context, code fs.FS, d variants.Driver) (*Process, error) {
	platform, err := platformOf(d.Program)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zkbench-driver-")
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, platform, code, d, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", path.Base(d.Program), err), os.RemoveAll(dir))
	}
	return p, nil
}

func start(ctx context.Context, platform platform, code fs.FS, d variants.Driver, dir string) (*Process, error) {
	file := d.Program
	if !path.IsAbs(file) {
		if err := unpack(code, path.Dir(file), dir); err != nil {
			return nil, err
		}
		file = filepath.Join(dir, path.Base(file))
	}
	command, err := platform.prepare(ctx, file, dir)
	if err != nil {
		return nil, err
	}
	args := slices.Concat(command, d.Args)
	return run(path.Base(d.Program), dir, exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...))
}

func unpack(code fs.FS, programs, dir string) error {
	own, err := fs.Sub(code, programs)
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(dir, own), os.CopyFS(dir, protocol))
}

func run(name, dir string, command *exec.Cmd) (*Process, error) {
	p := &Process{name: name, dir: dir, command: command, ended: make(chan struct{}), replies: map[string]chan reply{}}
	var complaints ensemble.Tail
	command.Stderr, command.SysProcAttr = &complaints, ensemble.ChildAttributes() // Ctrl-C must not end it before its sessions are closed
	answers, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.calls, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.read(answers)
		err := cmp.Or(command.Wait(), errors.New("exit status 0"))
		last := ""
		if len(complaints) > 0 {
			last = ": " + strings.TrimSpace(table.Printable(string(complaints)))
		}
		p.fail(fmt.Errorf("%s has ended (%w)%s", name, err, last))
	}()
	return p, nil
}

func (p *Process) read(answers io.Reader) {
	lines := bufio.NewScanner(answers)
	for lines.Scan() {
		client, rest, _ := strings.Cut(lines.Text(), " ")
		outcome, text, _ := strings.Cut(rest, " ")
		switch outcome {
		case "ok":
			p.answer(client, reply{result: text})
		case "error":
			p.answer(client, reply{err: errors.New(quoted(text))})
		case "closed":
			p.answer(client+closing, reply{})
		default:
			p.fail(fmt.Errorf(`%s wrote "%s" to standard output, which is only for answers, such as "0.0 ok": `+
				"write to standard error instead", p.name, quoted(lines.Text())))
		}
	}
	if err := lines.Err(); err != nil {
		p.fail(fmt.Errorf("%s wrote an answer that cannot be read (%w): end it by a line feed within %d bytes",
			p.name, err, bufio.MaxScanTokenSize))
	}
	_, _ = io.Copy(io.Discard, answers) // so that it is not blocked before it ends
}

// quoted returns the beginning of a driver's text, escaped.
func quoted(text string) string { return screen.Shortened(table.Escaped(text), 300) }

// closing follows the name of a client whose session is being closed, while another call of it may wait.
const closing = " closing"

func (p *Process) answer(client string, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting := p.replies[client]; waiting != nil {
		waiting <- r
		delete(p.replies, client)
	}
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = cmp.Or(p.failure, err)
	for client, waiting := range p.replies {
		waiting <- reply{err: p.failure}
		delete(p.replies, client)
	}
}

// Client returns a client by its name, which has no space.
func (p *Process) Client(name string) *Client { return &Client{p, name} }

// Client is one client in a driver.
type Client struct {
	process *Process
	name    string
}

// Call sends a verb, with optional arguments, to the client and waits for the answer; see [variants.Caller].
func (c *Client) Call(ctx context.Context, verb string) (string, error) {
	return c.process.call(ctx, c.name, c.name+" "+verb)
}

// Close closes the client's session. It may be called while another call waits, such as an abandoned one, which then fails.
func (c *Client) Close(ctx context.Context) error {
	_, err := c.process.call(ctx, c.name+closing, c.name+" close")
	return err
}

func (p *Process) call(ctx context.Context, name, line string) (string, error) {
	answered, err := p.expect(name)
	if err != nil {
		return "", err
	}
	p.writing.Lock()
	_, _ = io.WriteString(p.calls, line+"\n") // it fails only if the process has ended, and all calls then return the reason
	p.writing.Unlock()
	select {
	case r := <-answered:
		return r.result, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (p *Process) expect(client string) (<-chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return nil, p.failure
	}
	if p.replies[client] != nil {
		return nil, fmt.Errorf("%s: client %s has not answered the call before", p.name, client)
	}
	answered := make(chan reply, 1)
	p.replies[client] = answered
	return answered, nil
}

// startTimeout is how long a driver may take until it answers, such as a JVM on a busy machine.
const startTimeout = time.Minute

// Ping returns the duration of each of n calls that do nothing. The pipe adds this duration to every call. The driver may just
// have been started.
func (p *Process) Ping(ctx context.Context, n int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf(
		"%s has not answered within %s: it must read a line, and write the answer at once", p.name, startTimeout))
	defer cancel()
	c := p.Client("ping")
	var took []time.Duration
	for i := range n {
		start := time.Now()
		if _, err := c.Call(ctx, "ping "+strconv.Itoa(i)); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// endTimeout is how long a driver may take to end when its pipe is closed.
const endTimeout = 5 * time.Second

// Close ends the process, and removes its program.
func (p *Process) Close() error {
	_ = p.calls.Close()
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
		_ = ensemble.SignalGroup(p.command.Process, syscall.SIGKILL)
		select {
		case <-p.ended:
		case <-time.After(endTimeout): // a child that has left its group keeps the pipe open
		}
	}
	return os.RemoveAll(p.dir)
}
