package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// The composite action and the template for GitLab run here as their services run them, on a repository of ten commits with a lock of its
// own. One of the commits adds a request to the lock.
const addsRequest = 7

type pipelineRepository struct {
	dir string
	env []string
}

// newPipelineRepository returns a repository with a lock in Python and baselines of its first commit.
func newPipelineRepository(t *testing.T) pipelineRepository {
	t.Helper()
	if exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import kazoo").Run() != nil {
		t.Skip("Python has no kazoo (apt-get install python3-kazoo)")
	}
	bin := t.TempDir()
	own := must.Get(os.Executable())(t)
	must.Do(t, os.WriteFile(filepath.Join(bin, "zkbench"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %q \"$@\"\n", asBinary, own), 0o700))
	r := pipelineRepository{t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CI=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")}
	lock := lockOfPage(t)
	r.bash(t, nil, "git init -q")
	for commit := range 10 {
		text := fmt.Sprintf("%s# %d\n", lock, commit)
		if commit >= addsRequest {
			text = strings.Replace(text, "        self.lock.acquire()\n", "        self.zk.exists(self.lock.path)\n        self.lock.acquire()\n", 1)
		}
		must.Do(t, os.WriteFile(filepath.Join(r.dir, "my_lock.py"), []byte(text), 0o700)) //nolint:gosec // zkbench runs it
		if commit == 0 {
			r.bash(t, nil, "zkbench run "+measuredLock+" --ensemble embedded --out out && zkbench baseline save out --dir baselines && rm -r out")
		}
		r.bash(t, nil, fmt.Sprintf("git add . && git commit -q -m %d && git tag c%d", commit, commit))
	}
	return r
}

const (
	flagsOfLock  = "--driver ./my_lock.py --variants predecessor-watch --operations 30 --repeats 1 --name pipelines"
	measuredLock = "lock-uncontended " + flagsOfLock
)

// lockOfPage returns the driver that docs/drivers.md shows.
func lockOfPage(t *testing.T) string {
	t.Helper()
	page := string(must.Get(os.ReadFile("../../docs/drivers.md"))(t))
	return regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(page)[1]
}

// bash runs a script in the repository as a service does, and returns its output and exit code.
func (r pipelineRepository) bash(t *testing.T, env map[string]string, script string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if env == nil && err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// actionStep is a step of .github/actions/zkbench/action.yml.
type actionStep struct {
	Name string
	Env  map[string]string
	Run  string
}

// action runs the steps of the composite action with inputs until one fails.
func (r pipelineRepository) action(t *testing.T, inputs map[string]string) (printed string, code int) {
	t.Helper()
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []actionStep }
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("../../.github/actions/zkbench/action.yml"))(t), &action))
	for name, input := range action.Inputs {
		if _, given := inputs[name]; !given {
			inputs[name] = input.Default
		}
	}
	for _, step := range action.Runs.Steps {
		env := map[string]string{"GITHUB_STEP_SUMMARY": filepath.Join(r.dir, ".git", "summary"), "GITHUB_PATH": os.DevNull}
		for name, value := range step.Env {
			input := regexp.MustCompile(`^\$\{\{ inputs\.(\w+) \}\}$`).FindStringSubmatch(value)[1]
			env[name] = inputs[input]
		}
		out, exit := r.bash(t, env, step.Run)
		if printed, code = printed+out, exit; code != 0 {
			break
		}
	}
	return printed, code
}

// The action passes each commit before the dearer one and fails each from it on, its trend shows where, and so does `git bisect run`.
func TestAction(t *testing.T) {
	r := newPipelineRepository(t)
	for commit, want := range map[int]int{0: 0, addsRequest - 1: 0, addsRequest: 3, 9: 3} {
		r.bash(t, nil, fmt.Sprintf("git checkout -q c%d", commit))
		inputs := map[string]string{"scenario": "lock-uncontended", "flags": flagsOfLock, "baseline": "baselines", "out": fmt.Sprint("out", commit)}
		out, code := r.action(t, inputs)
		if said := strings.Contains(out, "4 → 5 requests per operation (1 exists more)"); code != want || said != (want == 3) {
			t.Errorf("commit %d: exit code %d, want %d:\n%s", commit, code, want, out)
		}
		trend := string(must.Get(os.ReadFile(filepath.Join(r.dir, fmt.Sprintf("out%d.trend.json", commit))))(t))
		requests := map[int]string{0: "4", 3: "5"}[want]
		if !regexp.MustCompile(`my-lock[^}]*requests/op",[^}]*"value": ` + requests + `\b`).MatchString(trend) {
			t.Errorf("commit %d: the trend does not have %s requests of my-lock per operation:\n%s", commit, requests, trend)
		}
	}
	out, _ := r.bash(t, nil, "git bisect start c9 c0 && git bisect run sh -c 'rm -rf b && zkbench run "+measuredLock+
		" --ensemble embedded --out b; zkbench gate b --baseline baselines --bisect'")
	first, _ := r.bash(t, nil, fmt.Sprintf("git rev-parse c%d", addsRequest))
	if !strings.Contains(out, strings.TrimSpace(first)+" is the first bad commit") {
		t.Errorf("bisect did not find %s:\n%s", first, out)
	}
}

// The job of the template does the same.
func TestGitLabTemplate(t *testing.T) {
	r := newPipelineRepository(t)
	var template struct {
		Job struct {
			Variables    map[string]string
			BeforeScript []string `yaml:"before_script"`
			Script       []string
		} `yaml:".zkbench"`
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("../../docs/examples/gitlab-ci.yml"))(t), &template))
	env := maps.Clone(template.Job.Variables)
	maps.Copy(env, map[string]string{"SCENARIO": "lock-uncontended", "FLAGS": flagsOfLock, "BASELINE": "baselines"})
	script := strings.Join(slices.Concat(template.Job.BeforeScript, template.Job.Script), "\n")
	for commit, want := range map[int]int{addsRequest - 1: 0, addsRequest: 3} {
		r.bash(t, nil, fmt.Sprintf("rm -rf zkbench-results && git checkout -q c%d", commit))
		if out, code := r.bash(t, env, script); code != want {
			t.Errorf("commit %d: exit code %d, want %d:\n%s", commit, code, want, out)
		}
	}
}

// With --bisect, what says nothing about a commit is skipped, also a mistake in flags.
func TestBisectCodes(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--bisect", t.TempDir()}, {"--bisect", filepath.Join(t.TempDir(), "missing")}, {"--bisect", "--unknown"}, {"--unknown", "--bisect"}, {"--bisect=true", "--unknown"}} {
		if _, stderr, code := command(t.Context(), append([]string{"gate"}, args...)...); code != outcome.CodeSkip {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, outcome.CodeSkip, stderr)
		}
	}
	for code, want := range map[int]int{
		outcome.CodePass: 0, outcome.CodeFailed: 125, outcome.CodeUsage: 125, outcome.CodeRegression: 3, outcome.CodeBroken: 4, outcome.CodeInvalid: 125,
		outcome.CodeInterrupted: 130,
	} {
		if got := outcome.ForBisect(code); got != want {
			t.Errorf("ForBisect(%d) = %d, want %d", code, got, want)
		}
	}
}
