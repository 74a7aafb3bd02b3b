package container

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

// stateDir returns the folder for the certificates and the password of an ensemble.
func stateDir(name string) string { return ensemble.StateDir(ensemble.Container, name) }

// certificates is the folder of a container with the files for TLS.
const certificates = "/zkbench"

// environment returns the variables of compose.yaml for a protection. With TLS, the only port for clients is the one of compose.yaml.
func environment(p ensemble.Protection) []string {
	env := []string{"ZKBENCH_PROTECTION=" + p.String()}
	if p.TLS {
		env = append(env, "ZKBENCH_CLIENT_PORT=")
	}
	if settings := p.Settings(certificates, 2181); len(settings) > 0 {
		env = append(env, "ZKBENCH_CFG_EXTRA= "+strings.Join(settings, " "))
	}
	return env
}

// copyCertificates copies what servers need into the containers. A container that is killed keeps it.
func copyCertificates(ctx context.Context, name, image string, p ensemble.Protection) error {
	ids, err := list(ctx, name, "ps", "-a")
	if err != nil {
		return err
	}
	files, err := archive(p.Folder)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := checkImage(ctx, image, id); err != nil {
			return err
		}
		cp := command(ctx, nil, "docker", "cp", "-", id+":/")
		cp.Stdin = bytes.NewReader(files)
		if _, err := output(ctx, "docker cp", cp); err != nil {
			return err
		}
	}
	return nil
}

// archive returns a tar archive of what servers need. The engine may be on another machine, so that they cannot mount the folder.
//
// Note: everyone in a container may read the files, because the user of ZooKeeper there has another number in each image.
func archive(folder string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range []string{ensemble.CAFile, ensemble.ServerFile} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: certificates[1:] + "/" + name, Mode: 0o444, Size: int64(len(content))})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// checkImage returns an error for a container of a Debian image of an older zkbench, whose server would close each connection with TLS.
func checkImage(ctx context.Context, image, id string) error {
	script, _ := docker(ctx, "cp", id+":/docker-entrypoint.sh", "-") // other images need not have one
	if strings.Contains(script, "/usr/share/java") && !strings.Contains(script, "netty-codec.jar") {
		return fmt.Errorf("the image %s was built by an older zkbench, whose images lack Netty for TLS: "+
			"`docker rmi %[1]s`, and `zkbench ensemble image` builds a new one", image)
	}
	return nil
}
