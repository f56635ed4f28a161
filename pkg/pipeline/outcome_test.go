package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// A stream need not have every outcome; one that it has all the same is no
// reason to publish it anywhere.
func TestPosting_WhoseOutcomeHasNoTopicIsAnError(t *testing.T) {
	o := &outcomeMaker{outcomeEncoder: &outcomeEncoder{topics: settle.OutcomeTopics{Dispute: "etrm.dispute", DeadLetter: "etrm.dlq"}}}
	_, err := o.posting(settle.Coordinates{Offset: 7}, &settle.Posting{Outcome: settle.AutoPost}, settle.Delivery{}, nil)
	require.EqualError(t, err, "outcome of AAAAAAAAAAAAAAAAAAAAAA/0/7: the lane has no topic for auto_post")
	o.topics = settle.OutcomeTopics{AutoPost: "etrm.autopost", DeadLetter: "etrm.dlq"}
	_, err = o.posting(settle.Coordinates{Offset: 7}, &settle.Posting{Outcome: settle.Dispute}, settle.Delivery{}, nil)
	require.EqualError(t, err, "outcome of AAAAAAAAAAAAAAAAAAAAAA/0/7: the lane has no topic for dispute")
}
