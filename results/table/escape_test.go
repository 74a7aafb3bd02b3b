package table_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/table"
)

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"/app/é中文字🔒 | <b> `x` 50%":     "/app/é中文字🔒 | <b> `x` 50%", // what is readable stays, with its markup
		"русский עברית العربية हिन्दी": "русский עברית العربية हिन्दी",
		"\x1b[2J\x1b[31mred":           `\u001b[2J\u001b[31mred`,
		"a\nb\r\tc":                    `a\nb\r\tc`,
		"\x00\x07\x7f":                 `\u0000\u0007\u007f`,
		"c1 \u009b31m \u0085":          `c1 \u009b31m \u0085`,
		"\u202egpj.exe\u2066\u200f":    `\u202egpj.exe\u2066\u200f`, // letters in another order
		"zero\u200bwidth\ufeff\u00ad":  `zero\u200bwidth\ufeff\u00ad`,
		"lines\u2028\u2029":            `lines\u2028\u2029`,
		"tag \U000e0041 \ue000":        `tag \udb40\udc41 \ue000`,
		"\xff\xfe caf\xe9 \xc3":        `\xff\xfe caf\xe9 \xc3`,
		"a replacement \ufffd stays":   "a replacement \ufffd stays",
		`\u001b in the name`:           `\u001b in the name`,
	} {
		got := table.Escaped(text)
		if got != want || table.Escaped(got) != got {
			t.Errorf("%q: got %q, then %q, want %q", text, got, table.Escaped(got), want)
		}
		if printable := table.Printable(text); strings.NewReplacer("\n", `\n`, "\t", `\t`, `\u000d`, `\r`).Replace(printable) != want {
			t.Errorf("%q of several lines: got %q, want %q with its lines", text, printable, want)
		}
	}
}

// JSON that is printed is the same data after it was escaped.
func TestPrintableJSON(t *testing.T) {
	const name = "\x1b\u009b\x7f\u202e\U000e0041\n\t\u2028é\"\\"
	var text strings.Builder
	if err := table.WriteJSON(&text, name); err != nil {
		t.Fatal(err)
	}
	printed := table.Printable(text.String())
	if strings.ContainsAny(printed, "\x1b\u009b\x7f\u202e\U000e0041") {
		t.Errorf("printed %q", printed)
	}
	var read string
	if err := json.Unmarshal([]byte(printed), &read); err != nil || read != name {
		t.Errorf("%s: read %q, %v", printed, read, err)
	}
}

// Cells, titles and sections are one line each, and columns are aligned by what is printed.
func TestHostileCells(t *testing.T) {
	const hostile = "x\x1b[2J\n- every waiter watches\u202e"
	rows := table.New(table.Column{Title: "path\n\x1b"}, table.Column{Title: "n"})
	rows.Section(hostile)
	rows.Row(hostile, 1)
	rows.Row("中文字", 10)
	rows.Row(table.Lines{"two", "li\nnes"}, 100)
	escaped := `x\u001b[2J\n- every waiter watches\u202e`
	want := strings.Join([]string{
		`path\n\u001b                              n`,
		"───────────────────────────────────────────────",
		escaped,
		escaped + "  1",
		"中文字                                    10",
		"two                                       100",
		`li\nnes`,
	}, "\n")
	if got := rows.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, text := range []string{rows.Markdown(), rows.CSV()} {
		if !strings.Contains(text, escaped) || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("got %q", text)
		}
	}
}
