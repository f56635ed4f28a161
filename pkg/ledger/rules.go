package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rules are what verdicts are made by: every row names those it was judged by.
type Rules struct {
	BinaryVersion string
	// Configuration is what verdicts hang on, as JSON makes it. It holds no
	// secrets.
	Configuration any
}

// RegisterRules sets the rules that rows name from now on. The same content is
// the same row, whoever registers it.
func (l *Ledger) RegisterRules(ctx context.Context, r Rules) error {
	if r.Configuration == nil {
		r.Configuration = struct{}{}
	}
	configuration, err := json.Marshal(r.Configuration)
	if err != nil {
		return fmt.Errorf("register rules: %w", l.plain(err))
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", r.BinaryVersion, configuration))
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	var id int32
	err = l.pool.QueryRow(ctx, `
INSERT INTO rules (digest, binary_version, configuration) VALUES ($1, $2, $3::jsonb)
ON CONFLICT (digest) DO NOTHING RETURNING rules_id`, digest[:], r.BinaryVersion, string(configuration)).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = l.pool.QueryRow(ctx, "SELECT rules_id FROM rules WHERE digest = $1", digest[:]).Scan(&id)
	}
	if err != nil {
		return fmt.Errorf("register rules: %w", l.plain(err))
	}
	l.rulesID.Store(id)
	return nil
}
