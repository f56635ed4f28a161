package money

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"
)

// A Rounding says what becomes of the digits that go. The names and meanings
// are those of Python's decimal module; up is away from zero, down towards it.
type Rounding int

// The roundings. A stream settles with one; a statement's difference may be
// explained by another.
const (
	HalfUp     Rounding = iota // the nearest; a tie away from zero
	HalfEven                   // the nearest; a tie to the even digit
	HalfDown                   // the nearest; a tie towards zero
	Up                         // away from zero
	Down                       // towards zero
	Ceiling                    // towards positive infinity
	Floor                      // towards negative infinity
	ZeroFiveUp                 // away from zero where the last digit would be 0 or 5, else towards it
)

// Roundings returns all of them.
func Roundings() []Rounding {
	return []Rounding{HalfUp, HalfEven, HalfDown, Up, Down, Ceiling, Floor, ZeroFiveUp}
}

// rounder returns the rounding's name, which is also apd's, and empty for what
// isn't one.
func (r Rounding) rounder() apd.Rounder {
	switch r {
	case HalfUp:
		return apd.RoundHalfUp
	case HalfEven:
		return apd.RoundHalfEven
	case HalfDown:
		return apd.RoundHalfDown
	case Up:
		return apd.RoundUp
	case Down:
		return apd.RoundDown
	case Ceiling:
		return apd.RoundCeiling
	case Floor:
		return apd.RoundFloor
	case ZeroFiveUp:
		return apd.Round05Up
	}
	return ""
}

// String returns the name in configuration and reports: half_up.
func (r Rounding) String() string {
	if name := string(r.rounder()); name != "" {
		return name
	}
	return fmt.Sprintf("Rounding(%d)", int(r))
}

// ParseRounding is the inverse of Rounding.String.
func ParseRounding(name string) (Rounding, error) {
	for _, r := range Roundings() {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("%w %q", ErrUnknownRounding, name)
}
