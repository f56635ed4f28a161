package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readCommitted hands over every committed record that topics hold now, with a
// client of its own that is in no group.
func readCommitted(ctx context.Context, options []kgo.Opt, topics []string, take func(*kgo.Record) error) error {
	client, err := kgo.NewClient(append(slices.Clone(options),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // a partition may end in one
	)...)
	if err != nil {
		return fmt.Errorf("set up the reader: %w", err)
	}
	defer client.Close()
	left, err := assignAll(ctx, client, topics)
	if err != nil {
		return err
	}
	for left.partitions() > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("read the topics: %w", err)
		}
		for _, failed := range fetches.Errors() {
			return fmt.Errorf("read %s[%d]: %w", failed.Topic, failed.Partition, failed.Err)
		}
		var failure error
		fetches.EachRecord(func(r *kgo.Record) {
			if failure == nil && left.pass(r) && !r.Attrs.IsControl() {
				failure = take(r)
			}
		})
		if failure != nil {
			return failure
		}
	}
	return nil
}

// unreadEnds are where partitions end that are not read to their end yet.
type unreadEnds map[string]map[int32]int64

// assignAll assigns every partition that holds anything, from its start.
func assignAll(ctx context.Context, client *kgo.Client, topics []string) (unreadEnds, error) {
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("where the topics start: %w", err)
	}
	ends, err := admin.ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("where the topics end: %w", err)
	}
	left, from := unreadEnds{}, map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		if start.Offset >= end.Offset {
			return
		}
		if left[end.Topic] == nil {
			left[end.Topic], from[end.Topic] = map[int32]int64{}, map[int32]kgo.Offset{}
		}
		left[end.Topic][end.Partition] = end.Offset
		from[end.Topic][end.Partition] = kgo.NewOffset().At(start.Offset)
	})
	client.AddConsumePartitions(from)
	return left, nil
}

func (u unreadEnds) partitions() (total int) {
	for _, ends := range u {
		total += len(ends)
	}
	return total
}

// pass notes how far a partition is read. It returns false for what came later
// than the end.
func (u unreadEnds) pass(r *kgo.Record) bool {
	end, unread := u[r.Topic][r.Partition]
	if unread && r.Offset+1 >= end {
		delete(u[r.Topic], r.Partition)
	}
	return unread && r.Offset < end
}
