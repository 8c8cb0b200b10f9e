package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// As is whom a call is made as.
type As struct {
	User   string
	Groups []string
	// Extra is handed to admission and to the API server's audit log, by lower-case name.
	Extra map[string]string
}

type asKey struct{}

// WithAs says whom the calls of a context are made as.
func WithAs(ctx context.Context, as As) context.Context { return context.WithValue(ctx, asKey{}, as) }

// ErrNoUser says that a call names no user as whom it is to be made.
var ErrNoUser = errors.New("the call names no user whom it is made as")

// Impersonation is the way to an API server on which every call is made as whom [WithAs] named: the API server decides what that
// one may. A call that names no user fails with [ErrNoUser]; it is never made as ourselves.
type Impersonation struct {
	// Server is the address below which its paths are.
	Server    *url.URL
	Transport http.RoundTripper

	config *rest.Config
	own    *http.Client
}

// Impersonate returns the way to the API server of a config.
func Impersonate(config *rest.Config) (Impersonation, error) {
	config = rest.CopyConfig(config)
	unpaced(config)
	own, err := rest.HTTPClientFor(config)
	if err != nil {
		return Impersonation{}, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return Impersonation{}, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return Impersonation{server, &impersonation{next: own.Transport}, config, own}, nil
}

// Client returns an uncached client on that way.
func (i Impersonation) Client(scheme *runtime.Scheme) (client.WithWatch, error) {
	// Which kinds there are is no secret, and is asked for as ourselves.
	mapper, err := apiutil.NewDynamicRESTMapper(i.config, i.own)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", i.config.Host, err)
	}
	theirs := *i.own
	theirs.Transport = i.Transport
	c, err := client.NewWithWatch(i.config, client.Options{
		HTTPClient: &theirs, Scheme: scheme, Mapper: mapper, Log: logr.FromSlogHandler(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", i.config.Host, err)
	}
	return c, nil
}

type impersonation struct{ next http.RoundTripper }

// RoundTrip names the one in the headers that API servers know.
func (i *impersonation) RoundTrip(req *http.Request) (*http.Response, error) {
	as, ok := req.Context().Value(asKey{}).(As)
	if !ok || as.User == "" {
		return nil, ErrNoUser
	}
	req = req.Clone(req.Context())
	for name := range req.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			req.Header.Del(name)
		}
	}
	req.Header.Set("Impersonate-User", as.User)
	for _, group := range as.Groups {
		req.Header.Add("Impersonate-Group", group)
	}
	for name, value := range as.Extra {
		req.Header.Set("Impersonate-Extra-"+name, value)
	}
	return i.next.RoundTrip(req)
}
