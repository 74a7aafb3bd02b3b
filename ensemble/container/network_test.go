package container

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// ranges is a docker command whose networks get the addresses in the lines of a file, one after the other. It logs its
// arguments.
const ranges = `echo "$2 $(eval echo \"\${$#}\")" >>log
case "$2" in
create) echo n1 ;;
inspect) head -n 1 subnets && sed -i 1d subnets ;;
esac
`

// The addresses of the quorum network are free ones that the engine chooses. Others may take them before they are used.
func TestWithAddresses(t *testing.T) {
	taken := errors.New("Pool overlaps with other one on this address space")
	for _, tt := range []struct {
		name    string
		subnets []string
		answers []error // of up
		want    []string
		fails   string
	}{
		{"a large range", []string{"172.20.0.0/16"}, []error{nil}, []string{"172.20.0"}, ""},
		{"a part of a range", []string{"192.168.16.0/20"}, []error{nil}, []string{"192.168.16"}, ""},
		{"taken meanwhile", []string{"10.0.1.0/24", "10.0.2.0/24"}, []error{taken, nil}, []string{"10.0.1", "10.0.2"}, ""},
		{"taken again and again", slices.Repeat([]string{"10.0.1.0/24"}, 9), slices.Repeat([]error{taken}, 9), slices.Repeat([]string{"10.0.1"}, mostTaken), "overlaps"},
		{"another error", []string{"10.0.1.0/24"}, []error{errors.New("no space left")}, []string{"10.0.1"}, "no space left"},
		{"a small range", []string{"10.0.1.0/28"}, nil, nil, `network n1 has the addresses "10.0.1.0/28", and zkbench needs 256 of IPv4`},
		{"not IPv4", []string{"fd00::/64"}, nil, nil, `has the addresses "fd00::/64"`},
		{"no range", []string{""}, nil, nil, `has the addresses ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := FakeDocker(t, ranges, map[string]string{"subnets": strings.Join(tt.subnets, "\n") + "\n"})
			var got []string
			err := withAddresses(t.Context(), "x", func(beginning string) error {
				got = append(got, beginning)
				return tt.answers[len(got)-1]
			})
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("begun with %q, %v; want %q and the error %q", got, err, tt.want, tt.fails)
			}
			probe := []string{"create zkbench-x_range", "inspect n1", "rm n1"}
			if want := slices.Repeat(probe, max(len(tt.want), 1)); !slices.Equal(log(), want) {
				t.Errorf("docker network was called with %q, want %q", log(), want)
			}
		})
	}
}
