package ledger

import "sync"

// waryBatches is how many batches of a source must come without a copy of
// anything, after one that had some, until the next is taken to have none. A
// guess that is wrong costs a transaction that is rolled back, and its rows'
// space until the next vacuum: at most one batch in so many.
const waryBatches = 32

// news guesses whether a batch is all new to the ledger, by what its source
// brought before. It's never more than a guess: the ledger's key decides.
type news struct {
	mu   sync.Mutex
	wary map[int32]int // batches left, by source
}

// expects tells whether the source's next batch is likely to be all new.
func (n *news) expects(source int32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wary[source] == 0
}

// note learns from a batch: whether the ledger had any of its keys.
func (n *news) note(source int32, met bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wary == nil {
		n.wary = make(map[int32]int)
	}
	switch {
	case met:
		n.wary[source] = waryBatches
	case n.wary[source] > 0:
		n.wary[source]--
	}
}
