package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/results"
)

// checkOut makes the folder for results, and notices before a run that it could not be written to after it, or holds
// results that would be mixed with new ones.
func checkOut(dir string) error {
	old, err := results.Files(dir)
	if err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	if len(old) > 0 {
		return usage(fmt.Errorf("--out %s holds results already: choose another folder", dir))
	}
	return makeFolder("out", dir)
}

// makeFolder makes a folder, and notices if files cannot be written there.
func makeFolder(flag, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage(fmt.Errorf("--%s: %w", flag, err))
	}
	return tryName(flag, dir, "")
}

// checkFolder notices that a folder cannot be made or written to, and makes none.
func checkFolder(flag, dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
			dir = filepath.Dir(dir)
			continue
		case err != nil:
			return usage(fmt.Errorf("--%s: %w", flag, err))
		case !info.IsDir():
			return usage(fmt.Errorf("--%s: %s is not a folder", flag, dir))
		}
		return tryName(flag, dir, "")
	}
}

// save stores a result in the run's folder. A folder that was removed meanwhile is not made again: the results that were in
// it are gone, so the run ends.
func save(d *results.Document, dir string) error {
	err := d.Write(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of the results was removed while the run was going on: %w", err)
	}
	return err
}

// checkFile notices that a file cannot be written, which otherwise shows only when the work is done.
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

// checkReplaceable notices that a file, whose folder may be missing, cannot be replaced by one that is written.
func checkReplaceable(flag, path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return usage(fmt.Errorf("--%s: %w", flag, err))
	case info.IsDir():
		return usage(fmt.Errorf("--%s %s is a folder: name a file", flag, path))
	case !info.Mode().IsRegular():
		return usage(fmt.Errorf("--%s %s is no regular file: it would be replaced by one", flag, path))
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return usage(fmt.Errorf("--%s: %w", flag, err))
		}
		f.Close()
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return checkFolder(flag, filepath.Dir(path)) // it is made when the file is written
	}
	return tryName(flag, filepath.Dir(path), filepath.Base(path))
}

// tryName makes a file for a moment that is named as a file is while it is being written: with a dot before its name, and
// up to twenty characters after it.
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
