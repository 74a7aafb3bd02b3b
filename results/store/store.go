// Package store keeps documents and reports in files.
//
// It takes one position: a file that was changed after it was written is not a measurement. Therefore, each file has a digest
// of its content, and a reader computes the metrics again.
package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/renameio/v2/maybe"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// Write stores the document in dir. Readers see the whole file or none. A document that contradicts itself shows a mistake in the recorder
// and is not stored. If dir was removed during the run, Write does not create it again: earlier results are lost, so the run must end.
func Write(d *results.Document, dir string) error {
	path := filepath.Join(dir, d.Filename())
	if err := CheckInvariants(d); err != nil {
		return fmt.Errorf("%s contradicts itself: %w", path, err)
	}
	err := WriteSealed(path, d)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of the results was removed during the run: %w", err)
	}
	return err
}

// WriteSealed replaces the file at path atomically by a value with its digest; see [Seal].
func WriteSealed(path string, value any) error {
	text, err := Seal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return WriteFile(path, text)
}

// WriteJSON replaces the file at path atomically.
func WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile replaces the file at path, atomically except on Windows.
func WriteFile(path string, text []byte) error {
	if err := maybe.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// largestFile exceeds every file that zkbench writes, in bytes. Each of two timelines of a document may have 100,000 notifications.
const largestFile = 32 << 20

// largestText is the same for texts that people write, such as scenarios. The largest that comes with zkbench has two thousand bytes.
const largestText = 1 << 20

// ReadText returns the content of a text that people write. It may come from a pipe or from /dev/stdin, and is read until its writer
// closes it or ctx ends. Then the goroutine may stay until the process exits, as opening a pipe without a writer cannot be interrupted.
func ReadText(ctx context.Context, path string) ([]byte, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	go func() { text, err = readUpTo(largestText, path, true); close(done) }()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s: %w", path, context.Cause(ctx))
	}
}

// ReadFile returns the content of a file that zkbench wrote. It refuses named pipes and devices: a result is read several times.
func ReadFile(path string) ([]byte, error) { return readUpTo(largestFile, path, false) }

func readUpTo(most int64, path string, pipes bool) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened, as that can wait for ever or set off a device
	if err == nil && !info.Mode().IsRegular() && (!pipes || info.Mode()&fs.ModeNamedPipe == 0 && path != "/dev/stdin") {
		err = fmt.Errorf("read %s: it is not a regular file (%s)", path, info.Mode().Type())
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(text)) > most {
		return nil, fmt.Errorf("read %s: it has more than %d bytes, the most that zkbench reads of such a file: check its name",
			table.Escaped(path), most)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table.Escaped(path), err)
	}
	return text, nil
}

// Kept returns the number of documents that are in dir unchanged, and an error that names the first of the others.
func Kept(dir string, docs []*results.Document) (kept int, err error) {
	errs := list.Map(docs, func(d *results.Document) error { return isIn(d, dir) })
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if missing := len(errs); missing > 0 {
		err = fmt.Errorf("%d of %d measurements are not in %s: %w", missing, len(docs), dir, errors.Join(errs[:min(missing, 3)]...))
	}
	return len(docs) - len(errs), err
}

func isIn(d *results.Document, dir string) error {
	path := filepath.Join(dir, d.Filename())
	found, err := ReadFile(path)
	if err != nil {
		return err
	}
	text, err := Seal(d)
	if err == nil && !bytes.Equal(found, text) {
		err = fmt.Errorf("%s is not what was written", path)
	}
	return err
}

// Read returns the document in one file; see [Decode].
func Read(path string) (*results.Document, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", table.Escaped(path), err)
	}
	return d, nil
}

// Decode returns the document in a text; see [DecodeSealed]. It computes the metrics again, adds missing ones, and returns an error if one
// differs, because the zkbench that wrote the document computed it in another way. A document that contradicts itself is invalid.
func Decode(text []byte) (*results.Document, error) {
	if IsCapacity(text) {
		return nil, errors.New("is a report of `zkbench capacity` and not the result of a measurement: " +
			"only `zkbench gate` reads it; for other commands, give the folder of its trials")
	}
	var d results.Document
	if err := DecodeSealed(text, results.Schema, &d); err != nil {
		return nil, err
	}
	if err := metric.Check(&d); err != nil {
		return nil, err
	}
	d.Invalid = doubts.Void(&d)
	if err := CheckInvariants(&d); err != nil {
		d.Invalid = list.AppendNew(d.Invalid, "it contradicts itself: "+err.Error())
	}
	return &d, nil
}

// IsCapacity reports whether a text is the report of `zkbench capacity`, which may have errors elsewhere.
func IsCapacity(text []byte) bool {
	var report struct {
		Objective *json.RawMessage `json:"objective"`
	}
	return json.Unmarshal(text, &report) == nil && report.Objective != nil
}

// ErrMissing is wrapped by the error about a path that does not exist.
var ErrMissing = errors.New("no such file or folder")

// ReadAll returns the documents in files and folders, in the order of tables. Its error names all unreadable files. Files are
// decoded in parallel, on as many CPUs as there are.
func ReadAll(paths []string) ([]*results.Document, error) {
	var files []string
	var errs []error
	for _, path := range paths {
		found, err := resultFiles(path)
		files, errs = append(files, found...), append(errs, err)
	}
	docs, failures := make([]*results.Document, len(files)), make([]error, len(files))
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		reading.Go(func() error {
			docs[i], failures[i] = Read(file)
			return nil
		})
	}
	_ = reading.Wait() // all errors are in failures, in the order of the files
	if err := errors.Join(append(errs, failures...)...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(docs, grouping.Compare)
	return docs, nil
}

// Files returns the files in a run's folder that are named like documents.
func Files(dir string) ([]string, error) {
	return Matching(dir, "*_n[0-9]*_r[0-9]*.json")
}

// Matching returns the files of a folder whose names match a pattern of [filepath.Match]. Unlike for [filepath.Glob], special
// characters in dir have no meaning. A folder that does not exist has no files.
func Matching(dir, pattern string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if ok, err := filepath.Match(pattern, e.Name()); err != nil || ok {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

func resultFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: give a result file, or a run's folder as `zkbench run` prints it", path, ErrMissing)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return []string{path}, nil
	}
	files, err := Files(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no results (no files such as lock-drain_lock-znode_n50_r1.json)", path)
	}
	return files, err
}
