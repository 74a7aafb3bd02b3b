package table

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escaped returns text from outside, such as a client's path or a driver's error, as one line that is safe to print; see [Printable].
func Escaped(text string) string {
	return Printable(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text))
}

// Printable escapes the characters of a text that could move a terminal's cursor, hide letters or reverse their order, as JSON does:
// control and format characters, except line feeds and tabs. Bytes that are not UTF-8 become \x and two digits.
func Printable(text string) string {
	var out strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case unicode.IsGraphic(r) || r == '\n' || r == '\t':
			out.WriteString(text[:size])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return out.String()
}

// Line prints one line with an escaped text.
func Line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, Escaped(fmt.Sprintf(format, args...)))
}
