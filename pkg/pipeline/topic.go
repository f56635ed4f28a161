package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A TopicError says that a topic can't serve as it is, and what to do.
type TopicError struct {
	Topic string
	Why   string
}

func (e *TopicError) Error() string { return fmt.Sprintf("topic %s: %s", e.Topic, e.Why) }

// checkTopics makes sure that the lane's topics are there and keep what they
// are given: a compacted topic loses records. It learns how large an outcome
// may be. A *TopicError is for good; any other error may pass.
func (w *Worker) checkTopics(ctx context.Context) error {
	topics := append([]string{w.o.Topic()}, w.outcomeTopics()...)
	described, err := w.admin.ListTopics(ctx, topics...)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if d := described[topic]; d.Topic == "" || d.Err != nil {
			return &TopicError{topic, "there is none; run: tieout setup"}
		}
	}
	configs, err := w.admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return err
	}
	least := int64(0)
	for _, c := range configs {
		if c.Err != nil {
			return fmt.Errorf("describe topic %s: %w", c.Name, c.Err)
		}
		if policy := configValue(c, "cleanup.policy"); policy != "" && policy != "delete" {
			return &TopicError{c.Name, fmt.Sprintf("its cleanup.policy is %q, which loses records; set it to delete", policy)}
		}
		limit, err := strconv.ParseInt(configValue(c, "max.message.bytes"), 10, 32)
		if err == nil && c.Name != w.o.Topic() && (least == 0 || limit < least) {
			least = limit
		}
	}
	if least <= 0 {
		return errors.New("the broker doesn't tell max.message.bytes of the outcome topics")
	}
	w.outcomes.maxMessageBytes = int(least)
	return nil
}

func configValue(c kadm.ResourceConfig, key string) string {
	for _, entry := range c.Configs {
		if entry.Key == key {
			return entry.MaybeValue()
		}
	}
	return ""
}
