package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/must"
)

// docPage is a page of the documentation, taken apart.
type docPage struct {
	name    string // the path in the repository
	text    string
	blocks  []codeBlock
	inline  []passage // code within prose
	links   []passage // the targets of links
	anchors []string
}

// codeBlock is a fenced block, or an indented one, which has no language.
type codeBlock struct {
	language, marker string // marker is the HTML comment in the line above, such as "run"
	text             string
	line             int
}

type passage struct {
	text string
	line int
}

// pages returns all pages that a user or a contributor reads.
func pages(t *testing.T) []docPage {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md"}
	root := os.DirFS("../..")
	must.Do(t, fs.WalkDir(root, "docs", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	}))
	all := []docPage{}
	for _, name := range names {
		all = append(all, parsePage(name, string(must.Get(fs.ReadFile(root, name))(t))))
	}
	return all
}

func parsePage(name, text string) docPage {
	p := docPage{name: name, text: text}
	var prose strings.Builder // with an empty line for each line of a block, so that its lines have the page's numbers
	open, fence, before := false, "", ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		last := len(p.blocks) - 1
		switch {
		case open && trimmed == fence:
			open = false
		case open:
			p.blocks[last].text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
			p.blocks = append(p.blocks, codeBlock{language: trimmed[len(fence):], marker: marker(before), line: i + 2})
			open = true
		case strings.HasPrefix(line, "    ") && (before == "" || strings.HasPrefix(before, "    ")):
			if !strings.HasPrefix(before, "    ") {
				p.blocks = append(p.blocks, codeBlock{line: i + 1})
				last++
			}
			p.blocks[last].text += line + "\n"
		default:
			prose.WriteString(line)
		}
		prose.WriteString("\n")
		before = line
	}
	p.readProse(prose.String())
	return p
}

// marker returns the text of an HTML comment.
func marker(line string) string {
	text, found := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	if !found {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(text, "-->"))
}

func (p *docPage) readProse(prose string) {
	lineOf := func(i int) int { return 1 + strings.Count(prose[:i], "\n") }
	code, heading := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`(?m)^#.*`)
	sentences := heading.ReplaceAllString(prose, "") // a heading may quote a message
	for _, at := range code.FindAllStringSubmatchIndex(sentences, -1) {
		p.inline = append(p.inline, passage{strings.Join(strings.Fields(sentences[at[2]:at[3]]), " "), 1 + strings.Count(sentences[:at[0]], "\n")})
	}
	for line := range strings.Lines(prose) {
		if title := strings.TrimLeft(line, "#"); title != line {
			p.anchors = append(p.anchors, anchor(title))
		}
	}
	for i, name := range p.anchors { // GitHub numbers repeated headings
		if n := len(slices.DeleteFunc(slices.Clone(p.anchors[:i]), func(other string) bool { return other != name })); n > 0 {
			p.anchors = append(p.anchors, fmt.Sprintf("%s-%d", name, n))
		}
	}
	for _, at := range regexp.MustCompile(`(?:name|id)="([^"]+)"`).FindAllStringSubmatch(prose, -1) {
		p.anchors = append(p.anchors, at[1])
	}
	plain := code.ReplaceAllStringFunc(prose, func(s string) string { return regexp.MustCompile(`[^\n]`).ReplaceAllString(s, "x") })
	for _, at := range regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`).FindAllStringSubmatchIndex(plain, -1) {
		from := max(at[2], at[4])
		p.links = append(p.links, passage{plain[from:max(at[3], at[5])], lineOf(from)})
	}
}

// anchor returns the name that GitHub gives to a heading: its letters, digits, dashes and underscores in lower case, with dashes for spaces.
func anchor(title string) string {
	title = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(title), "$1")
	title = regexp.MustCompile(`[^\p{L}\p{N}\- _]`).ReplaceAllString(strings.ToLower(title), "")
	return strings.ReplaceAll(title, " ", "-")
}

// A page that is longer is not read to its end.
func TestPagesAreShort(t *testing.T) {
	for _, p := range pages(t) {
		mostLines, mostWords := 250, 2500
		if p.name == "README.md" {
			mostLines, mostWords = 150, 1200
		}
		isWord := func(field string) bool {
			return strings.ContainsFunc(field, unicode.IsLetter) || strings.ContainsFunc(field, unicode.IsDigit)
		}
		lines, words := strings.Count(p.text, "\n"), len(list.Where(strings.Fields(p.text), isWord)) // without the rules of tables
		if lines > mostLines || words > mostWords {
			t.Errorf("%s has %d lines and %d words, want at most %d and %d", p.name, lines, words, mostLines, mostWords)
		}
	}
}

func TestLinksResolve(t *testing.T) {
	anchors := map[string][]string{}
	all := pages(t)
	for _, p := range all {
		anchors[p.name] = p.anchors
	}
	for _, p := range all {
		for _, link := range p.links {
			if strings.Contains(link.text, "://") || strings.HasPrefix(link.text, "mailto:") {
				continue
			}
			file, at, hasAnchor := strings.Cut(link.text, "#")
			target := p.name
			if file != "" {
				target = path.Join(path.Dir(p.name), file)
			}
			known, isPage := anchors[target]
			if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(target))); err != nil {
				t.Errorf("%s:%d links to %s, which is missing", p.name, link.line, target)
			} else if hasAnchor && isPage && !slices.Contains(known, at) {
				t.Errorf("%s:%d links to #%s, but %s has no such heading", p.name, link.line, at, target)
			}
		}
	}
}

// Each page can be found from the map.
func TestMapHasEveryPage(t *testing.T) {
	linked := map[string]bool{"docs/README.md": true, "README.md": true}
	all := pages(t)
	for _, p := range all {
		if p.name == "docs/README.md" {
			for _, link := range p.links {
				file, _, _ := strings.Cut(link.text, "#")
				linked[path.Join("docs", file)] = true
			}
		}
	}
	for _, p := range all {
		if !linked[p.name] {
			t.Errorf("docs/README.md does not link to %s", p.name)
		}
	}
}

// The headings of docs/troubleshooting.md are messages of the program, so that a search for a message finds them. What varies in a message
// is "…" there.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	var source strings.Builder
	must.Do(t, filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		source.Write(text)
		return err
	}))
	program := regexp.MustCompile(`" \+\s+"`).ReplaceAllString(source.String(), "") // texts that are split over lines
	text := string(must.Get(os.ReadFile("../../docs/troubleshooting.md"))(t))
	for _, heading := range regexp.MustCompile("(?m)^### .*").FindAllString(text, -1) {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(heading, -1) {
			for part := range strings.SplitSeq(message[1], "…") {
				if part = strings.TrimSpace(part); !strings.Contains(program, part) {
					t.Errorf("docs/troubleshooting.md quotes %q, but no message has %q", message[1], part)
				}
			}
		}
	}
}
