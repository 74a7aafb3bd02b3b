package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/store"
)

// checkOut creates the folder for results. It returns an error if the folder cannot be written to or holds other results.
func checkOut(dir string) error {
	err := checkEmpty(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = tryName(dir, "")
	}
	return ofFlag("out", dir, err)
}

func checkEmpty(dir string) error {
	old, err := store.Files(dir)
	if _, statErr := os.Lstat(filepath.Join(dir, capacity.File)); err == nil && (statErr == nil || len(old) > 0) {
		return errors.New("it already holds results: choose another folder")
	}
	return err
}

// checkFolder returns an error if a folder cannot be created or written to. It does not create it.
func checkFolder(flag, dir string) error {
	there := dir
	_, err := os.Stat(there)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(there) != there {
		there = filepath.Dir(there)
		_, err = os.Stat(there)
	}
	if err == nil {
		err = tryName(there, "")
	}
	return ofFlag(flag, dir, err)
}

func checkFile(flag, path string) error {
	if path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ofFlag(flag, path, fmt.Errorf("there is no folder %s", dir))
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = tryName(dir, filepath.Base(path))
	case err != nil:
	case info.IsDir():
		err = errors.New("it is a folder: name a file")
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file, and would be replaced by one")
	default:
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			err = errors.Join(f.Close(), tryName(dir, filepath.Base(path)))
		}
	}
	return ofFlag(flag, path, err)
}

func ofFlag(flag, value string, err error) error {
	if err == nil {
		return nil
	}
	return usage(fmt.Errorf("--%s %s: %w", flag, value, err))
}

// tryName creates and removes a file. Its name is as long as the name of the temporary file that will be renamed to name.
func tryName(dir, name string) error {
	f, err := os.CreateTemp(dir, "."+name+".zkbench-*")
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// removeFormer removes the file of an earlier command. If this command fails, a reader could otherwise take it for the new result.
func removeFormer(flag, path string) error {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // whether the file can be written is checked later
	}
	return ofFlag(flag, path, os.Remove(path))
}
