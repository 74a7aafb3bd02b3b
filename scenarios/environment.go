package scenarios

import (
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// EnvironmentOf adds the description of the servers, which lacks their addresses, to the environment that describes the machine.
func EnvironmentOf(machine results.Environment, servers ensemble.Description) results.Environment {
	e := machine
	e.Engine, e.Image, e.TxnLog, e.ServerConfig = string(servers.Engine), servers.Image, servers.TxnLog, servers.Config
	e.ZooKeeper, e.TLS, e.Auth = servers.Version, servers.TLS, servers.Auth
	if servers.Product != ensemble.ZooKeeper { // left out, as in documents of a zkbench that knew no other product
		e.Product = servers.Product
	}
	return e
}
