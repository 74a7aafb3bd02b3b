package container

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
)

// The official image splits ZOO_CFG_EXTRA at spaces. With TLS, the servers have no client port without it.
func TestEnvironment(t *testing.T) {
	const tls = " secureClientPort=2181 serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory ssl.keyStore.location=/zkbench/server.pem " +
		"ssl.keyStore.type=PEM ssl.trustStore.location=/zkbench/ca.pem ssl.trustStore.type=PEM ssl.clientAuth=need"
	const digest = " enforce.auth.enabled=true enforce.auth.schemes=digest"
	for protection, want := range map[string][]string{
		"tls=false,digest=false": {"ZKBENCH_PROTECTION=tls=false,digest=false"},
		"tls=false,digest=true":  {"ZKBENCH_PROTECTION=tls=false,digest=true", "ZKBENCH_CFG_EXTRA=" + digest},
		"tls=true,digest=false":  {"ZKBENCH_PROTECTION=tls=true,digest=false", "ZKBENCH_CLIENT_PORT=", "ZKBENCH_CFG_EXTRA=" + tls},
		"tls=true,digest=true":   {"ZKBENCH_PROTECTION=tls=true,digest=true", "ZKBENCH_CLIENT_PORT=", "ZKBENCH_CFG_EXTRA=" + tls + digest},
	} {
		if got := environment(ensemble.ParseProtection(protection, "")); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", protection, got, want)
		}
	}
}

// Servers get their certificates and no key of clients, in files that any user of the container can read. An image without Netty is
// refused.
func TestCopyCertificates(t *testing.T) {
	const engine = `case "$1 $2" in
"ps -a") echo c1; echo c2 ;;
"cp -") echo "$3" >>log; tar -tvf - | sed 's/ .* / /' >>log ;;
"cp c"*) cat entrypoint ;;
esac`
	p := must.Get(ensemble.Options{TLS: true, Digest: true}.Protect(filepath.Join(t.TempDir(), "x")))(t)
	files := []string{"-r--r--r-- zkbench/ca.pem", "-r--r--r-- zkbench/server.pem"}
	for entryPoint, refused := range map[string]bool{
		string(must.Get(os.ReadFile("image/docker-entrypoint.sh"))(t)):            false,
		"java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar": true,
		"zkServer.sh start-foreground":                                            false,
	} {
		log := FakeDocker(t, engine, map[string]string{"entrypoint": entryPoint})
		err := copyCertificates(t.Context(), "x", "old:1", p)
		if refused {
			if err == nil || !strings.Contains(err.Error(), "`docker rmi old:1`") {
				t.Errorf("error = %v, want it to name the old image", err)
			}
			continue
		}
		if want := slices.Concat([]string{"c1:/"}, files, []string{"c2:/"}, files); err != nil || !slices.Equal(log(), want) {
			t.Errorf("%v, copied %q, want %q", err, log(), want)
		}
	}
}

// An ensemble whose files are elsewhere is up, but this user cannot use it.
func TestFindWithoutCertificates(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const engine = `case "$1" in
ps) echo c1; echo c2; echo c3 ;;
inspect) for i in 1 2 3; do echo "zoo$i c$i image:1 kept disk tls=true,digest=false running p p_clients,p_quorum, 1234$i"; done ;;
esac`
	FakeDocker(t, engine, map[string]string{})
	if _, err := Find(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `ensemble "x": the servers are up with TLS`) {
		t.Errorf("error = %v, want it to name the missing files", err)
	}
	must.Get(ensemble.Options{TLS: true}.Protect(stateDir("x")))(t)
	e := must.Get(Find(t.Context(), "x"))(t)
	if !e.Protection.TLS || e.Servers()[2].Dialer == nil || !slices.Contains(e.AccessFlags(), "--tls-ca") {
		t.Errorf("found with %+v, flags %q", e.Protection, e.AccessFlags())
	}
}
