package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/store"
)

// checkOut creates the folder for results. It returns an error if the folder cannot be written to or holds other results.
func checkOut(dir string) error {
	old, err := store.Files(dir)
	if err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	if _, err := os.Lstat(filepath.Join(dir, capacity.File)); err == nil || len(old) > 0 {
		return usage(fmt.Errorf("--out %s already holds results: choose another folder", dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	return tryName("out", dir, "")
}

// checkFolder returns an error if a folder cannot be created or written to. It does not create it.
func checkFolder(flag, dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		return checkFolder(flag, filepath.Dir(dir))
	case err != nil:
		return usage(fmt.Errorf("--%s: %w", flag, err))
	case !info.IsDir():
		return usage(fmt.Errorf("--%s: %s is not a folder", flag, dir))
	}
	return tryName(flag, dir, "")
}

// save stores a result in the run's folder. It does not create the folder again if that was removed during the run: former
// results are lost, so the run ends.
func save(d *results.Document, dir string) error {
	err := store.Write(d, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of the results was removed during the run: %w", err)
	}
	return err
}

// checkFile returns an error if a file cannot be written, before the work is done.
func checkFile(flag, path string) error {
	if path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("--%s %s: there is no folder %s", flag, path, dir))
	}
	return checkReplaceable(flag, path)
}

// removeFormer removes the file of an earlier command, which a reader could otherwise take for that of this one if it fails.
func removeFormer(flag, path string) error {
	info, err := os.Lstat(path)
	if missing := errors.Is(err, fs.ErrNotExist); path == "" || missing || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return usage(fmt.Errorf("--%s: remove the old file: %w", flag, err))
	}
	return nil
}

// checkReplaceable returns an error if a file, whose folder may be missing, cannot be created or replaced.
func checkReplaceable(flag, path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return usage(fmt.Errorf("--%s: %w", flag, err))
	case info.IsDir():
		return usage(fmt.Errorf("--%s %s is a folder: name a file", flag, path))
	case !info.Mode().IsRegular():
		return usage(fmt.Errorf("--%s %s is not a regular file, and would be replaced by one", flag, path))
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return usage(fmt.Errorf("--%s: %w", flag, err))
		}
		f.Close()
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return checkFolder(flag, filepath.Dir(path)) // created together with the file
	}
	return tryName(flag, filepath.Dir(path), filepath.Base(path))
}

// tryName creates and removes a file whose name is as long as that of the temporary file that is later renamed to name.
func tryName(flag, dir, name string) error {
	f, err := os.CreateTemp(dir, "."+name+".zkbench-*")
	if err != nil {
		return usage(fmt.Errorf("--%s: cannot write to %s: %w", flag, dir, err))
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}
