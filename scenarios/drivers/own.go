package drivers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/variants"
)

// Own is a driver that a user gives, outside zkbench.
type Own struct {
	name   string // of the variants
	text   string // as it was given
	driver variants.Driver
}

// longestName is how long the name of a driver's variant may be: the names of files contain it.
const longestName = 80

// unnamable matches text that cannot be in the name of a variant.
var unnamable = regexp.MustCompile(`[^a-z0-9]+`)

// OwnDriver returns the driver that a user gives as its file, or as its file and arguments with spaces between. The file is run where it is. If it is
// executable, it is run as it is, and else as a Java or Python program; a file of these that is executable must begin with `#!` to be run as it is. It
// is an error if that is not possible.
func OwnDriver(command string) (Own, error) {
	words := strings.Fields(command)
	if _, err := os.Stat(command); err == nil { // a path with spaces
		words = []string{command}
	}
	if len(words) == 0 {
		return Own{}, errors.New("the program is missing, such as ./my_lock.py")
	}
	file, err := filepath.Abs(words[0])
	if err != nil {
		return Own{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return Own{}, err
	}
	if info.IsDir() {
		return Own{}, fmt.Errorf("%s is a folder, and no program", words[0])
	}
	own := Own{text: command, driver: variants.Driver{Program: file, Args: words[1:]}}
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	own.name = strings.Trim(unnamable.ReplaceAllString(strings.ToLower(strings.Join(append([]string{base}, words[1:]...), "-")), "-"), "-")
	if own.name == "" {
		return Own{}, fmt.Errorf("%s: the name of the program must have letters or digits, as the variant is named after it", words[0])
	}
	if len(own.name) > longestName {
		return Own{}, fmt.Errorf("%s: the variant is named after the program and its arguments, and %s is longer than %d characters: put the arguments into a script",
			words[0], own.name, longestName)
	}
	if _, err := platformOf(file); err != nil {
		return Own{}, fmt.Errorf("%s is neither executable, nor a Java or Python program", words[0])
	}
	return own, nil
}

// Name returns the name of the driver's variants.
func (o Own) Name() string { return o.name }

// AddTo adds the driver's variant to a recipe. A recipe that takes no drivers stays as it is. It is an error if the recipe has a
// variant of that name.
func (o Own) AddTo(r variants.Recipe) (variants.Recipe, error) {
	if r.JoinDriven == nil {
		return r, nil
	}
	if slices.ContainsFunc(r.All(), func(v variants.Variant) bool { return v.Name == o.name }) {
		return r, fmt.Errorf("%s has a variant %s: rename the program", r.Name, o.name)
	}
	r.Libraries = append(slices.Clone(r.Libraries), variants.WithDriver(o.driver, r.JoinDriven, variants.Variant{
		Name:    o.name,
		Summary: "a driver that was given with --driver: " + o.text,
		Forgoes: r.DrivenForgoes,
	}))
	return r, nil
}

// runsAsItIs reports whether a file is a program by itself. A Java or Python program without a first line that says what runs it is none,
// even if it is executable, like all files on some file systems.
func runsAsItIs(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Mode()&0o111 == 0 {
		return false
	}
	if _, err := platformByEnding(file); err != nil {
		return true
	}
	return beginsWith(file, "#!")
}

func beginsWith(file, text string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(text))
	_, err = io.ReadFull(f, first)
	return err == nil && string(first) == text
}
