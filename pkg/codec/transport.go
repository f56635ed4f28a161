package codec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/twmb/franz-go/pkg/sr"
)

// maxAnswerBytes bounds an answer of the registry: twice the longest schema
// that is read, since JSON in JSON takes more.
const maxAnswerBytes = 2 * maxSchemaBytes

// A boundedTransport ends answers that are too long, which the registry's
// client would read whole into memory.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip sends the request on.
func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxAnswerBytes, status: response.StatusCode}
	return response, nil
}

// CloseIdleConnections is what http.Client looks for on its transport.
func (t boundedTransport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left   int
	status int
}

// Read fails once more has come than is left.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, &tooLargeError{status: b.status}
	}
	return n, err
}

type tooLargeError struct{ status int }

// Error names the bound.
func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the registry's answer is longer than %d bytes", maxAnswerBytes)
}

// isMissing says whether the registry answered that it lacks what was asked
// for. A 404 alone doesn't say so: that's also what a wrong path gives, and
// records would be dead letters for it.
func isMissing(err error) bool {
	var response *sr.ResponseError
	return errors.As(err, &response) && response.StatusCode == http.StatusNotFound &&
		response.ErrorCode/100 == http.StatusNotFound
}

// failed makes a RegistryError of what the client returned.
func (r *Registry) failed(ctx context.Context, asked string, err error) error {
	failure := &RegistryError{URL: r.url, Asked: asked, Err: err}
	var response *sr.ResponseError
	if errors.As(err, &response) {
		failure.Status = response.StatusCode
		failure.Why = answerInWords(response)
		return failure
	}
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		failure.Why = "given up: " + context.Cause(ctx).Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		failure.Why = fmt.Sprintf("no answer within %s", r.timeout)
	default:
		// Only what is at fault: the URL is in the line already.
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		failure.Why = oneLine(err.Error())
	}
	return failure
}

// answerInWords says what an answer other than success means to whoever has to
// mend it.
func answerInWords(response *sr.ResponseError) string {
	status := fmt.Sprintf("answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return status + ": check the registry's user name and password"
	case http.StatusNotFound:
		if response.ErrorCode == 0 {
			return status + ", not in the way of a registry: check the URL's path"
		}
	}
	return status + ": " + oneLine(response.Error())
}
