package money

// Parse reads plain notation: digits, with a minus before and a fraction behind
// them where there is one. It fails with a *ParseError. The scale is kept: 1.50
// has two fraction digits.
func Parse(text string) (Decimal, error) {
	d, err := parse(text)
	if err != nil {
		return Decimal{}, &ParseError{Value: text, Reason: err}
	}
	return d, nil
}

// MustParse is Parse for constants and tests, whose text is known to be good.
func MustParse(text string) Decimal {
	d, err := Parse(text)
	if err != nil {
		panic(err) //nolint:forbidigo // a wrong constant is a bug, not an error of the run
	}
	return d
}

// parse looks at the whole text before it judges digits, so that what isn't a
// decimal at all is called that, however many digits it begins with.
func parse(text string) (Decimal, error) {
	digits := text
	negative := digits != "" && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	point := -1
	for i := range len(digits) {
		switch {
		case digits[i] == '.' && point < 0:
			point = i
		case digits[i] < '0' || digits[i] > '9':
			return Decimal{}, ErrNotADecimal
		}
	}
	whole, fraction := digits, ""
	if point >= 0 {
		whole, fraction = digits[:point], digits[point+1:]
	}
	switch {
	case whole == "", point >= 0 && fraction == "":
		return Decimal{}, ErrNotADecimal
	case len(fraction) > MaxScale:
		return Decimal{}, ErrTooManyFractionDigits
	}
	c, ok := coefficient{}.withDigits(whole)
	if ok {
		c, ok = c.withDigits(fraction)
	}
	d := newDecimal(negative, c, uint8(len(fraction)))
	if !ok || !d.InRange() {
		return Decimal{}, ErrOutOfRange
	}
	return d, nil
}

// withDigits appends digits to a coefficient, a word's worth at a time, and
// tells whether 128 bits hold it.
func (c coefficient) withDigits(digits string) (coefficient, bool) {
	for digits != "" {
		count := min(len(digits), len(pow10)-1)
		var word uint64
		for i := range count {
			word = word*10 + uint64(digits[i]-'0')
		}
		shifted, okShift := c.times(pow10[count])
		sum, okSum := shifted.plus(coefficient{lo: word})
		if !okShift || !okSum {
			return coefficient{}, false
		}
		c, digits = sum, digits[count:]
	}
	return c, true
}
