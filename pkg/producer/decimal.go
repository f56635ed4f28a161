package producer

import "github.com/tieout/tieout/pkg/settle"

// A decimalField is a decimal that a line states, and where its bytes go.
type decimalField struct {
	name, text string
	into       *[]byte
	optional   bool // empty is null
}

// fillDecimals reads decimals, and refuses the first that isn't one.
func fillDecimals(fields ...decimalField) *settle.Failure {
	for _, field := range fields {
		switch {
		case field.text == "" && field.optional:
			continue
		case field.text == "":
			return settle.Structural(settle.ReasonMissingField, field.name, "")
		}
		decimal, failure := settle.ParseDecimal(field.name, field.text)
		if failure != nil {
			return failure
		}
		unscaled, err := decimal.AppendUnscaled(make([]byte, 0, usualUnscaledBytes), settle.DecimalScale)
		if err != nil {
			return settle.Business(settle.ReasonOutOfRange, field.name, field.text).WithDetail("%v", err)
		}
		*field.into = unscaled
	}
	return nil
}

// usualUnscaledBytes is what most decimals take: nine digits before the point.
const usualUnscaledBytes = 8
