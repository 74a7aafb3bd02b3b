package drivers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

const asDriver = "ZKBENCH_TEST_DRIVER"

// TestMain runs a driver in place of the tests if it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv(asDriver) != "" {
		drive()
		return
	}
	os.Exit(m.Run())
}

// drive is a driver whose clients follow each call. Calls are served concurrently, so that a waiting one does not delay
// others.
func drive() {
	var output sync.Mutex
	say := func(format string, args ...any) {
		output.Lock()
		defer output.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		switch words[1] {
		case "ping":
			say("%s ok", words[0])
		case "echo":
			say("%s ok %s", words[0], strings.Join(words[2:], " "))
		case "fail":
			say("%s error it does not work", words[0])
		case "babble":
			say("hello")
		case "exit":
			fmt.Fprintln(os.Stderr, "the reason why")
			os.Exit(3)
		case "close":
			say("%s closed", words[0])
		case "odd":
			say("%s error boom \x1b[2J\u202e\xff %s", words[0], strings.Repeat("x", 1000))
		case "odd-line":
			fmt.Fprint(os.Stdout, "\x1b[2J\r\n")
		case "odd-end":
			fmt.Fprint(os.Stderr, "\x1b[2J why\n\tat line 1\n")
			os.Exit(3)
		case "windows":
			say("%s ok %s\r", words[0], strings.Join(words[2:], " "))
		case "long":
			say("%s ok %s", words[0], strings.Repeat("x", 100_000))
		case "hang":
		}
	}
}

func startOwn(t *testing.T) *Process {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "driver")
	if err := unpack(fstest.MapFS{"drivers/x.py": {Data: []byte("text")}}, "drivers", dir); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	command.Env = append(os.Environ(), asDriver+"=1")
	p, err := run("x.py", dir, command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the program is left in %s", dir)
		}
	})
	return p
}

func TestCalls(t *testing.T) {
	p := startOwn(t)
	ctx := t.Context()
	if got, err := p.Client("1").Call(ctx, "echo a b"); got != "a b" || err != nil {
		t.Errorf("echo: %q, %v", got, err)
	}
	if got, err := p.Client("1").Call(ctx, "echo"); got != "" || err != nil {
		t.Errorf("echo of nothing: %q, %v", got, err)
	}
	if _, err := p.Client("1").Call(ctx, "fail"); err == nil || err.Error() != "it does not work" {
		t.Errorf("a call that fails: %v", err)
	}
	if got, err := p.Client("1").Call(ctx, "windows a b"); got != "a b" || err != nil {
		t.Errorf("an answer that ends in CR LF: %q, %v", got, err)
	}
	if _, err := p.Client("1").Call(ctx, "odd"); err == nil || !strings.HasPrefix(err.Error(), `boom \u001b[2J\u202e\xff xxxx`) || len(err.Error()) > 310 {
		t.Errorf("an error with control characters: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := p.Client("2").Call(short, "hang"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that hangs: %v", err)
	}
	if _, err := p.Client("2").Call(ctx, "echo"); err == nil || !strings.Contains(err.Error(), "client 2 has not answered the call before") {
		t.Errorf("a call during a call: %v", err)
	}
	if err := p.Client("2").Close(ctx); err != nil {
		t.Errorf("a client whose call hangs cannot be closed: %v", err)
	}
	var many sync.WaitGroup
	for i := range 50 {
		many.Go(func() {
			want := fmt.Sprint(i * i)
			if got, err := p.Client(fmt.Sprint("c", i)).Call(ctx, "echo "+want); got != want || err != nil {
				t.Errorf("client %d: %q, %v", i, got, err)
			}
		})
	}
	many.Wait()
	if took, err := p.Ping(ctx, 10); len(took) != 10 || err != nil {
		t.Errorf("pings: %v, %v", took, err)
	}
}

// A driver that ends, or writes a malformed answer, fails all calls with the reason.
func TestDriverThatFails(t *testing.T) {
	for _, tt := range []struct{ verb, want string }{
		{"exit", "x.py has ended (exit status 3): the reason why"},
		{"long", "x.py wrote an answer that cannot be read (bufio.Scanner: token too long): end it by a line feed within 65536 bytes"},
		{"odd-line", `x.py wrote "\u001b[2J" to standard output, which is only for answers, such as "0.0 ok": write to standard error`},
		{"odd-end", "x.py has ended (exit status 3): \\u001b[2J why\n\tat line 1"},
		{"babble", `x.py wrote "hello" to standard output, which is only for answers`},
	} {
		p := startOwn(t)
		waits := make(chan error, 1)
		go func() {
			_, err := p.Client("waits").Call(t.Context(), "hang")
			waits <- err
		}()
		_, err := p.Client("1").Call(t.Context(), tt.verb)
		_, next := p.Client("2").Call(t.Context(), "echo")
		for i, err := range []error{err, next, <-waits} {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %d is %v, want %q", tt.verb, i, err, tt.want)
			}
		}
	}
}

// Every driver is a program that can be found, of at most 60 lines, in a language that is known, with packages that have it.
func TestEveryDriver(t *testing.T) {
	for _, r := range catalog.Recipes() {
		for _, v := range r.All() {
			if v.Driver == nil {
				continue
			}
			text, err := fs.ReadFile(r.Code, v.Driver.Program)
			if err != nil {
				t.Errorf("%s/%s: %v", r.Name, v.Name, err)
			}
			if n := strings.Count(string(text), "\n"); n > 60 {
				t.Errorf("%s/%s: %s has %d lines", r.Name, v.Name, v.Driver.Program, n)
			}
			p, err := platformOf(v.Driver.Program)
			if err != nil || len(p.needs) == 0 || v.Kind != variants.Library {
				t.Errorf("%s/%s (%s): %+v, %v", r.Name, v.Name, v.Kind, p, err)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := platform{needs: []need{
		{there, "has-a-file"}, {"sh", "has-a-program"},
		{there + "x", "has-no-file"}, {"no-such-program", "has-no-program"}, {"no-such-either", "has-no-program"},
	}}
	if got := strings.Join(p.missing(), " "); got != "has-no-file has-no-program" {
		t.Errorf("missing: %s", got)
	}
	t.Setenv("PATH", "")
	err := CheckRunnable("lock", variants.Variant{Name: "x", Driver: &variants.Driver{Program: "drivers/X.java"}})
	if err == nil || !strings.Contains(err.Error(), "lock/x is not available here: apt-get install --no-install-recommends default-jdk-headless") {
		t.Errorf("error %v", err)
	}
	if err := CheckRunnable("lock", variants.Variant{Name: "x"}); err != nil {
		t.Errorf("a variant in Go: %v", err)
	}
	if _, err := Start(t.Context(), fstest.MapFS{}, variants.Driver{Program: "x.rb"}); err == nil || !strings.Contains(err.Error(), "neither a Java nor a Python program") {
		t.Errorf("a program in another language: %v", err)
	}
}
