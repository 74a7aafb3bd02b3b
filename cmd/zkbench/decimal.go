package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// decimal is a flag's whole number that must be written as it reads. The flag library takes 010 for 8, as C does.
type decimal struct{ pflag.Value }

// Set implements pflag.Value.
func (d decimal) Set(text string) error {
	digits := strings.TrimPrefix(text, "-")
	if strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		return errors.New("wants a whole number in plain decimal digits, such as 10")
	}
	return d.Value.Set(text)
}

// onlyDecimals makes every whole number among the flags of a command, and of those below it, a decimal one.
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
