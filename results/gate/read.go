package gate

import (
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/results"
)

// Read returns what results there are in files and folders. What cannot be read is evidence, too: of nothing, so that a
// truncated file is inconclusive, and does not hide what the others say.
func Read(paths []string) Evidence {
	var e Evidence
	seen := map[string]bool{}
	for _, path := range paths {
		for _, file := range filesIn(path) {
			whole, err := filepath.Abs(file)
			if err == nil && seen[whole] {
				continue // given twice, such as by its folder and by its name: one measurement all the same
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

// filesIn returns the results in a folder; the path itself if it is none, or has none, so that reading it says why.
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
