package container

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

const mostTaken = 5

// withAddresses calls up with the beginning of free addresses for the quorum network. It tries others if these are taken meanwhile,
// such as by a second zkbench that starts an ensemble.
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

// freeAddresses returns the beginning, such as "172.20.0", of 256 addresses that are not in use by another network of the Docker
// engine or of the machine. The engine gives fixed addresses only in a range that the user chose, so freeAddresses creates a network,
// reads its range, and removes it.
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
