package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// ExportAudit writes an export of the audit log to out, a line of JSON for each record, as it comes (operation exportAudit).
// An organization narrows it (operation exportOrganizationAudit); empty is all of it. The last line is a seal, {"seal": …}:
// an answer without it was cut off, which is an error. It is one try. What bounds it is ctx, and that the server may say
// nothing for as long as a call may take.
func (c *Client) ExportAudit(ctx context.Context, organization string, out io.Writer) error {
	id, args := "exportAudit", []string(nil)
	if organization != "" {
		id, args = "exportOrganizationAudit", []string{organization}
	}
	return c.export(ctx, id, args, nil, out)
}

// ExportClusterAudit writes the audit log of a hosted cluster's own API server to out, an event of audit.k8s.io/v1 as a line of
// JSON each, the oldest first, from a time on, or all with the zero time (operation exportClusterAudit). It ends as
// ExportAudit does; the seal has the number of events, and of what could not be read.
func (c *Client) ExportClusterAudit(ctx context.Context, organization, cluster string, since time.Time, out io.Writer) error {
	query := url.Values{}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	return c.export(ctx, "exportClusterAudit", []string{organization, cluster}, query, out)
}

// export writes lines that end with a seal.
func (c *Client) export(ctx context.Context, id string, args []string, query url.Values, out io.Writer) error {
	path, err := fill(operations[id].Path, args)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	last := &lastLine{}
	if err := c.stream(ctx, Request{Method: http.MethodGet, Path: rest.Prefix + path, Query: query}, io.MultiWriter(out, last)); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if !last.sealed() {
		return fmt.Errorf("GET %s: the export was cut off: its last line is no seal", path)
	}
	return nil
}

// stream makes a call once and copies its answer.
func (c *Client) stream(ctx context.Context, r Request, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher := time.AfterFunc(c.config.Timeout, cancel)
	defer watcher.Stop()
	req, err := c.request(ctx, r, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if refused := refusal(err); refused != nil {
			return refused
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what cannot be read cannot be shown
		if err := (&answer{resp.StatusCode, resp.Header, body}).decode(nil); err != nil {
			return err
		}
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	_, err = io.Copy(to, alive{resp.Body, func() { watcher.Reset(c.config.Timeout) }})
	return err
}

// alive tells of every read.
type alive struct {
	io.Reader

	tell func()
}

// Read implements io.Reader.
func (a alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.tell()
	return n, err
}

// lastLine keeps how the last line that was written begins, and whether it ended.
type lastLine struct {
	begin []byte
	ended bool
}

const seal = `{"seal":`

// Write implements io.Writer.
func (l *lastLine) Write(p []byte) (int, error) {
	for _, b := range p {
		if l.ended {
			l.begin, l.ended = l.begin[:0], false
		}
		if b == '\n' {
			l.ended = true
		} else if len(l.begin) < len(seal) {
			l.begin = append(l.begin, b)
		}
	}
	return len(p), nil
}

func (l *lastLine) sealed() bool { return l.ended && string(l.begin) == seal }
