package main

import (
	"github.com/spf13/cobra"
)

func plotCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "plot", RunE: func(*cobra.Command, []string) error { return nil }}
}
