package reconcile

import "github.com/tieout/tieout/pkg/ledger"

// A comparison makes groups of an ordered stream of rows, has each judged, and
// adds up.
type comparison struct {
	judge  judge
	byNode bool
	report *Report
	each   func(*Finding) error
	period period // of the statement's lines

	group group
	begun bool
}

// take takes the next row.
func (c *comparison) take(row *ledger.ComparedRow) error {
	if !c.begun || !c.group.isOf(row, c.byNode) {
		if err := c.end(); err != nil {
			return err
		}
		c.group.begin(row, c.byNode)
		c.begun = true
	}
	c.group.add(row)
	return nil
}

// end judges the group in hand.
func (c *comparison) end() error {
	if !c.begun {
		return nil
	}
	c.begun = false
	finding := c.judge.find(&c.group)
	c.report.add(&c.group, finding)
	if finding == nil {
		return nil
	}
	if c.group.lines == 0 && !c.period.holds(c.group.interval) {
		c.report.MissingBeyond++
	}
	if c.each == nil {
		return nil
	}
	return c.each(finding)
}
