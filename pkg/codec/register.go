package codec

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/twmb/franz-go/pkg/sr"
)

// compatibility is the level of every subject: a topic keeps records of all
// versions, and a replay reads them.
const compatibility = sr.CompatBackwardTransitive

// Register sees to it that the subject has the schema and the compatibility
// level, and returns the schema's id and whether it's new. A new one is first
// held against every version that the subject has: registries check neither
// decimals nor what is frozen. Asking twice changes nothing. The error is an
// *IncompatibleSchemaError or a *RegistryError.
func (r *Registry) Register(ctx context.Context, subject, schemaText string) (id int, created bool, err error) {
	s, err := parseSchema(schemaText)
	if err == nil {
		err = checkOwnRules(s, "")
	}
	if err != nil {
		return 0, false, &IncompatibleSchemaError{Subject: subject, Why: oneLine(err.Error())}
	}
	if err := r.setCompatibility(ctx, subject); err != nil {
		return 0, false, err
	}
	id, err = r.Lookup(ctx, subject, schemaText)
	if !errors.Is(err, ErrNotRegistered) {
		return id, false, err
	}
	if err := r.checkVersions(ctx, subject, s); err != nil {
		return 0, false, err
	}
	id, err = r.client.RegisterSchema(ctx, subject, sr.Schema{Schema: schemaText}, -1, -1)
	if err != nil {
		return 0, false, r.refusedBy(ctx, subject, err)
	}
	return id, true, nil
}

// refusedBy tells a registry that refuses the schema from one that fails.
func (r *Registry) refusedBy(ctx context.Context, subject string, err error) error {
	var response *sr.ResponseError
	if errors.As(err, &response) {
		switch response.StatusCode {
		case http.StatusConflict, http.StatusUnprocessableEntity:
			return &IncompatibleSchemaError{Subject: subject, Why: "the registry says: " + oneLine(response.Error())}
		}
	}
	return r.failed(ctx, "register a schema under subject "+subject, err)
}

// setCompatibility sets the subject's level, unless it's set already.
func (r *Registry) setCompatibility(ctx context.Context, subject string) error {
	asked := "the compatibility of subject " + subject
	now := r.client.Compatibility(ctx, subject)[0]
	switch {
	case now.Err == nil && now.Level == compatibility:
		return nil
	case now.Err != nil && !isMissing(now.Err):
		return r.failed(ctx, asked, now.Err)
	}
	set := r.client.SetCompatibility(ctx, sr.SetCompatibility{Level: compatibility}, subject)[0]
	if set.Err != nil {
		return r.failed(ctx, asked, set.Err)
	}
	return nil
}

// maxVersions bounds how many versions of a subject are looked at.
const maxVersions = 1000

// checkVersions says which registered version doesn't go with a new schema.
func (r *Registry) checkVersions(ctx context.Context, subject string, s *schema) error {
	asked := "the versions of subject " + subject
	versions, err := r.client.SubjectVersions(ctx, subject)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return r.failed(ctx, asked, err)
	case len(versions) > maxVersions:
		return &IncompatibleSchemaError{Subject: subject, Why: fmt.Sprintf("the subject has more than %d versions", maxVersions)}
	}
	for _, version := range versions {
		registered, err := r.client.SchemaByVersion(ctx, subject, version)
		if err != nil {
			return r.failed(ctx, asked, err)
		}
		if err := checkVersion(registered.Schema, s); err != nil {
			return &IncompatibleSchemaError{Subject: subject, Version: version, Why: oneLine(err.Error())}
		}
	}
	return nil
}

// checkVersion says why a new schema can't come after a registered one: what
// is written in that must stay readable, and what it froze stays frozen.
func checkVersion(registered sr.Schema, s *schema) error {
	if why := unreadable(registered); why != "" {
		return errors.New(why)
	}
	earlier, err := parseSchema(registered.Schema)
	if err != nil {
		return err
	}
	if err := checkReadable(s, earlier, ""); err != nil {
		return err
	}
	return checkStillFrozen(earlier, s, "")
}
