package launch_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios/launch"
)

// The test binary is also the worker that hosts run, and the kubectl of the tests without a cluster.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "kubectl":
		os.Exit(fakeKubectl(os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == "worker":
		os.Exit(standIn(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "controller":
		os.Exit(startAndStay(os.Args[2]))
	}
	os.Exit(live.Main(m))
}

// standIn does what launch expects of `zkbench worker --join ADDRESS --token-file - WORD…`. It sends a line with the token and the words
// to the address, and ends with its standard input; the word "fail" ends it at once, "stay" never.
func standIn(args []string) int {
	in := bufio.NewReader(os.Stdin)
	token, err := in.ReadString('\n')
	conn, dialErr := net.Dial("tcp", args[1])
	if err != nil || dialErr != nil || args[0] != "--join" || args[2] != "--token-file" || args[3] != "-" {
		os.Stderr.WriteString("cannot join\n")
		return 4
	}
	host, _ := os.Hostname()
	io.WriteString(conn, strings.Join(append([]string{host, strings.TrimSpace(token)}, args[4:]...), "|")+"\n")
	if len(args) > 4 && args[4] == "fail" {
		os.Stderr.WriteString("first\nthis build is another one\n")
		return 7
	}
	io.Copy(io.Discard, in)
	if len(args) > 4 && args[4] == "stay" {
		io.Copy(io.Discard, conn) // until the controller closes it
	}
	return 0
}

func TestSet(t *testing.T) {
	for _, test := range []struct {
		text   string
		n      int
		manual bool
	}{
		{"", 0, true},
		{"4", 4, true},
		{"ssh:host1", 1, false},
		{"ssh:host1,user@host2,host1", 3, false},
		{"kubernetes:8", 8, false},
		{"kubernetes:1000", 1000, false},
	} {
		var w launch.Workers
		err := w.Set(test.text)
		if err != nil || w.N() != test.n || w.Manual() != test.manual || w.String() != test.text {
			t.Errorf("Set(%q): %q, %d workers, manual: %t, %v", test.text, w, w.N(), w.Manual(), err)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"0":               `"0" is not a number from 1 to 1000`,
		":4":              `"4" is not a number from 1 to 1000`,
		"kubernetes:":     `"" is not a number from 1 to 1000`,
		"kubernetes:1001": `"1001" is not a number from 1 to 1000`,
		"ssh:":            `"" is not the name of a host: write ssh:HOST,USER@HOST,…`,
		"ssh:a,,b":        `"" is not the name of a host: write ssh:HOST,USER@HOST,…`,
		"ssh:a, b":        `" b" is not the name of a host: write ssh:HOST,USER@HOST,…`,
		"ssh:-oProxy=x":   `"-oProxy=x" is not the name of a host: write ssh:HOST,USER@HOST,…`,
		"slurm:4":         `"slurm" starts no workers: write a number, ssh:HOST,… or kubernetes:NUMBER`,
	} {
		var w launch.Workers
		if err := w.Set(text); err == nil || err.Error() != want {
			t.Errorf("Set(%q): %v, %v, want the error %s", text, w, err, want)
		}
	}
}

// Workers that something else starts need no engine.
func TestManual(t *testing.T) {
	s, err := launch.Start(t.Context(), workers(t, "4"), launch.Job{})
	if err != nil {
		t.Fatal(err)
	}
	if text := s.Missing(t.Context()); text != "" || len(s.Exited()) > 0 {
		t.Errorf("Missing() = %q, and %d have exited", text, len(s.Exited()))
	}
	if err := s.End(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := launch.Clean(t.Context(), workers(t, "4"), launch.KubernetesOptions{}); err == nil {
		t.Error("cleans hosts that it does not know")
	}
}

func workers(t *testing.T, text string) launch.Workers {
	t.Helper()
	var w launch.Workers
	must.Do(t, w.Set(text))
	return w
}
