package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Formats returns the formats of commands that print tables, first the default one.
func Formats() []string { return []string{"text", "markdown", "csv", "json"} }

// WriteJSON writes the content of a table as indented JSON. Unlike in a document, < and > stay readable.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// Count formats a number with about three digits.
func Count(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// Whole formats a number without decimals.
func Whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// Grouped formats a whole number with a comma before every three digits.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Percentage formats a share of 1 with three digits, however small it is.
func Percentage(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

// Bytes formats a number of bytes. From 10 kB on it has about three digits.
func Bytes(n float64) string {
	switch {
	case n >= 1e6:
		return Count(n/1e6) + " MB"
	case n >= 1e4:
		return Count(n/1e3) + " kB"
	default:
		return fmt.Sprintf("%.0f B", n)
	}
}

// Latency formats nanoseconds with about three digits, in s, ms or µs.
func Latency(ns float64) string {
	switch d := time.Duration(ns); {
	case d >= 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return Count(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return Count(d.Seconds()*1e3) + " ms"
	default:
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
}

// Plural returns the noun in the form that follows the number n.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Number is a value that may be missing (NaN) or infinite. Both are null in JSON, and empty as a text.
type Number float64

// Finite reports whether the number is neither missing nor infinite.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements [encoding/json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Finite() {
		return []byte("null"), nil
	}
	return []byte(n.String()), nil
}

// String returns at most 12 digits, because computing with logarithms loses the others.
func (n Number) String() string {
	if !n.Finite() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', 12, 64)
}

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
