// Package planted checks zkbench by mistakes that are planted in it: in the counts of frames, the recorder, the runner, and variants.
//
// It takes one position: a check is worth what it catches. Each mistake is planted by itself, and a run or the gate must fail.
package planted
