package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/zkbench/zkbench/ensemble"
)

// The images in order of preference.
const (
	OfficialImage = "zookeeper:3.9"         // the default of image/pull.sh
	DebianImage   = "zkbench/zookeeper:3.9" // the default of image/build.sh
)

func findImage(ctx context.Context, wanted string, progress io.Writer) (string, error) {
	wanted = cmp.Or(wanted, os.Getenv("ZKBENCH_IMAGE"))
	switch {
	case wanted == "":
		return EnsureImage(ctx, progress)
	case present(ctx, wanted):
		return wanted, nil
	default:
		return wanted, pull(ctx, wanted, progress)
	}
}

// EnsureImage returns the official or the Debian image if present. Otherwise it pulls the official image or, if that fails,
// builds the Debian one in about a minute. ZKBENCH_DEBIAN_IMAGE renames the Debian image, and keeps others from being used.
func EnsureImage(ctx context.Context, progress io.Writer) (string, error) {
	images := []string{OfficialImage, DebianImage}
	if tag := os.Getenv("ZKBENCH_DEBIAN_IMAGE"); tag != "" {
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

func script(ctx context.Context, name, arg string) error {
	return unpacked(func(dir string) error {
		_, err := output(ctx, "image/"+name+" "+arg, command(ctx, nil, "bash", filepath.Join(dir, "image", name), arg))
		return err
	})
}

// unpacked copies the embedded files to a temporary folder for the duration of use: the binary may run anywhere.
func unpacked(use func(dir string) error) error {
	dir, err := os.MkdirTemp("", "zkbench-compose-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("unpack compose.yaml and the image's scripts: %w", err)
	}
	return use(dir)
}
