package ensemble

import (
	"net/netip"
	"syscall"
)

// reservePort binds the port of a killed server, and returns a function that frees it. Connections to the port are refused, as
// no socket listens on it.
//
// Note: the ports of servers are in the range from which the kernel takes the local ports of outgoing connections. Without the
// reservation, a client that connects to another server could get the port, and the killed server could not start again. The
// reservation is best effort: if it is not possible, the port is just not reserved.
func reservePort(addr string) (free func()) {
	none := func() {}
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return none
	}
	syscall.ForkLock.RLock() // no child may inherit the socket
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return none
	}
	// Connections of the killed server may still be closing. They do not prevent an address from being used again.
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	}
	if err != nil {
		_ = syscall.Close(fd)
		return none
	}
	return func() { _ = syscall.Close(fd) }
}
