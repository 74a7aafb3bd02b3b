package gate

import (
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/results"
)

// Read returns the results in files and folders. A file that cannot be read is part of the evidence, too: it makes the
// verdict inconclusive, while the other files are still checked.
func Read(paths []string) Evidence {
	var e Evidence
	seen := map[string]bool{}
	for _, path := range paths {
		for _, file := range filesIn(path) {
			whole, err := filepath.Abs(file)
			if err == nil && seen[whole] {
				continue // a file that is given twice, such as by its folder and by its name, counts once
			}
			seen[whole] = true
			docs, err := results.ReadAll([]string{file})
			if err != nil {
				e.Unreadable = append(e.Unreadable, err)
			}
			e.Documents = append(e.Documents, docs...)
		}
	}
	return e
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
