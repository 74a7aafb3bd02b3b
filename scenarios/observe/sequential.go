package observe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	mostParents = 1 << 14 // directories that are known. When there are more, all are forgotten, and found again by the next creates.
	mostNumbers = 16      // of a directory that are kept: a server that lags has applied an earlier one
)

// numbers has the latest creates of sequential znodes by directory. Each directory gives its numbers in order, to names with any prefix.
type numbers map[string][]origin

// gone reports whether, at a transaction, the directory of a path had already given the number at its end, or a later one. The number after
// 2147483647 is -2147483648, and their difference, which overflows, is 1.
func (n numbers) gone(path string, zxid int64) bool {
	return slices.ContainsFunc(n[parentOf(path)], func(m origin) bool {
		number, ok := numberIn(path, m.number < 0)
		return ok && m.zxid <= zxid && m.number-number >= 0
	})
}

// numberIn returns the number at the end of the path of a sequential znode. A hyphen before it is its sign if numbers are negative now.
func numberIn(path string, negative bool) (number int32, ok bool) {
	name := strings.TrimRight(path, "0123456789")
	if negative {
		name = strings.TrimSuffix(name, "-")
	}
	n, err := strconv.ParseInt(path[len(name):], 10, 32)
	return int32(n), err == nil && fmt.Sprintf("%0*d", sequenceDigits, n) == path[len(name):]
}

func (n numbers) add(directory string, m origin) {
	if len(n) == mostParents {
		clear(n)
	}
	known := n[directory]
	n[directory] = append(known[max(len(known)-mostNumbers+1, 0):], m)
}
