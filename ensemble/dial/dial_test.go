package dial_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

// script is a listener and a dialer with an error for each attempt; nil is a connection. Afterwards, it is closed.
type script struct {
	net.Listener
	errs []error
}

func (s *script) Accept() (net.Conn, error) {
	if len(s.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	if err != nil {
		return nil, &net.OpError{Op: "open", Net: "tcp", Err: os.NewSyscallError("socket", err)}
	}
	client, _ := dial.Pipe()
	return client, nil
}

func (s *script) DialContext(context.Context, string, string) (net.Conn, error) { return s.Accept() }

// An error of this process or machine says so, and what to raise. An error of the server does not.
func TestErrorsOfTheOwnProcess(t *testing.T) {
	for err, own := range map[error]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true, syscall.EADDRNOTAVAIL: true,
		syscall.ECONNREFUSED: false, syscall.ECONNRESET: false, syscall.ETIMEDOUT: false, syscall.EHOSTUNREACH: false,
	} {
		_, got := dial.To(t.Context(), &script{errs: []error{err}}, "192.0.2.1:2181")
		if errors.Is(got, dial.ErrOwnLimit) != own || !errors.Is(got, err) || strings.Contains(got.Error(), "ulimit -n") != own {
			t.Errorf("%v: %v", err, got)
		}
	}
	if conn, err := dial.To(t.Context(), &script{errs: []error{nil}}, "192.0.2.1:2181"); conn == nil || err != nil {
		t.Error(conn, err)
	}
}

// A listener without files for further connections goes on, and each time that it runs out is one error.
func TestAcceptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := error(syscall.EMFILE)
		var failures []error
		served := 0
		dial.Accept(&script{errs: []error{nil, none, none, none, nil, nil, none, nil}},
			func(err error) { failures = append(failures, err) }, func(net.Conn) { served++ })
		if served != 4 || len(failures) != 2 || !errors.Is(failures[0], dial.ErrOwnLimit) {
			t.Errorf("served %d, failures %v", served, failures)
		}
	})
}

// The destination of a listener on all addresses is one that clients can use.
func TestDestination(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "127.0.0.1:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // such as without IPv6
			continue
		}
		defer listener.Close()
		at := dial.Destination(listener.Addr())
		host, _, _ := net.SplitHostPort(at)
		if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() != strings.HasPrefix(address, "127.") || host == "" || ip.IsUnspecified() {
			t.Errorf("%s: %s is not a destination of other machines", address, at)
		}
		must.Get(dial.To(t.Context(), nil, at))(t).Close()
	}
	if at := dial.Destination(&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 2181}); at != "[2001:db8::1]:2181" {
		t.Error(at)
	}
}

// Sessions ask after each read whether its error lasts, and most reads have none.
func TestIsLastingAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { dial.IsLasting(nil) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
	if !dial.IsLasting(dial.Refused(true, "no")) || !dial.IsLasting(dial.ErrOwnLimit) || dial.IsLasting(syscall.ECONNREFUSED) {
		t.Error("a refusal and a limit of zkbench last, and a refused connection does not")
	}
}
