package devstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
)

const journalName = "journal.jsonl"

// A journal keeps a registry that lives in memory: each request that changed
// it is written down before it's answered, and asked again, in order, at the
// next start. So every id and version comes back, whatever the registry is
// made of, and an id that a producer was told is never lost.
type journal struct {
	registry http.Handler

	mu   sync.Mutex // requests that change something go one by one
	file *os.File
}

// A change is one line of the journal.
type change struct {
	Method string `json:"method"`
	Target string `json:"target"`
	Body   string `json:"body,omitempty"`
	Answer string `json:"answer"`
}

// openJournal repeats what the file holds against an empty registry.
func openJournal(ctx context.Context, path string, registry http.Handler) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{registry: registry, file: file}
	if err := j.repeat(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the registry's journal %s: %w", path, err), file.Close())
	}
	return j, nil
}

func (j *journal) repeat(ctx context.Context) error {
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	// A line without an end is of a process that was killed while it wrote:
	// its request was never answered.
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(whole) {
		var c change
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		status, answer := ask(ctx, j.registry, c.Method, c.Target, c.Body)
		if !succeeded(status) || answer != c.Answer {
			return fmt.Errorf("%s %s is answered with %s now, and was with %s", c.Method, c.Target, answer, c.Answer)
		}
	}
	if err := j.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = j.file.Seek(0, io.SeekEnd)
	return err
}

// maxRequestBytes bounds a request: a schema has a few kilobytes.
const maxRequestBytes = 4 << 20

// ServeHTTP lets readers through and writes changes down.
func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !changes(r) {
		j.registry.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := j.apply(r, string(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	// A client that is gone needs no answer, and asks again.
	_, _ = w.Write(answer.Body.Bytes())
}

// apply lets the registry answer, and writes down what it granted.
func (j *journal) apply(r *http.Request, body string) (*httptest.ResponseRecorder, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	target := r.URL.RequestURI() // before the registry rewrites it
	answer := httptest.NewRecorder()
	j.registry.ServeHTTP(answer, r)
	if !succeeded(answer.Code) {
		return answer, nil
	}
	return answer, j.write(change{Method: r.Method, Target: target, Body: body, Answer: answer.Body.String()})
}

func (j *journal) write(c change) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}

// changes tells whether a request may change the registry. Posts to other
// places than versions are questions with a schema in their body.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPut, http.MethodDelete:
		return true
	case http.MethodPost:
		return strings.HasSuffix(r.URL.Path, "/versions") && !strings.Contains(r.URL.Path, "/compatibility/")
	default:
		return false
	}
}

func succeeded(status int) bool { return status >= 200 && status < 300 }

// ask puts a request to the registry without a network.
func ask(ctx context.Context, registry http.Handler, method, target, body string) (status int, answer string) {
	recorded := httptest.NewRecorder()
	registry.ServeHTTP(recorded, httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body)))
	return recorded.Code, recorded.Body.String()
}
