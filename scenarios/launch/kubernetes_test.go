package launch_test

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios/launch"
)

// kubectlVariable names the folder in which the kubectl of these tests finds its answers, and writes how it was called.
const kubectlVariable = "ZKBENCH_TEST_KUBECTL"

// fakeKubectl prints what a cluster answers: the file of that name, if there is one.
func fakeKubectl(args []string) int {
	dir := os.Getenv(kubectlVariable)
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	io.WriteString(calls, strings.Join(args, " ")+"\n")
	calls.Close()
	args = args[2:] // --context=C --namespace=N
	switch args[0] {
	case "create":
		return fakeCreate(dir)
	case "delete":
		for _, name := range args {
			if kind, name, is := strings.Cut(name, "/"); is {
				io.WriteString(os.Stdout, strings.Replace(kind, "job", "job.batch", 1)+"/"+name+"\n")
			}
		}
	case "wait":
		message, err := os.ReadFile(filepath.Join(dir, "failed"))
		if err != nil {
			never := make(chan os.Signal, 1)
			signal.Notify(never, syscall.SIGHUP)
			<-never
		}
		os.Stdout.Write(message)
	case "get":
		answer, err := os.ReadFile(filepath.Join(dir, args[3]+".json"))
		if err != nil {
			io.WriteString(os.Stderr, "Error from server (Forbidden): "+args[3]+" is forbidden\n")
			return 1
		}
		os.Stdout.Write(answer)
	}
	return 0
}

func fakeCreate(dir string) int {
	manifest, _ := io.ReadAll(os.Stdin)
	kind := "job"
	if strings.Contains(string(manifest), "kind: Secret") {
		kind = "secret"
	}
	if message, err := os.ReadFile(filepath.Join(dir, "refuse-"+kind)); err == nil {
		os.Stderr.Write(message)
		return 1
	}
	os.WriteFile(filepath.Join(dir, kind+".yaml"), manifest, 0o600)
	io.WriteString(os.Stdout, "0b4f1c3e-uid")
	return 0
}

// cluster makes kubectl the fake one, with some of the answers in testdata.
func cluster(t *testing.T, answers map[string]string) (dir string, j launch.Job) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(must.Get(os.Executable())(t), filepath.Join(bin, "kubectl")))
	t.Setenv("PATH", bin)
	t.Setenv(kubectlVariable, dir)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	for name, answer := range answers {
		text, err := os.ReadFile(filepath.Join("testdata/kubernetes", answer))
		if err != nil {
			text = []byte(answer)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir, launch.Job{Run: "r1", Join: "10.0.0.9:7700", Token: token, Args: []string{"--quiet"}, Say: func(string) {},
		Kubernetes: launch.KubernetesOptions{Image: "registry.example/zkbench:1", Context: "lab", Namespace: "bench"}}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(elem...)))(t))
}

// The Job and the Secret are created once, with the manifests that a person has reviewed, and deleted with what belongs to them.
func TestKubernetes(t *testing.T) {
	dir, j := cluster(t, nil)
	s := must.Get(launch.Start(t.Context(), workers(t, "kubernetes:3"), j))(t)
	golden.Compare(t, "testdata/kubernetes/job_plain.yaml", []byte(read(t, dir, "job.yaml")))
	golden.Compare(t, "testdata/kubernetes/secret.yaml", []byte(read(t, dir, "secret.yaml")))
	must.Do(t, s.End(t.Context()))
	if len(s.Exited()) > 0 {
		t.Errorf("an orderly end was reported: %s", <-s.Exited())
	}
	calls := read(t, dir, "calls")
	if strings.Contains(calls, token) || strings.Contains(read(t, dir, "job.yaml"), token) {
		t.Errorf("the token is in a command line or in the Job:\n%s", calls)
	}
	for _, want := range []string{
		"--context=lab --namespace=bench create --validate=strict -f - -o jsonpath={.metadata.uid}\n",
		"--context=lab --namespace=bench delete --ignore-not-found --cascade=foreground --wait --timeout=60s -o name " +
			"job/zkbench-r1 secret/zkbench-r1\n"} {
		if !strings.Contains(calls, want) {
			t.Errorf("kubectl was not called with %s:\n%s", want, calls)
		}
	}
}

func TestKubernetesOptions(t *testing.T) {
	dir, j := cluster(t, nil)
	j.Run = "Release_2026.11 of the lock that many clients contend for"
	k := &j.Kubernetes
	k.CPU, k.Memory, k.AwayFrom, k.Spread = "2", "1Gi", map[string]string{"app": "zk", "tier": "db"}, "topology.kubernetes.io/zone"
	k.Secrets = map[string]string{"zk-tls": "/etc/zk/tls", "digest.of.bench": "/etc/zk/digest"}
	s := must.Get(launch.Start(t.Context(), workers(t, "kubernetes:8"), j))(t)
	golden.Compare(t, "testdata/kubernetes/job.yaml", []byte(read(t, dir, "job.yaml")))
	must.Do(t, s.End(t.Context()))
}

// What Kubernetes' own types say of the manifests above, and of the answers that these tests give.
func TestManifestsStrictly(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
	cmd.Dir = "testdata/kubernetes"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in %s (it needs the modules of its go.mod): %v\n%s", cmd.Dir, err, out)
	}
}

func TestKubernetesRefused(t *testing.T) {
	w := workers(t, "kubernetes:3")
	dir, j := cluster(t, map[string]string{"refuse-job": "Error from server (AlreadyExists): jobs.batch \"zkbench-r1\" already exists\n"})
	_, err := launch.Start(t.Context(), w, j)
	want := `start workers kubernetes:3: kubectl: exit status 1: Error from server (AlreadyExists): jobs.batch "zkbench-r1" already exists`
	if err == nil || err.Error() != want {
		t.Errorf("Start() = %v, want %s", err, want)
	}
	if calls := read(t, dir, "calls"); strings.Contains(calls, " delete ") {
		t.Errorf("deleted the Job of another run:\n%s", calls)
	}

	dir, j = cluster(t, map[string]string{"refuse-secret": "Error from server (Forbidden): secrets is forbidden\n"})
	if _, err = launch.Start(t.Context(), w, j); err == nil || !strings.Contains(err.Error(), "secrets is forbidden") {
		t.Errorf("Start() = %v, want that secrets are forbidden", err)
	}
	if calls := read(t, dir, "calls"); !strings.Contains(calls, " delete ") {
		t.Errorf("a Job without its Secret was left:\n%s", calls)
	}

	t.Setenv("PATH", t.TempDir())
	if _, err = launch.Start(t.Context(), w, j); err == nil || !strings.Contains(err.Error(), "kubectl cannot be run: install it") {
		t.Errorf("Start() = %v, want that kubectl is missing", err)
	}
}

func TestKubernetesMissing(t *testing.T) {
	dir, j := cluster(t, map[string]string{"pods.json": "pods.json", "events.json": "events.json"})
	s := must.Get(launch.Start(t.Context(), workers(t, "kubernetes:6"), j))(t)
	golden.Compare(t, "testdata/missing.txt", []byte(s.Missing(t.Context())+"\n"))
	must.Do(t, os.Remove(filepath.Join(dir, "events.json")))
	if got := s.Missing(t.Context()); !strings.Contains(got, "Unschedulable") || strings.Contains(got, "quota") {
		t.Errorf("Missing() without the right to read events = %s", got)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "pods.json"), []byte(`{"items": []}`), 0o600))
	if got := s.Missing(t.Context()); got != "" {
		t.Errorf("Missing() without pods = %s", got)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "pods.json")))
	if got := s.Missing(t.Context()); !strings.Contains(got, "pods is forbidden") {
		t.Errorf("Missing() = %s, want why it is not known", got)
	}
	must.Do(t, s.End(t.Context()))
}

// The end of the Job is reported with the pods that failed.
func TestKubernetesFailed(t *testing.T) {
	_, j := cluster(t, map[string]string{"pods.json": "pods.json", "failed": "Job has reached the specified backoff limit"})
	s := must.Get(launch.Start(t.Context(), workers(t, "kubernetes:5"), j))(t)
	got := <-s.Exited()
	first, _, _ := strings.Cut(got, "\n")
	want := "the Job zkbench-r1 failed: Job has reached the specified backoff limit"
	pod := "zkbench-r1-4-x4abc: Error with exit code 4 on node node2: joining 10.0.0.9:7700; the controller refuses this build"
	if first != want || !strings.Contains(got, pod) {
		t.Errorf("reported %q, want %q and %q", got, want, pod)
	}
	must.Do(t, s.End(t.Context()))
}

// Clean leaves a Job whose workers run.
func TestKubernetesClean(t *testing.T) {
	dir, j := cluster(t, map[string]string{"jobs.json": "jobs.json"})
	w := workers(t, "kubernetes:1")
	removed, err := launch.Clean(t.Context(), w, j.Kubernetes)
	want := []string{"job.batch/zkbench-pending", "job.batch/zkbench-failed"}
	if err != nil || !slices.Equal(removed, want) {
		t.Errorf("Clean() = %q, %v, want %q", removed, err, want)
	}
	if calls := read(t, dir, "calls"); !strings.Contains(calls, "get -o json jobs -l app.kubernetes.io/managed-by=zkbench\n") {
		t.Errorf("the Jobs of others may be deleted:\n%s", calls)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "jobs.json"), []byte(`{"items": []}`), 0o600))
	if removed, err := launch.Clean(t.Context(), w, j.Kubernetes); err != nil || len(removed) > 0 {
		t.Errorf("Clean() without Jobs = %q, %v", removed, err)
	}
}
