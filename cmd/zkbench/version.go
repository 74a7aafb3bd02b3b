package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// commit is set by the Makefile (-ldflags -X) for builds without version control information.
var commit string

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version",
		Args: noArguments,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(a.stdout, "zkbench %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

func versionText() string {
	version, revision, modified := "devel", commit, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && revision == "":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "+changes"
			}
		}
	}
	if revision == "" { // the version of a module names its commit
		return version
	}
	return fmt.Sprintf("%s (%.12s%s)", version, revision, modified)
}
