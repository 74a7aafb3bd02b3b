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

	"github.com/zkbench/zkbench/ensemble"
)

// The images that serve, in the order of preference.
const (
	OfficialImage = "zookeeper:3.9"         // the default of image/pull.sh
	DebianImage   = "zkbench/zookeeper:3.9" // the default of image/build.sh
)

// debianVariable names an image that takes the place of both on the machine: an image of another name is neither used
// nor replaced, even if it is there. So a first use can be tried on an engine that has been used before.
const debianVariable = "ZKBENCH_DEBIAN_IMAGE"

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
	images := []string{OfficialImage, DebianImage}
	if tag := os.Getenv(debianVariable); tag != "" {
		images = []string{tag}
	}
	for _, image := range images {
		if present(ctx, image) {
			return image, nil
		}
	}
	pullErr := pull(ctx, OfficialImage, progress)
	if pullErr == nil {
		return OfficialImage, nil
	}
	debian := images[len(images)-1]
	if err := build(ctx, debian, progress); err != nil {
		return "", fmt.Errorf("%w: no ZooKeeper image: %w", ensemble.ErrUnavailable, errors.Join(pullErr, err))
	}
	return debian, nil
}

func present(ctx context.Context, image string) bool {
	_, err := docker(ctx, "image", "inspect", image)
	return err == nil
}

func pull(ctx context.Context, image string, progress io.Writer) error {
	fmt.Fprintf(progress, "pulling %s\n", image)
	if err := script(ctx, "pull.sh", image); err != nil {
		return fmt.Errorf("the image %s is not on this machine and could not be pulled: %w", image, err)
	}
	return nil
}

func build(ctx context.Context, tag string, progress io.Writer) error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return errors.New("it could not be built either: install mmdebstrap (apt-get install mmdebstrap) and try again, or give --image")
	}
	fmt.Fprintf(progress, "building %s from Debian packages (about a minute)\n", tag)
	return script(ctx, "build.sh", tag)
}

// script runs one of the scripts in image/ from a copy, because the binary may run anywhere.
func script(ctx context.Context, name, arg string) error {
	dir, err := os.MkdirTemp("", "zkbench-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	cmd := command(ctx, nil, "bash", filepath.Join(dir, "image", name), arg)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return commandError(ctx, []string{"image/" + name, arg}, stderr.String(), err)
	}
	return nil
}
