package observe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	mostParents = 1 << 14 // directories that are known. When there are more, all are forgotten, and found again by the next creates.
	mostNumbers = 16      // of a directory that are kept: a server that lags has applied an earlier one
)

// made is the create of a sequential znode.
type made struct {
	by, zxid int64
	number   int32
}

// numbers has the latest creates of sequential znodes by directory. Each directory gives its numbers in order, to names with any prefix.
type numbers map[string][]made

// gone reports whether, at a transaction, the directory of a path had already given the number at its end, or a later one. The number after
// 2147483647 is -2147483648, and their difference, which overflows, is 1.
func (n numbers) gone(path string, zxid int64) bool {
	return slices.ContainsFunc(n[parentOf(path)], func(m made) bool {
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

// sequential follows the creates of sequential znodes, and the deletes of them and of their directories.
func (o *Observer) sequential(s *session, e wire.Exchange) {
	for _, p := range append(slices.Clip(e.Parts), wire.Part{Op: e.Op, Path: e.Path}) {
		if p.Op == wire.OpDelete && e.Code == wire.OK {
			o.renew(p.Path)
			if s.own == p.Path {
				s.own = ""
			}
		}
	}
	if !e.Sequential {
		return
	}
	directory, m := parentOf(e.Path), made{s.id, e.Zxid, e.Number}
	if slices.ContainsFunc(o.numbers[directory], func(b made) bool { return b.zxid < m.zxid && b.number-m.number >= 0 }) {
		o.renew(directory)
	}
	if len(o.numbers) == mostParents {
		clear(o.numbers)
	}
	known := o.numbers[directory]
	o.numbers[directory] = append(known[max(len(known)-mostNumbers+1, 0):], m)
	o.made.add(e.Path, m)
	s.own = e.Path
}

// renew forgets the numbers of a directory that is made anew: they are given again.
func (o *Observer) renew(directory string) {
	if o.numbers[directory] == nil {
		return
	}
	delete(o.numbers, directory)
	for _, s := range o.sessions {
		maps.DeleteFunc(s.waits, func(path string, _ time.Duration) bool { return parentOf(path) == directory })
	}
}
