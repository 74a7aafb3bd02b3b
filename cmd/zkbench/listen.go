package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// listenAddress returns the address of a flag to listen on: on loopback unless a host is given.
func listenAddress(flag, text string) (string, error) {
	addr := strings.TrimSpace(text)
	if _, err := strconv.Atoi(addr); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return "", usage(fmt.Errorf("--%s %s: wants a port such as 9464, or host:port", flag, text))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
