package launch_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// network is some hosts and the machine. A host is a set of namespaces (network, mount, UTS, PID, and time if it has another clock) with
// sshd, over a copy-on-write view of the machine's own files. In a network of their own the machine is the controller, so that a test
// listens and dials itself:
//
//	machine (the test) ── veth ── bridge, in a namespace ── veth ── host0
//	                                                     └─ veth ── host1
type network struct {
	controller string // IP address of the machine, which all hosts reach
	sshConfig  string // knows the names, the key and the hosts' keys; the ssh of this test and of its processes reads it
	hosts      []host
	dir        string
	subnet     string // "198.18.7."
}

type host struct {
	name    string // for ssh, and within the hosts
	address string // IP address, which the machine and all hosts reach
	pid     string // of its first process, as the machine sees it
	clock   bool   // it has a time namespace
}

// command prepares a command that runs within the host, as root.
func (h host) command(ctx context.Context, args ...string) *exec.Cmd {
	enter := []string{"-t", h.pid, "-m", "-u", "-n", "-p", "-r", "-w"}
	if h.clock {
		enter = append(enter, "-T")
	}
	return exec.CommandContext(ctx, "nsenter", slices.Concat(enter, []string{"--"}, args)...)
}

// startHosts starts hosts, which end with the test. Ahead is how far the monotonic clocks of some are ahead of the machine's. It skips
// the test where live tests are off, or where there can be no hosts: see [ensembletest.Require].
func startHosts(t testing.TB, number int, ahead map[int]time.Duration) *network {
	t.Helper()
	ensembletest.Require(t, hostsAvailable())
	n := &network{dir: t.TempDir()}
	bridge := n.bridge(t)
	for _, key := range []string{"key", "hostkey"} {
		must.Do(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", n.dir+"/"+key).Run())
	}
	names := "127.0.0.1 localhost\n"
	for i := range number {
		n.hosts = append(n.hosts, host{name: fmt.Sprintf("host%d", i), address: fmt.Sprintf("%s%d", n.subnet, 10+i)})
		names += n.hosts[i].address + " " + n.hosts[i].name + "\n"
	}
	n.write(t, "hosts", names)
	for i := range n.hosts {
		n.start(t, &n.hosts[i], bridge, ahead[i])
	}
	n.configure(t)
	return n
}

func hostsAvailable() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: hosts in namespaces need root", ensemble.ErrUnavailable)
	}
	for _, command := range []string{"ip", "unshare", "nsenter", "ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%w: %s is missing: install iproute2, util-linux and openssh-server", ensemble.ErrUnavailable, command)
		}
	}
	return nil
}

// claimScript makes a namespace that is joined with the machine, or nothing. Either name may be another test's, or one whose end has begun.
const claimScript = `ip netns add $1 && { ip link add $1 type veth peer name machine netns $1 || ! ip netns del $1; }`

// bridge makes a namespace with a bridge, joins the machine with it, and returns its name. The name is that of the subnet, so that two
// tests do not have the same one. The addresses are those for benchmarks between networks (RFC 2544), which no other network has.
func (n *network) bridge(t testing.TB) (name string) {
	for err, tries := os.ErrExist, 0; err != nil; tries++ {
		n.subnet = fmt.Sprintf("198.18.%d.", rand.IntN(256))
		name = "zk" + strings.Trim(n.subnet, ".") // an interface has up to 15 letters
		if err = exec.Command("sh", "-c", claimScript, "sh", name).Run(); tries > 50 {
			t.Fatalf("no network %s could be made: %v", name, err)
		}
	}
	n.controller, n.sshConfig = n.subnet+"1", n.dir+"/ssh_config"
	script(t, `ip -n $1 link add br0 type bridge; ip -n $1 link set br0 up; ip -n $1 link set machine master br0 up
ip addr add $2/24 dev $1; ip link set $1 up`, name, n.controller)
	return name
}

// script runs a script as part of what prepares a namespace, which its first argument names and which ends with the test. Interfaces
// end with it, but later: the one that is the machine's ends at once.
func script(t testing.TB, text string, args ...string) {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("sh", "-c", "ip link del $1; ip netns del $1", "sh", args[0]).Run() })
	if out, err := exec.Command("sh", append([]string{"-ec", text, "sh"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("prepare %s: %v: %s", args[0], err, out)
	}
}

// start starts a host, and waits until its sshd listens.
func (n *network) start(t testing.TB, h *host, bridge string, ahead time.Duration) {
	name := bridge + "-" + h.name
	script(t, `ip netns add $1; ip link add eth0 netns $1 type veth peer name $3 netns $2; ip -n $2 link set $3 master br0 up
ip -n $1 addr add $4/24 dev eth0; ip -n $1 link set eth0 up; ip -n $1 link set lo up`, name, bridge, h.name, h.address)
	args := []string{"netns", "exec", name, "unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"}
	if h.clock = ahead != 0; h.clock {
		seconds := fmt.Sprint(int(ahead.Seconds()))
		args = append(args, "--time", "--monotonic", seconds, "--boottime", seconds)
	}
	cmd := exec.Command("ip", append(args, "sh", "-ec", hostScript, "sh", n.dir, h.name)...)
	cmd.SysProcAttr = ensemble.ChildAttributes()
	log := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its child ends with it, and all processes of the host with that
		_ = cmd.Wait()
	})
	lines, text := bufio.NewScanner(log), ""
	for !strings.Contains(text, "Server listening on") {
		if !lines.Scan() {
			t.Fatalf("%s did not start:\n%s", h.name, text)
		}
		text += lines.Text() + "\n"
	}
	go io.Copy(io.Discard, log) // ends with the host
	pid := cmd.Process.Pid
	h.pid = strings.TrimSpace(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))(t)))
}

// hostScript makes the files of a host: what it writes is in memory. Its home and temporary folders begin empty.
const hostScript = `mount --make-rprivate /
mkdir "$1/$2"; mount -t tmpfs tmpfs "$1/$2"; cd "$1/$2"; mkdir upper work merged
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work merged
cd merged; mkdir -p proc sys dev run tmp root
mount -t proc proc proc; mount --rbind /sys sys; mount --rbind /dev dev
for d in run tmp root; do mount -t tmpfs tmpfs $d; done
mkdir run/sshd run/keys; cp "$1/hostkey" "$1/key.pub" run/keys; cp "$1/hosts" etc/hosts; hostname "$2"
exec chroot . /usr/sbin/sshd -D -e -f /dev/null -h /run/keys/hostkey -o AuthorizedKeysFile=/run/keys/key.pub \
  -o StrictModes=no -o PidFile=none -o UsePAM=no -o MaxStartups=100 -o PermitRootLogin=prohibit-password`

// configure makes ssh know the hosts.
func (n *network) configure(t testing.TB) {
	hostKey := string(must.Get(os.ReadFile(n.dir + "/hostkey.pub"))(t))
	var config, known strings.Builder
	for _, h := range n.hosts {
		fmt.Fprintf(&config, "Host %s\n  HostName %s\n", h.name, h.address)
		fmt.Fprintf(&known, "%s %s", h.address, hostKey)
	}
	fmt.Fprintf(&config, "Host *\n  User root\n  IdentityFile %s/key\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known_hosts\n"+
		"  StrictHostKeyChecking yes\n  LogLevel ERROR\n", n.dir, n.dir)
	n.write(t, "known_hosts", known.String())
	n.write(t, "ssh_config", config.String())
	// The users of ssh choose no configuration.
	ssh := must.Get(exec.LookPath("ssh"))(t)
	must.Do(t, os.Mkdir(n.dir+"/bin", 0o700))
	must.Do(t, os.WriteFile(n.dir+"/bin/ssh", fmt.Appendf(nil, "#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, n.sshConfig), 0o700))
	t.Setenv("PATH", n.dir+"/bin:"+os.Getenv("PATH"))
}

func (n *network) write(t testing.TB, name, text string) {
	must.Do(t, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600))
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func uptime(t *testing.T, text string) float64 {
	t.Helper()
	first, _, _ := strings.Cut(text, " ")
	return must.Get(strconv.ParseFloat(first, 64))(t)
}

// The hosts are reached by ssh, reach each other and the machine, have their own files and processes, and one has its own clock.
func TestLiveHosts(t *testing.T) {
	n := startHosts(t, 3, map[int]time.Duration{2: 100_000 * time.Second})
	for _, h := range n.hosts {
		got := output(t, exec.CommandContext(t.Context(), "ssh", h.name, "hostname; echo x >/etc/zkbench-test; ls ~"))
		if got != h.name {
			t.Errorf("ssh %s says %q, want its name and an empty home", h.name, got)
		}
	}
	if _, err := os.Stat("/etc/zkbench-test"); err == nil {
		t.Error("a host wrote to the files of the machine")
	}
	script := "exec 3<>/dev/tcp/host1/22 && read -r line <&3 && echo $line"
	if got := output(t, n.hosts[0].command(t.Context(), "bash", "-c", script)); !strings.HasPrefix(got, "SSH-2.0") {
		t.Errorf("host0 reads %q from host1", got)
	}
	if got := output(t, n.hosts[0].command(t.Context(), "sh", "-c", "ls -d /proc/[0-9]* | wc -l")); len(got) > 1 {
		t.Errorf("host0 sees %s processes", got)
	}
	here := uptime(t, string(must.Get(os.ReadFile("/proc/uptime"))(t)))
	for i, ahead := range []float64{0, 0, 100_000} {
		there := uptime(t, output(t, n.hosts[i].command(t.Context(), "cat", "/proc/uptime")))
		if delta := there - here - ahead; delta < -1 || delta > 3600 {
			t.Errorf("host%d is up %.0f s and the machine %.0f s, want %.0f s more", i, there, here, ahead)
		}
	}
	l := must.Get(net.Listen("tcp", n.controller+":0"))(t)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must.Do(t, err)
	client := n.hosts[1].command(t.Context(), "bash", "-c", "echo hello >/dev/tcp/"+n.controller+"/"+port)
	must.Do(t, client.Start())
	conn := must.Get(l.Accept())(t)
	defer conn.Close()
	text := make([]byte, 6)
	if _, err := conn.Read(text); err != nil || string(text) != "hello\n" {
		t.Errorf("the machine reads %q from host1: %v", text, err)
	}
	must.Do(t, client.Wait())
}
