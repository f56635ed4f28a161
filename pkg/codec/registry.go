package codec

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// DefaultTimeout is what RegistryOptions.Timeout is where it's not set: long for a
// registry, which answers from memory, and short for a partition that waits.
const DefaultTimeout = 5 * time.Second

// RegistryOptions say where the schema registry is and how to talk to it.
type RegistryOptions struct {
	// URL of the registry's Confluent API, with its path where it has one. It
	// may hold no credentials: it's shown in errors.
	URL string

	// Username and Password are for basic authentication; none where both are
	// empty.
	Username, Password string

	// Timeout bounds each request, from the dial to the last byte.
	Timeout time.Duration

	// HTTPClient is used in place of a plain one, for a certificate authority
	// or a proxy of one's own. Its own Timeout doesn't count.
	HTTPClient *http.Client
}

// Validate sets what isn't set and says what can't be.
func (o *RegistryOptions) Validate() error {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		// The parser's error would quote the URL, with any password in it.
		return errors.New("schema registry: the URL isn't one")
	case u.User != nil:
		return errors.New("schema registry: the URL holds credentials: give user name and password by themselves")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("schema registry: URL %q: want http://HOST or https://HOST", o.URL)
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("schema registry: the URL has something behind its path")
	case o.Password != "" && o.Username == "":
		return errors.New("schema registry: there is a password and no user name")
	case o.Timeout < 0:
		return fmt.Errorf("schema registry: the time-out is %s", o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return nil
}

// A Registry is a client of a schema registry. It keeps nothing and tries
// nothing twice; its user knows when to ask again. It's safe for concurrent
// use.
type Registry struct {
	client  *sr.Client
	http    *http.Client
	url     string
	timeout time.Duration
}

// NewRegistry makes a client; it doesn't connect.
func NewRegistry(opts RegistryOptions) (*Registry, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	var client http.Client
	if opts.HTTPClient != nil {
		client = *opts.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: opts.Timeout}
	}
	client.Transport = boundedTransport{next: client.Transport}
	client.Timeout = opts.Timeout

	clientOpts := []sr.ClientOpt{sr.URLs(opts.URL), sr.HTTPClient(&client), sr.UserAgent("tieout")}
	if opts.Username != "" {
		clientOpts = append(clientOpts, sr.BasicAuth(opts.Username, opts.Password))
	}
	inner, err := sr.NewClient(clientOpts...)
	if err != nil {
		return nil, fmt.Errorf("schema registry %s: %w", opts.URL, err)
	}
	return &Registry{client: inner, http: &client, url: opts.URL, timeout: opts.Timeout}, nil
}

// Close closes the connections that wait to be used again.
func (r *Registry) Close() { r.http.CloseIdleConnections() }

// Schema returns the text of an Avro schema. The error is ErrUnknownSchema, a
// *RefusedSchemaError where it's something else than one Avro schema by itself,
// or a *RegistryError.
func (r *Registry) Schema(ctx context.Context, schemaID int) (string, error) {
	s, err := r.client.SchemaByID(ctx, schemaID)
	var tooLarge *tooLargeError
	switch {
	case isMissing(err):
		return "", fmt.Errorf("schema %d: %w", schemaID, ErrUnknownSchema)
	case errors.As(err, &tooLarge) && tooLarge.status == http.StatusOK:
		// The registry is well; it's this schema that nobody should read.
		return "", &RefusedSchemaError{ID: schemaID, Why: tooLarge.Error()}
	case err != nil:
		return "", r.failed(ctx, fmt.Sprintf("schema %d", schemaID), err)
	}
	if why := unreadable(s); why != "" {
		return "", &RefusedSchemaError{ID: schemaID, Why: why}
	}
	return s.Schema, nil
}

// Lookup returns the id that the schema has under the subject. The error is
// ErrNotRegistered or a *RegistryError.
func (r *Registry) Lookup(ctx context.Context, subject, schema string) (int, error) {
	found, err := r.client.LookupSchema(ctx, subject, sr.Schema{Schema: schema})
	switch {
	case isMissing(err):
		return 0, fmt.Errorf("subject %s: the schema is %w", subject, ErrNotRegistered)
	case err != nil:
		return 0, r.failed(ctx, "the schema of subject "+subject, err)
	}
	return found.ID, nil
}

// unreadable says why a registered schema can't be taken as Avro text, or
// returns nothing.
func unreadable(s sr.Schema) string {
	switch {
	case s.Type != sr.TypeAvro:
		return fmt.Sprintf("its type is %s, not AVRO", s.Type)
	case len(s.References) > 0:
		return "it refers to schemas of other subjects"
	}
	return ""
}
