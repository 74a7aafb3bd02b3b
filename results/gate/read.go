package gate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
)

// Read returns the results and capacities in files and folders. A file that cannot be read is part of the evidence, too: it makes
// the verdict inconclusive, while the other files are still checked.
func Read(paths []string) Evidence {
	r := reader{seen: map[string]bool{}}
	for _, path := range paths {
		if isFolderOfSearch(path) {
			r.search(path)
			continue
		}
		for _, file := range filesIn(path) {
			switch {
			case r.isRepeated(file):
			case isCapacity(file):
				r.capacity(file)
			default:
				r.Documents = append(r.Documents, r.document(file)...)
			}
		}
	}
	return r.Evidence
}

// Files returns the files that [Read] reads of a path.
func Files(path string) []string {
	if !isFolderOfSearch(path) {
		return filesIn(path)
	}
	trials, confirmations := trialsIn(path)
	return slices.Concat([]string{filepath.Join(path, capacity.File)}, trials, confirmations)
}

// reader collects evidence.
type reader struct {
	Evidence
	seen map[string]bool // by absolute path
}

// isRepeated reports whether a file was given before, such as by its folder and by its name, so that it must not count again.
func (r *reader) isRepeated(file string) bool {
	whole, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	repeated := r.seen[whole]
	r.seen[whole] = true
	return repeated
}

// document reads a result; none if it cannot be read.
func (r *reader) document(file string) []*results.Document {
	docs, err := results.ReadAll([]string{file})
	if err != nil {
		r.Unreadable = append(r.Unreadable, err)
	}
	return docs
}

// capacity reads a report. One that is given twice, such as by the folder and by its copy, counts once.
func (r *reader) capacity(file string, checks ...func(capacity.Report) error) {
	report, err := capacity.Read(file)
	for _, check := range checks {
		if err != nil {
			break
		}
		if err = check(report); err != nil {
			err = fmt.Errorf("%s does not belong to the results beside it: %w", file, err)
		}
	}
	switch {
	case err != nil:
		r.Unreadable = append(r.Unreadable, err)
	case !slices.ContainsFunc(r.Capacities, func(other capacity.Report) bool { return reflect.DeepEqual(report, other) }):
		r.Capacities = append(r.Capacities, report)
	}
}

// search reads the folder of a search: the report, and the results of its trials.
func (r *reader) search(dir string) {
	if r.isRepeated(dir) {
		return
	}
	trialFiles, confirmationFiles := trialsIn(dir)
	all := func(files []string) (docs []*results.Document) {
		for _, file := range files {
			r.isRepeated(file)
			docs = append(docs, r.document(file)...)
		}
		return docs
	}
	trials, confirmations := all(trialFiles), all(confirmationFiles)
	r.Trials = slices.Concat(r.Trials, trials, confirmations)
	r.capacity(filepath.Join(dir, capacity.File), func(report capacity.Report) error { return report.CheckTrials(trials, confirmations) })
}

// isFolderOfSearch reports whether a path is a folder with the report of a search.
func isFolderOfSearch(path string) bool {
	_, err := os.Lstat(filepath.Join(path, capacity.File)) // one that cannot be read is a report, too
	return err == nil
}

// trialsIn returns the files of the trials in the folder of a search.
func trialsIn(dir string) (trials, confirmations []string) {
	return filesIn(dir), filesOrNone(filepath.Join(dir, capacity.ConfirmFolder))
}

// filesOrNone returns the results in a folder; none if there are none.
func filesOrNone(dir string) []string {
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	return filesIn(dir)
}

// isCapacity reports whether a file is the report of a search, by its name or by its content, which may be defective otherwise.
func isCapacity(file string) bool {
	if filepath.Base(file) == capacity.File {
		return true
	}
	text, err := results.ReadFile(file)
	var parts struct {
		Objective *json.RawMessage `json:"objective"`
	}
	return err == nil && json.Unmarshal(text, &parts) == nil && parts.Objective != nil
}

// filesIn returns the results in a folder. For a path that has none, it returns the path itself, so that reading it gives the
// reason.
func filesIn(path string) []string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}
	}
	files, err := results.Files(path)
	if err != nil || len(files) == 0 {
		return []string{path}
	}
	return files
}
