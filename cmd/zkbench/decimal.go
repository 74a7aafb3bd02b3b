package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// decimal is the value of a whole-number flag that accepts decimal digits only. The flag library reads 010 as 8.
type decimal struct{ pflag.Value }

// Set implements pflag.Value.
func (d decimal) Set(text string) error {
	digits := strings.TrimPrefix(text, "-")
	if strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		return errors.New("must be a whole number in plain decimal digits, such as 10")
	}
	return d.Value.Set(text)
}

// onlyDecimals makes all whole-number flags of a command and its subcommands decimal.
func onlyDecimals(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); kind == "int" || kind == "uint64" {
			f.Value = decimal{f.Value}
		}
	})
	for _, below := range cmd.Commands() {
		onlyDecimals(below)
	}
}
