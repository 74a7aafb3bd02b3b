package external_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/external"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		connect   string
		addresses []string
		chroot    string
	}{
		{"zk1:2181", []string{"zk1:2181"}, ""},
		{"zk1:2181, zk2:2182", []string{"zk1:2181", "zk2:2182"}, ""},
		{"zk1:2181,zk2:2182/bench", []string{"zk1:2181", "zk2:2182"}, "/bench"},
		{"zk1:2181/a/b-c.d/ü", []string{"zk1:2181"}, "/a/b-c.d/ü"},
		{"[::1]:2181,[fe80::1]:2181/bench", []string{"[::1]:2181", "[fe80::1]:2181"}, "/bench"},
		{"zk1:2181/", []string{"zk1:2181"}, ""},
		{"zk1:2181/zookeepers", []string{"zk1:2181"}, "/zookeepers"},
		{"127.0.0.1:2181,127.0.0.1:2182", []string{"127.0.0.1:2181", "127.0.0.1:2182"}, ""},
	} {
		got, err := external.Parse(tt.connect)
		if err != nil || !slices.Equal(got.Addresses, tt.addresses) || got.Chroot != tt.chroot {
			t.Errorf("Parse(%q) = %+v, %v; want %q and %q", tt.connect, got, err, tt.addresses, tt.chroot)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ connect, want string }{
		{"", "missing port"},
		{"zk1", "missing port"},
		{"zk1:2181,", "missing port"},
		{"zk1:2181,,zk2:2181", "missing port"},
		{"::1:2181", "too many colons"},
		{":2181", "has no host"},
		{"/bench", "missing port"},
		{"zk1:http", "no port from 1 to 65535"},
		{"zk1:0", "no port from 1 to 65535"},
		{"zk1:70000", "no port from 1 to 65535"},
		{"zk1:2181bench", "no port from 1 to 65535"},
		{"zk1:2181,ZK1:2181", "twice"},
		{"zk1:2181/bench,zk2:2181", "after the last address"},
		{"zk1:2181/bench,zk2:2181/bench", "after the last address"},
		{"zk1:2181/bench/", "ends with a slash"},
		{"zk1:2181//bench", "empty name"},
		{"zk1:2181//", "ends with a slash"},
		{"zk1:2181/a//b", "empty name"},
		{"zk1:2181/.", "relative"},
		{"zk1:2181/a/../b", "relative"},
		{"zk1:2181/zookeeper", "belongs to ZooKeeper"},
		{"zk1:2181/zookeeper/quota", "belongs to ZooKeeper"},
		{"zk1:2181/a\x00b", "does not allow"},
		{"zk1:2181/a\xffb", "does not allow"},
		{"zk1:2181/\ue000", "does not allow"},
	} {
		if got, err := external.Parse(tt.connect); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %+v, %v; want an error that says %q", tt.connect, got, err, tt.want)
		}
	}
}
