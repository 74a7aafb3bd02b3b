package container

import (
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

// registryTimeout is how long a registry may take to say whether it has the image; the pull itself is not limited.
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

// pull asks the registry first: a machine that reaches none shall learn so in seconds, while a slow pull may go on.
func pull(ctx context.Context, image string, progress io.Writer) error {
	ask, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	if _, err := docker(ask, "manifest", "inspect", image); err != nil {
		return fmt.Errorf("the image %s is not on this machine and could not be pulled: %w", image, err)
	}
	fmt.Fprintf(progress, "pulling %s\n", image)
	_, err := docker(ctx, "pull", "--quiet", image)
	return err
}

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
