package container_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/zkbench/zkbench/results/must"
)

// fakeMachine is a folder with a copy of the set-up scripts, and with the only commands that they find.
func fakeMachine(t *testing.T, uid, docker string) (root string) {
	t.Helper()
	root = t.TempDir()
	for from, to := range map[string]string{"../../.ci": ".ci", "image": "ensemble/container/image"} {
		must.Do(t, os.CopyFS(filepath.Join(root, to), os.DirFS(from)))
	}
	for name, text := range map[string]string{
		"docker":    docker,
		"id":        "echo " + uid,
		"apt-cache": `case $2 in docker-compose|mmdebstrap) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac`,
		"apt-get":   `echo "$@" >>apt.log; case "$*" in *install*) echo 'echo "no space left" >&2; exit 1' >bin/mmdebstrap; chmod +x bin/mmdebstrap ;; esac`,
	} {
		write(t, filepath.Join(root, "bin", name), "#!/bin/sh\n"+text+"\n")
	}
	for _, tool := range []string{"bash", "sh", "cat", "chmod", "dirname", "env", "grep", "mkdir", "mktemp", "rm", "sleep", "tail"} {
		path := must.Get(exec.LookPath(tool))(t)
		must.Do(t, os.Symlink(path, filepath.Join(root, "bin", tool)))
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
}

// Set-up prints one line per step. For a step that fails, the line has the reason and the name of the log.
func TestSetup(t *testing.T) {
	const answers = `version*) ;;`
	for _, tt := range []struct {
		name   string
		uid    string
		docker string // the docker command, in the syntax of the shell's `case`; other calls fail
		fails  bool
		want   string // the output, without times
		apt    string // the calls of apt-get
	}{
		{name: "no engine", uid: "0", fails: true, want: "no Docker engine answers: no such host\n"},
		{name: "nothing missing", uid: "0", docker: answers + ` "compose version"|"image inspect"*) ;;`},
		{
			name: "no compose", uid: "0", docker: answers + ` "image inspect"*) ;;`,
			want: "install docker-compose\n", apt: "update\ninstall --no-install-recommends docker-compose\n",
		},
		{
			name: "an image to pull", uid: "0", docker: answers + ` "compose version") ;; pull*) echo Pulling ;;`,
			want: "pull zookeeper:3.9\n",
		},
		{
			name: "nothing there, and no space", uid: "0", docker: answers, fails: true,
			want: "pull zookeeper:3.9: no registry provides it, so it is built here\ninstall docker-compose mmdebstrap\n" +
				"build the ZooKeeper image from Debian packages: FAILED, see bin/containers.log: no space left\n",
			apt: "update\ninstall --no-install-recommends docker-compose mmdebstrap\n",
		},
		{
			name: "neither root nor sudo", uid: "1000", docker: answers + ` "image inspect"*) ;;`, fails: true,
			want: "install docker-compose: FAILED, see bin/containers.log: missing: docker-compose; " +
				"installing it takes root or sudo, so ask an administrator of this machine for it\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := fakeMachine(t, tt.uid, `case "$*" in `+tt.docker+` *) echo "no such host" >&2; exit 1 ;; esac`)
			// All executables are written before any parallel part starts a process: a child that is forked while one is open
			// for writing holds it open until its own exec, and starting that one fails meanwhile (ETXTBSY).
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "setup"), "containers")
			cmd.Env = []string{"PATH=" + filepath.Join(root, "bin")}
			out, err := cmd.CombinedOutput()
			if got := regexp.MustCompile(` \(\d+ s\)`).ReplaceAllString(string(out), ""); got != tt.want || (err != nil) != tt.fails {
				t.Errorf("%v, printed\n%s\nwant\n%s", err, got, tt.want)
			}
			apt, _ := os.ReadFile(filepath.Join(root, "apt.log"))
			if got := regexp.MustCompile(`(?m)^-.*Acquire::Retries=3 `).ReplaceAllString(string(apt), ""); got != tt.apt {
				t.Errorf("apt-get was called with\n%s\nwant\n%s", got, tt.apt)
			}
		})
	}
}
