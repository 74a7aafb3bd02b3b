package scenarios_test

import (
	"reflect"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// The description of the servers is added to that of the machine. ZooKeeper is not named, so that documents equal older ones.
func TestEnvironmentOf(t *testing.T) {
	config := map[string]string{"a": "1"}
	machine := results.Environment{CPU: "EPYC", OS: "debian"}
	for _, tt := range []struct {
		servers ensemble.Description
		want    results.Environment
	}{
		{
			ensemble.Description{Engine: ensemble.Container, Product: ensemble.ZooKeeper, Version: "3.9.3", Image: "zookeeper", TxnLog: "/a", Config: config},
			results.Environment{Engine: "container", ZooKeeper: "3.9.3", Image: "zookeeper", TxnLog: "/a", ServerConfig: config, CPU: "EPYC", OS: "debian"},
		},
		{
			ensemble.Description{Engine: ensemble.External, Product: "ClickHouse Keeper", Version: "26.7", TLS: true, Auth: "digest"},
			results.Environment{Engine: "external", Product: "ClickHouse Keeper", ZooKeeper: "26.7", TLS: true, Auth: "digest", CPU: "EPYC", OS: "debian"},
		},
	} {
		if got := scenarios.EnvironmentOf(machine, tt.servers); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
}
