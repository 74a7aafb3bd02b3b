package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// The images that serve, in the order of preference.
const (
	OfficialImage = "zookeeper:3.9"
	DebianImage   = "zkbench/zookeeper:3.9" // what image/build.sh makes
)

// registryTimeout is how long a registry may take to answer; the pull itself is not limited.
const registryTimeout = 10 * time.Second

// findImage returns an image that is present on the machine, pulling or building one if it must.
func findImage(ctx context.Context, wanted string, progress io.Writer) (string, error) {
	if wanted == "" {
		wanted = os.Getenv("ZKBENCH_IMAGE")
	}
	if wanted != "" {
		if present(ctx, wanted) {
			return wanted, nil
		}
		return wanted, pull(ctx, wanted, progress)
	}
	return EnsureImage(ctx, progress)
}

// EnsureImage returns the first of these that succeeds: the official image or the Debian one if present, the official
// one pulled, the Debian one built. The build takes about a minute.
func EnsureImage(ctx context.Context, progress io.Writer) (string, error) {
	for _, image := range []string{OfficialImage, DebianImage} {
		if present(ctx, image) {
			return image, nil
		}
	}
	pullErr := pull(ctx, OfficialImage, progress)
	if pullErr == nil {
		return OfficialImage, nil
	}
	if err := build(ctx, progress); err != nil {
		return "", fmt.Errorf("%w: no ZooKeeper image: %w", ensemble.ErrUnavailable, errors.Join(pullErr, err))
	}
	return DebianImage, nil
}

func present(ctx context.Context, image string) bool {
	_, err := docker(ctx, "image", "inspect", image)
	return err == nil
}

// pull gets an image from a registry. A machine that reaches none shall learn so in seconds, while a slow pull may go
// on: the first line of output says that the registry has answered.
func pull(ctx context.Context, image string, progress io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(registryTimeout, func() { cancel(fmt.Errorf("no registry answered within %s", registryTimeout)) })
	defer silence.Stop()
	cmd := command(ctx, nil, "docker", "pull", image)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		if silence.Stop() {
			fmt.Fprintf(progress, "pulling %s\n", image)
		}
		return len(p), nil
	})
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the image %s is not on this machine and could not be pulled: %w", image, commandError(ctx, cmd.Args, stderr.String(), err))
	}
	return nil
}

// writerFunc is a function that is written to.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func build(ctx context.Context, progress io.Writer) error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return errors.New("it could not be built either: install mmdebstrap (apt-get install mmdebstrap) and try again, or give --image")
	}
	dir, err := os.MkdirTemp("", "zkbench-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	fmt.Fprintf(progress, "building %s from Debian packages (about a minute)\n", DebianImage)
	_, err = run(ctx, nil, "bash", filepath.Join(dir, "image", "build.sh"), DebianImage)
	return err
}
