package embedded

import (
	"testing"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// A multi whose end is cut off has no operations, so that a server that answers with an error changes nothing.
func TestMultiWithoutItsEnd(t *testing.T) {
	e := jute.NewFrame(100)
	encodeHeader(e, wire.OpDelete, false, noCode)
	e.Text("/a")
	e.Int(-1)
	encodeHeader(e, endOfMulti, true, noCode)
	whole := e.Frame()[4:]
	for _, cut := range []int{0, 1, 4, 5, 9} {
		if n := len(readOperations(jute.NewDecoder(whole[:len(whole)-cut]), nil)); n > 0 != (cut == 0) {
			t.Errorf("without its last %d bytes, a multi of one operation has %d", cut, n)
		}
	}
}
