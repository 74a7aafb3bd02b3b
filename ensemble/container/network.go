package container

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// mostTaken is how often in a row others may take the addresses that were free just before.
const mostTaken = 5

// withAddresses calls up with the beginning of free addresses for the quorum network, and again with others if these have been taken
// meanwhile, such as by a second zkbench that starts an ensemble.
func withAddresses(ctx context.Context, name string, up func(beginning string) error) error {
	for taken := 1; ; taken++ {
		beginning, err := freeAddresses(ctx, name)
		if err == nil {
			err = up(beginning)
		}
		if err == nil || taken == mostTaken || !strings.Contains(err.Error(), "overlaps") {
			return err
		}
	}
}

// freeAddresses returns how the 256 addresses of a network begin that no other network of the Docker engine or of the machine has,
// such as "172.20.0". The engine gives fixed addresses only in a range that the user chose, so it is asked for one by a network that
// is removed again.
func freeAddresses(ctx context.Context, name string) (beginning string, err error) {
	id, err := docker(ctx, "network", "create", "--internal", "--label", nameLabel+"="+name, "zkbench-"+name+"_range")
	if err != nil {
		return "", err
	}
	id = strings.TrimSpace(id)
	subnet, err := subnetOf(ctx, id)
	if _, err := docker(context.WithoutCancel(ctx), "network", "rm", id); err != nil {
		return "", err
	}
	return strings.TrimSuffix(subnet.Addr().String(), ".0"), err
}

// subnetOf returns the addresses of a network.
func subnetOf(ctx context.Context, network string) (netip.Prefix, error) {
	out, err := docker(ctx, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Subnet}}", network)
	if err != nil {
		return netip.Prefix{}, err
	}
	subnet, err := netip.ParsePrefix(strings.TrimSpace(out))
	if err != nil || !subnet.Addr().Is4() || subnet.Bits() > 24 {
		return netip.Prefix{}, fmt.Errorf("network %s has the addresses %q, and zkbench needs 256 of IPv4", network, strings.TrimSpace(out))
	}
	return subnet.Masked(), nil
}

// quorumAddress returns the address of a server by its id in the network by which the servers reach each other, as compose.yaml
// has it: the first is the gateway's.
func quorumAddress(subnet netip.Prefix, id int) string {
	a := subnet.Addr().As4()
	a[3] = byte(1 + id)
	return netip.AddrFrom4(a).String()
}
