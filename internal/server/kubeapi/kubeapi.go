package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/kubestatus"
	"kqueen.io/kqueen/internal/server/problem"
)

// Config is what the handler stands on. All fields are required.
type Config struct {
	// Plane is the way to the admin plane's API server as the caller whom a context names.
	Plane kube.Impersonation
	// Callers reads, as the caller, what a call is about to change.
	Callers client.Client
	Chain   *chain.Chain
	Log     *slog.Logger
}

// maxAnswer is how much of a document or of the answer to a change is read, in bytes: the API server takes objects of up to 3 MiB.
const maxAnswer = 8 << 20

// handler serves the calls.
type handler struct {
	Config
	proxy *httputil.ReverseProxy
}

// Register adds the handler to a mux.
func Register(mux *http.ServeMux, c Config) {
	h := &handler{Config: c}
	h.proxy = &httputil.ReverseProxy{
		Rewrite: h.rewrite, Transport: c.Plane.Transport, FlushInterval: -1, ModifyResponse: modify, ErrorHandler: unanswered,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	mux.Handle(rest.KubernetesPath+"/", http.StripPrefix(rest.KubernetesPath, c.Chain.Plain(h, about, kubestatus.Refuse)))
}

// about is what the audit log has of a request: what changes an object, and nothing else.
func about(r *http.Request) chain.About {
	c, status := read(r.Method, r.URL.Path, r.URL.Query())
	if status != 0 || !c.changes() {
		return chain.About{}
	}
	actions := map[string]string{apiVerbCreate: "create", apiVerbUpdate: "update", apiVerbPatch: "update", apiVerbDelete: "delete"}
	return chain.About{
		Entry: chain.Entry{
			Action: actions[c.Verb], Operation: "kubernetes:" + c.Verb, Path: chain.ObjectPath, DryRun: r.URL.Query().Has("dryRun"),
		},
		Object: chain.Object{Kind: c.Resource.Kind, Organization: c.organization(), Name: c.Name},
	}
}

type callKey struct{}

// ServeHTTP serves a call of a caller who is known.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, status := read(r.Method, r.URL.Path, r.URL.Query())
	switch {
	case status != 0:
		kubestatus.Refuse(w, r, problem.New(status, rest.CodeNotFound, "the Kubernetes API has this not here; see "+rest.KubernetesPath+"/apis for what there is"))
		return
	case r.Header.Get("Upgrade") != "":
		kubestatus.Refuse(w, r, problem.New(http.StatusBadRequest, rest.CodeInvalid, "connections are not upgraded here; watch without WebSocket"))
		return
	}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if what := about(r); what.Action != "" {
		chain.Of(ctx).Detail = map[string]string{"operation": what.Operation}
	}
	if c.Verb == apiVerbWatch {
		if err := h.Chain.Follow(w, r.WithContext(ctx), h.Chain.Streams.Recheck, h.proxy.ServeHTTP); err != nil {
			kubestatus.Refuse(w, r, problem.Of(err))
		}
		return
	}
	if c.changes() {
		chain.Of(ctx).Changed(h.before(ctx, c), nil)
	}
	h.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// before is the object that a call is about to change, as far as its caller may see it; nil when there is none.
func (h *handler) before(ctx context.Context, c call) *unstructured.Unstructured {
	if c.Name == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: c.Resource.Group, Version: c.Resource.Version, Kind: c.Resource.Kind})
	if h.Callers.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, o) != nil {
		return nil // the call itself is refused, or finds none, too
	}
	return o
}

// rewrite makes the request to the API server. The caller's credential stays here, and what is read of answers comes as it is.
func (h *handler) rewrite(r *httputil.ProxyRequest) {
	c, _ := r.In.Context().Value(callKey{}).(call)
	query := r.Out.URL.Query()
	query.Del("watch")
	if c.Verb == apiVerbWatch {
		query.Set("watch", "true") // in the form by which [kube.CallDeadline] knows watches
	}
	server := h.Plane.Server
	*r.Out.URL = url.URL{Scheme: server.Scheme, Host: server.Host, Path: strings.TrimSuffix(server.Path, "/") + c.Path, RawQuery: query.Encode()}
	r.Out.Host = ""
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		r.Out.Header.Del(name)
	}
	if c.Document != "" {
		// Older discovery, which every client takes: that of aggregated discovery is several documents in one.
		r.Out.Header.Set("Accept", "application/json")
	}
	if c.Document != "" || c.changes() {
		r.Out.Header.Del("Accept-Encoding")
	}
}

// modify changes the API server's answer where it may not go out as it is.
func modify(resp *http.Response) error {
	c, _ := resp.Request.Context().Value(callKey{}).(call)
	for _, name := range []string{"Cache-Control", "Content-Security-Policy", "X-Content-Type-Options", "Audit-Id", "Www-Authenticate"} {
		resp.Header.Del(name) // the chain has set its own
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return errOwnCredential
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest && resp.StatusCode != http.StatusNotModified:
		return fmt.Errorf("the API server redirects: %s", resp.Status)
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated:
		return nil
	case c.Document != "":
		return replaceBody(resp, func(data []byte) ([]byte, error) { return narrow(c, data) })
	case c.changes() && c.Verb != apiVerbDelete && !resp.Request.URL.Query().Has("dryRun"):
		return replaceBody(resp, func(data []byte) ([]byte, error) { note(resp.Request.Context(), data); return data, nil })
	}
	return nil
}

// errOwnCredential says that the API server did not take KQueen's own credential, which is no matter of the caller's.
var errOwnCredential = errors.New("the API server refuses KQueen's own credential")

// replaceBody reads the answer whole, and answers with what edit makes of it.
func replaceBody(resp *http.Response, edit func([]byte) ([]byte, error)) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = fmt.Errorf("it is longer than %d bytes", maxAnswer)
	}
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read the API server's answer: %w", err)
	}
	if data, err = edit(data); err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	resp.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return nil
}

// note notes for the audit log what an object was changed to. An answer in another form than JSON has no object to note.
func note(ctx context.Context, data []byte) {
	o := &unstructured.Unstructured{}
	if json.Unmarshal(data, &o.Object) != nil || o.GetUID() == "" {
		return
	}
	known := chain.Of(ctx)
	before := known.Before
	known.Changed(nil, o)
	known.Before, known.Object.Name = before, o.GetName()
}

// unanswered answers a call that the API server did not.
func unanswered(w http.ResponseWriter, r *http.Request, err error) {
	chain.Of(r.Context()).Failure = err
	if errors.Is(err, context.Canceled) {
		return // the caller has gone away
	}
	w.Header().Set("Retry-After", "1")
	kubestatus.Refuse(w, r, problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the admin plane's API server does not answer now; retry in a moment"))
}
