package money

import (
	"errors"
	"fmt"
)

var (
	// ErrNotADecimal is about text that isn't an optional minus and ASCII
	// digits with at most one point between digits: exponents, NaN, infinity,
	// white space, a plus and grouping are refused. Also about an encoded
	// decimal without bytes.
	ErrNotADecimal = errors.New("not a decimal in plain notation")

	// ErrTooManyFractionDigits is about more fraction digits than are kept,
	// zeros counted: nothing is rounded on the way in.
	ErrTooManyFractionDigits = errors.New("too many fraction digits")

	// ErrOutOfRange is about a number that doesn't fit numeric(38,9), or an
	// amount that doesn't fit numeric(18,2).
	ErrOutOfRange = errors.New("out of range")

	// ErrScale is about a scale outside 0 to 9, which is the caller's mistake.
	ErrScale = errors.New("scale is not between 0 and 9")

	// ErrUnknownRounding is about a rounding that isn't one of the named ones.
	ErrUnknownRounding = errors.New("unknown rounding")

	// errInexact is out of range as well: 28 digits don't hold the product, so
	// that rounding it to the cent would round it twice.
	errInexact = fmt.Errorf("%w: the product needs more than %d digits", ErrOutOfRange, precision)

	// errAmountOutOfRange names the column that is too small.
	errAmountOutOfRange = fmt.Errorf("%w: the amount doesn't fit numeric(18,2)", ErrOutOfRange)
)

// A ParseError says which text isn't a decimal, and why: errors.Is finds
// ErrNotADecimal, ErrTooManyFractionDigits or ErrOutOfRange in it.
type ParseError struct {
	Value  string
	Reason error
}

func (e *ParseError) Error() string { return fmt.Sprintf("decimal %q: %v", e.Value, e.Reason) }

// Unwrap returns the reason.
func (e *ParseError) Unwrap() error { return e.Reason }
