package ledger

import (
	"fmt"
	"strings"
)

// A RightsError is returned by Migrate where the login may not do what setting
// up takes: it says in one line who has to do what.
type RightsError struct {
	Login  string
	Why    string   // in the server's words
	Remedy []string // statements for somebody who may
	Cause  error    // nil where the server granted nothing, and was silent
}

func (e *RightsError) Error() string {
	return fmt.Sprintf("database role %s lacks the rights to set up (%s): run `tieout setup` as an administrator, or have one run this and then run it again: %s;",
		e.Login, e.Why, strings.Join(e.Remedy, "; "))
}

func (e *RightsError) Unwrap() error { return e.Cause }

// refused explains an error that came at the first of these changes. Where it's
// not about rights it's returned as it is.
func (c *catalog) refused(changes []change, err error) error {
	if !hasState(err, stateInsufficientRight) {
		return fmt.Errorf("%s: %w", changes[0].Step, err)
	}
	return c.rightsError(changes, changes[0].String()+": "+postgresError(err).Message, err)
}

// rightsError asks for changes that the login may not make itself.
func (c *catalog) rightsError(changes []change, why string, cause error) *RightsError {
	remedy := make([]string, len(changes))
	for i, change := range changes {
		remedy[i] = change.sql
	}
	return &RightsError{Login: c.login, Why: why, Remedy: remedy, Cause: cause}
}
