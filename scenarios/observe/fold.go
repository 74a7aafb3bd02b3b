package observe

import (
	"path"
	"strings"
)

// folded replaces a part of a name that differs from znode to znode.
const folded = "*"

const (
	sequenceDigits = 10 // of the number that a server appends to the name of a sequential znode
	leastHex       = 8  // hexadecimal letters and digits, at least one of them a digit, that make an id
	leastID        = 16 // letters and digits that make an id if they have no lower-case letter, or at least idDigits digits
	idDigits       = 6
	guidForm       = "********-****-****-****-************"
	hexDigits      = "0123456789abcdefABCDEF" // also of GUIDs

	lettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// fold replaces the parts of a path that differ from znode to znode: sequence numbers, GUIDs, ids in hexadecimal, and names
// that are numbers. All znodes of a lock, such as /app/lock/_c_4a1f…-lock-0000000007, then have one path:
// /app/lock/_c_*-lock-*.
func fold(path string) string {
	var out strings.Builder
	out.Grow(len(path))
	for i := 0; i < len(path); {
		rest := path[i:]
		n := len(rest) - len(strings.TrimLeft(rest, lettersAndDigits))
		switch {
		case isGUID(rest):
			n = len(guidForm)
			out.WriteString(folded)
		case n == 0:
			n = 1
			out.WriteByte(path[i])
		default:
			out.WriteString(foldRun(rest[:n], isName(path, i, n)))
		}
		i += n
	}
	return out.String()
}

// foldRun folds a run of letters and digits; name means that the run is the whole name of a znode.
func foldRun(run string, name bool) string {
	isHex := strings.Trim(run, hexDigits) == ""
	digits := len(run) - len(strings.TrimRight(run, "0123456789"))
	hexed, hasPrefix := strings.CutPrefix(run, "0x")
	switch {
	case name && digits == len(run),
		hasPrefix && hexed != "" && strings.Trim(hexed, hexDigits) == "",
		isHex && len(run) >= leastHex && digitsIn(run) > 0:
		return folded
	case digits >= sequenceDigits:
		return run[:len(run)-digits] + folded
	case len(run) >= leastID && (digitsIn(run) >= idDigits || strings.ToUpper(run) == run):
		return folded
	default:
		return run
	}
}

func digitsIn(s string) (n int) {
	for _, digit := range "0123456789" {
		n += strings.Count(s, string(digit))
	}
	return n
}

func isName(path string, start, length int) bool {
	end := start + length
	return start > 0 && path[start-1] == '/' && (end == len(path) || path[end] == '/')
}

func isGUID(s string) bool {
	if len(s) < len(guidForm) || len(s) > len(guidForm) && strings.IndexByte(lettersAndDigits, s[len(guidForm)]) >= 0 {
		return false
	}
	for i := range len(guidForm) {
		if guidForm[i] == '-' && s[i] != '-' || guidForm[i] == '*' && !strings.Contains(hexDigits, s[i:i+1]) {
			return false
		}
	}
	return true
}

// isSequential reports whether a path is that of a sequential znode, by the digits at its end.
func isSequential(path string) bool {
	return len(path)-len(strings.TrimRight(path, "0123456789")) >= sequenceDigits
}

func parentOf(znode string) string { return path.Dir(znode) }
