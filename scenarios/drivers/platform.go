package drivers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
)

// Jars of Debian packages. Their manifests name their own dependencies.
const (
	curatorJar   = "/usr/share/java/curator-recipes.jar"
	zooKeeperJar = "/usr/share/java/zookeeper.jar"
	lockJar      = "/usr/share/java/zookeeper-recipes-lock.jar"  // of libzookeeper-java, too
	queueJar     = "/usr/share/java/zookeeper-recipes-queue.jar" // of libzookeeper-java, too
	silentLogJar = "/usr/share/java/slf4j-nop.jar"               // for the libraries' log, which nothing reads

	jars = curatorJar + ":" + zooKeeperJar + ":" + lockJar + ":" + queueJar + ":" + silentLogJar
)

type platform struct {
	command []string // before the program
	compile bool     // the program is compiled, and run as the class of the file's name
	needs   []need
}

type need struct {
	path          string // of a file, or a program if it has no slash
	debianPackage string // that has it
}

// platformOf returns the platform of a program: by the ending of its name, unless it is a user's own and can be executed
// directly.
func platformOf(program string) (platform, error) {
	own := path.IsAbs(program)
	if own && runsAsItIs(program) {
		return platform{}, nil
	}
	p, err := platformByEnding(program)
	if own && err == nil {
		p.needs = p.needs[:1] // the libraries are the user's
	}
	return p, err
}

// platformByEnding returns the platform of a program of a language. The first of its needs is the interpreter or compiler.
func platformByEnding(program string) (platform, error) {
	switch path.Ext(program) {
	case ".java":
		return platform{
			// Standard output is for answers.
			command: []string{"env", ensemble.JavaLocale, "java", "-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr"},
			compile: true,
			needs: []need{
				{"javac", "default-jdk-headless"},
				{curatorJar, "libcurator-recipes-java"},
				{zooKeeperJar, "libzookeeper-java"},
				{silentLogJar, "libslf4j-java"},
			},
		}, nil
	case ".py":
		return platform{
			command: []string{"/usr/bin/python3"}, // Debian's own, which has Debian's packages
			needs: []need{
				{"/usr/bin/python3", "python3"},
				{"/usr/lib/python3/dist-packages/kazoo", "python3-kazoo"},
			},
		}, nil
	default:
		return platform{}, fmt.Errorf("%s is neither a Java nor a Python program", program)
	}
}

// prepare returns the command that runs a program. A program that must be compiled is compiled into a folder, with the files
// next to it that it uses.
func (p platform) prepare(ctx context.Context, file, dir string) ([]string, error) {
	if !p.compile {
		return append(p.command, file), nil
	}
	javac := exec.CommandContext(ctx, "env", ensemble.JavaLocale, "javac", "-proc:none",
		"-d", dir, "-cp", jars, "-sourcepath", filepath.Dir(file), file)
	if text, err := javac.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile it: %w: %s", err, bytes.TrimSpace(text))
	}
	return append(p.command, "-cp", dir+":"+jars, strings.TrimSuffix(filepath.Base(file), ".java")), nil
}

// Missing returns the Debian packages without which a driver cannot run here, sorted.
func Missing(d variants.Driver) []string {
	p, _ := platformOf(d.Program) // a test checks that each program has one
	return p.missing()
}

func (p platform) missing() []string {
	unmet := list.Where(p.needs, func(n need) bool { return !n.met() })
	return list.Distinct(list.Map(unmet, func(n need) string { return n.debianPackage }))
}

func (n need) met() bool {
	if strings.Contains(n.path, "/") {
		_, err := os.Stat(n.path)
		return err == nil
	}
	_, err := exec.LookPath(n.path)
	return err == nil
}

// CheckRunnable returns an error that says what to install unless a variant can run here.
func CheckRunnable(recipe string, v variants.Variant) error {
	if v.Driver == nil {
		return nil
	}
	if missing := Missing(*v.Driver); len(missing) > 0 {
		return fmt.Errorf("%s/%s is not available here: apt-get install --no-install-recommends %s", recipe, v.Name, strings.Join(missing, " "))
	}
	return nil
}
