package ledger

import "errors"

// MayCome tells a database that is away, or not ready yet, from one that
// refuses: only for the first is it worth to wait and Open again.
func MayCome(err error) bool {
	var connect *ConnectError
	if !errors.As(err, &connect) || connect.Cause == nil {
		return false
	}
	pg := postgresError(connect.Cause)
	if pg == nil {
		return true // nobody answered
	}
	switch pg.Code[:2] {
	case "08", // the connection broke
		"53", // too many connections, out of memory or disk
		"57": // starting up, shutting down
		return true
	}
	return false
}
