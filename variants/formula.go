package variants

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Formula is a cost as a function of N, the number of clients, such as "(N-1)(N+2)/2N (1 for N=1)", and of S, the size of what
// the recipe works on, such as "1 + (S+1)(N-1)". The same text is printed and evaluated. An empty formula states no cost. The
// grammar, where [ ] is optional and { } is repeated:
//
//	formula  = ( "no bound" [ reason ] | bound [ " with " name "=" sum { "," name "=" sum } ] ) [ " (" sum " for N=1)" ]
//	bound    = sum [ ", or" sum "if" sum "=" sum ]
//	sum      = quotient { ( "+" | "-" ) quotient }
//	quotient = product { ( "/" | "*" | "·" ) product }
//	product  = power { power }
//	power    = factor [ "²" | "³" ]
//	factor   = number | name | "(" sum ")" | "⌈" sum "⌉" | "⌊" sum "⌋" | ( "min" | "max" ) "(" sum "," sum ")"
//
// A product without a sign binds tighter than a division: "(N-1)(N-2)/2N" is ((N-1)·(N-2)) / (2·N). Only its first power
// may start with a number. A name is one letter, so that "wr" is w·r: N, S, or one that is defined after "with".
type Formula string

// At returns the cost for n clients and a size of 1; see AtSize.
func (f Formula) At(n int) float64 { return f.AtSize(n, 1) }

// NamesSize reports whether the cost depends on the size.
func (f Formula) NamesSize() bool { return strings.Contains(string(f), "S") }

// AtSize returns the cost for n clients and a size. It is +Inf where there is no bound and where the formula is empty. It
// panics, with the text and the offset of the mistake, if the text does not follow the grammar. This does not depend on the
// numbers.
func (f Formula) AtSize(n, size int) float64 {
	if f == "" {
		return math.Inf(1)
	}
	e := evaluator{formula: f, names: map[byte]fraction{'N': {float64(n), 1}, 'S': {float64(size), 1}}}
	text, excepted := strings.CutSuffix(string(f), " for N=1)")
	open := strings.LastIndex(text, " (")
	if !excepted || open < 0 {
		return e.cost(string(f))
	}
	more := e.cost(text[:open])
	e.part, e.offset = text, open+len(" (")
	alone := e.sum()
	if e.end(); n == 1 {
		return alone.value()
	}
	return more
}

// evaluator walks through a formula by recursive descent: one method for each rule of the grammar.
type evaluator struct {
	formula Formula
	part    string // the formula up to the end of the part that is evaluated
	offset  int    // of the next character, in the formula and in the part
	names   map[byte]fraction
}

const letters = "NSabcdefghijklmnopqrstuvwxyz"

// cost evaluates a formula without its exception for N = 1. The definitions stand last and are needed first.
func (e *evaluator) cost(text string) float64 {
	if strings.HasPrefix(text, "no bound") {
		return math.Inf(1)
	}
	if with := strings.Index(text, " with "); with >= 0 {
		e.part, e.offset = text, with+len(" with ")
		for more := true; more; more = e.accept(",") {
			name := e.name()
			e.expect("=")
			e.names[name] = e.sum()
		}
		e.end()
		text = text[:with]
	}
	e.part, e.offset = text, 0
	value := e.sum()
	if e.accept(", or") {
		if other := e.upTo("if"); e.upTo("=").value() == e.sum().value() {
			value = other
		}
	}
	e.end()
	return value.value()
}

func (e *evaluator) sum() fraction {
	for value := e.quotient(); ; {
		switch {
		case e.accept("+"):
			value = value.plus(e.quotient())
		case e.accept("-"):
			value = value.plus(e.quotient().times(fraction{-1, 1}))
		default:
			return value
		}
	}
}

func (e *evaluator) quotient() fraction {
	for value := e.product(); ; {
		switch {
		case e.accept("/"):
			divisor := e.product()
			value = value.times(fraction{divisor.den, divisor.num})
		case e.accept("*"), e.accept("·"):
			value = value.times(e.product())
		default:
			return value
		}
	}
}

// The word "if" ends a product. It is not the product of two names.
func (e *evaluator) product() fraction {
	value := e.power()
	for strings.IndexAny(e.rest(), "(⌈⌊"+letters) == 0 && !strings.HasPrefix(e.rest(), "if ") {
		value = value.times(e.power())
	}
	return value
}

func (e *evaluator) power() fraction {
	value := e.factor()
	switch {
	case e.accept("²"):
		return value.times(value)
	case e.accept("³"):
		return value.times(value).times(value)
	}
	return value
}

func (e *evaluator) factor() fraction {
	switch {
	case e.accept("("):
		return e.upTo(")")
	case e.accept("⌈"):
		return fraction{math.Ceil(e.upTo("⌉").value()), 1}
	case e.accept("⌊"):
		return fraction{math.Floor(e.upTo("⌋").value()), 1}
	case e.accept("min("):
		return fraction{min(e.upTo(",").value(), e.upTo(")").value()), 1}
	case e.accept("max("):
		return fraction{max(e.upTo(",").value(), e.upTo(")").value()), 1}
	}
	rest := e.rest()
	if after := strings.TrimLeft(rest, "0123456789."); after != rest {
		whole, decimals, _ := strings.Cut(strings.TrimSuffix(rest, after), ".")
		digits, err := strconv.ParseUint(whole+decimals, 10, 64)
		e.require(err == nil, "a number")
		e.offset = len(e.part) - len(after)
		return fraction{float64(digits), math.Pow10(len(decimals))}
	}
	value, known := e.names[e.name()]
	e.require(known, "a name that is defined before this")
	return value
}

func (e *evaluator) name() byte {
	rest := e.rest()
	e.require(strings.IndexAny(rest, letters) == 0, "a number, a name or a parenthesis")
	e.offset++
	return rest[0]
}

func (e *evaluator) upTo(token string) fraction {
	value := e.sum()
	e.expect(token)
	return value
}

func (e *evaluator) expect(token string) { e.require(e.accept(token), strconv.Quote(token)) }

func (e *evaluator) end() { e.require(e.rest() == "", "an operator or the end") }

func (e *evaluator) accept(token string) bool {
	if !strings.HasPrefix(e.rest(), token) {
		return false
	}
	e.offset += len(token)
	return true
}

func (e *evaluator) rest() string {
	rest := strings.TrimLeft(e.part[e.offset:], " ")
	e.offset = len(e.part) - len(rest)
	return rest
}

func (e *evaluator) require(ok bool, want string) {
	if !ok {
		panic(fmt.Sprintf("formula %q: want %s at offset %d", e.formula, want, e.offset))
	}
}

// fraction keeps a number, such as 0.1, as two whole ones, so that only the cost itself is rounded. A count divided by
// its operations is rounded in the same way, and can be compared with the cost.
type fraction struct{ num, den float64 }

func (a fraction) plus(b fraction) fraction {
	return fraction{a.num*b.den + b.num*a.den, a.den * b.den}
}

func (a fraction) times(b fraction) fraction { return fraction{a.num * b.num, a.den * b.den} }

func (a fraction) value() float64 { return a.num / a.den }
