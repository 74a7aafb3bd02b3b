package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// limitedObserve starts `zkbench observe` in a process that may open few files, and returns its address and what it says. stop interrupts
// it and returns its report.
func limitedObserve(t *testing.T, files, server string) (address string, said *lockedBuffer, stop func() string) {
	t.Helper()
	own := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -n "+files+`; exec "$0" "$@"`, own, "observe", "--servers", server)
	cmd.Env = append(os.Environ(), asBinary+"=1")
	var report lockedBuffer
	said = &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = &report, said
	must.Do(t, cmd.Start())
	awaitText(t, said, "point the application at ")
	_, rest, _ := strings.Cut(said.String(), "point the application at ")
	address, _, _ = strings.Cut(rest, "\n")
	return address, said, func() string {
		must.Do(t, cmd.Process.Signal(os.Interrupt))
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		return report.String()
	}
}

// visit returns a connection over which a server has answered. A reset may come before the dial returns.
func visit(address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err = exchange(conn); err != nil {
		conn.Close()
	}
	return conn, err
}

func exchange(conn net.Conn) error {
	_, err := conn.Write([]byte("ruok"))
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 4))
	}
	return err
}

// A process with few files says at the start how many clients fit. A further one is reset, which is said while it observes, as a limit of
// zkbench and not of the server. The others go on, and clients are served again once there is room.
func TestObserveWithFewFiles(t *testing.T) {
	server := ensembletest.Listen(t, func(conn net.Conn) {
		for asked := make([]byte, 4); ; {
			if _, err := io.ReadFull(conn, asked); err != nil || string(asked) != "ruok" { // srvr is not allowed
				return
			}
			_, _ = conn.Write(asked)
		}
	})
	address, said, stop := limitedObserve(t, "40", server)
	fit := regexp.MustCompile(`zkbench may open 40 files, and (\d+) clients fit`).FindStringSubmatch(said.String())
	if fit == nil {
		t.Fatalf("not said how many clients fit: %s", said)
	}
	most := must.Get(strconv.Atoi(fit[1]))(t)
	var served []net.Conn
	for range 20 {
		if conn, err := visit(address); err == nil {
			defer conn.Close()
			served = append(served, conn)
		}
	}
	if len(served) != most || most < 5 {
		t.Fatalf("%d clients of 20 are served, and %d fit", len(served), most)
	}
	awaitText(t, said, "a client is reset, and may try again: zkbench may open 40 files")
	for _, conn := range served {
		must.Do(t, exchange(conn))
	}
	served[0].Close()
	ensembletest.Await(t, func() string {
		conn, err := visit(address)
		if err != nil {
			return err.Error()
		}
		conn.Close()
		return ""
	})
	report := stop()
	hasAll(t, report, "connections for which zkbench or this machine had no file, port or memory: ")
	if text := said.String() + report; strings.Contains(text, "did not take") || strings.Count(said.String(), "a client is reset") != 1 {
		t.Errorf("a fault of the server, or more than one message:\n%s", text)
	}
}
