package producer

import (
	"fmt"
	"strings"

	"github.com/tieout/tieout/streams"
)

// A Tier picks the lane when a record is enqueued, and so its topic.
type Tier string

// The tiers.
const (
	// FastPath is for the daily trickle.
	FastPath Tier = "fast_path"
	// ComputeHeavy is for long claims.
	ComputeHeavy Tier = "compute_heavy"
	// DeadLetter is for what upstream has found to be wrong itself: it isn't
	// settled.
	DeadLetter Tier = "dead_letter"
)

// Tiers lists the tiers.
func Tiers() []Tier { return []Tier{FastPath, ComputeHeavy, DeadLetter} }

// ParseTier reads a tier's name.
func ParseTier(text string) (Tier, error) {
	names := make([]string, 0, len(Tiers()))
	for _, tier := range Tiers() {
		if string(tier) == text {
			return tier, nil
		}
		names = append(names, string(tier))
	}
	return "", fmt.Errorf("there is no tier %q: want one of %s", text, strings.Join(names, ", "))
}

// lane is the name of the lane that settles a tier; DeadLetter has none.
func (t Tier) lane() string {
	switch t {
	case FastPath:
		return "validate"
	case ComputeHeavy:
		return "accrue"
	case DeadLetter:
	}
	return ""
}

// topic is a stream's topic of this tier, without the installation's prefix. A
// stream without tiers has one lane.
func (t Tier) topic(stream string) (string, error) {
	for _, lane := range streams.Lanes() {
		switch {
		case lane.Stream.Name() != stream:
		case lane.Name == t.lane(), t == "":
			return lane.Topic, nil
		case t == DeadLetter:
			return lane.Topics.DeadLetter, nil
		}
	}
	return "", fmt.Errorf("the stream %s has no tier %q", stream, t)
}
