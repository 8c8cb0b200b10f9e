package fleet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/problem"
)

const (
	// defaultLimit is how many rows a page has, in the absence of a limit.
	defaultLimit = 100
	// tolerance is how far ahead of ours a caller's clock may be.
	tolerance = time.Minute
)

// Where says which clusters a question is about, when, and which page of the answer.
type Where struct {
	Organizations []string  `query:"organization,explode" maxItems:"100" doc:"Only clusters of this organization; may be repeated."`
	Clusters      []string  `query:"cluster,explode" maxItems:"100" doc:"Only clusters of this name; may be repeated."`
	ClusterLabels []string  `query:"clusterLabel,explode" maxItems:"20" doc:"Only clusters with this label, as KEY=VALUE; may be repeated, and then all have to be there."`
	At            time.Time `query:"at" doc:"As of this time; now when it is absent."`
	Limit         int       `query:"limit" minimum:"0" maximum:"500" doc:"How many rows at most; 0 is 100. CSV and CycloneDX have all rows."`
	Cursor        string    `query:"cursor" maxLength:"20000" doc:"Where to go on: the cursor of the page before, with the same other parameters."`
}

// into adds what is asked for to a filter, whose scope is there.
func (w *Where) into(f *inventory.Filter, now time.Time) error {
	f.Organizations, f.Clusters, f.At, f.Limit, f.Cursor = w.Organizations, w.Clusters, w.At, w.Limit, w.Cursor
	if f.Limit == 0 {
		f.Limit = defaultLimit
	}
	if w.At.After(now.Add(tolerance)) {
		return refused("at", "it is in the future; want a time that has passed")
	}
	for _, label := range w.ClusterLabels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return refused("clusterLabel", "want KEY=VALUE, such as env=prod")
		}
		if have, twice := f.ClusterLabels[key]; twice && have != value {
			return refused("clusterLabel", "no cluster has two values of one label")
		}
		if f.ClusterLabels == nil {
			f.ClusterLabels = map[string]string{}
		}
		f.ClusterLabels[key] = value
	}
	return nil
}

// Namespaced narrows what is in namespaces.
type Namespaced struct {
	Namespaces []string `query:"namespace,explode" maxItems:"100" doc:"Only what is in this namespace; may be repeated."`
}

// OfImage narrows images.
type OfImage struct {
	Repository string   `query:"repository" maxLength:"512" doc:"Only images of this repository in full, such as docker.io/library/nginx; * stands for any text."`
	Tag        string   `query:"tag" maxLength:"256" doc:"Only images with this tag."`
	Text       string   `query:"text" maxLength:"512" doc:"Only images whose reference has this text somewhere."`
	Digests    []string `query:"digest,explode" maxItems:"50" doc:"Only images with this digest, such as sha256:…; may be repeated. POST /inventory/containers/search takes more."`
}

func (o *OfImage) into(f *inventory.Filter) error {
	f.Repository, f.Tag, f.Text = o.Repository, o.Tag, o.Text
	for _, digest := range o.Digests {
		if !isDigest(digest) {
			return refused("digest", wantDigest)
		}
	}
	f.Digests = o.Digests
	return nil
}

// wantDigest is what a caller is told of a digest that cannot be one.
const wantDigest = "want the digest of an image, such as sha256: and 64 hexadecimal digits"

// isDigest says whether a text is a digest as OCI has it: an algorithm and a value. It is pure.
func isDigest(text string) bool {
	algorithm, value, ok := strings.Cut(text, ":")
	if !ok || algorithm == "" || len(value) < 32 || len(text) > 256 {
		return false
	}
	return strings.Trim(algorithm, "abcdefghijklmnopqrstuvwxyz0123456789+._-") == "" &&
		strings.Trim(strings.ToLower(value), "abcdefghijklmnopqrstuvwxyz0123456789=_-") == ""
}

// OfComponent narrows binaries.
type OfComponent struct {
	Components []string `query:"component,explode" maxItems:"50" doc:"Only this program, such as kubelet or etcd; may be repeated."`
	Version    string   `query:"version" maxLength:"128" doc:"Only versions that fit a constraint, such as <1.34 or >=1.33 <1.35."`
	Places     bool     `query:"places" doc:"A row for each place where one runs, instead of one for each version."`
}

func (o *OfComponent) into(f *inventory.Filter) error {
	if o.Version != "" {
		if _, err := semver.NewConstraint(o.Version); err != nil {
			return refused("version", "want a version or a constraint, such as <1.34 or >=1.33 <1.35")
		}
	}
	f.Components, f.Version = o.Components, o.Version
	return nil
}

// Between compares two times.
type Between struct {
	From time.Time `query:"from" doc:"What appeared and vanished since this time, instead of what is there."`
	To   time.Time `query:"to" doc:"With from: until this time; now when it is absent."`
}

// compared are two times that are compared.
type compared struct {
	from, to time.Time
	// mark begins cursors of answers until now: later pages are until the same moment as the first.
	mark string
}

// endOfMark is not in times.
const endOfMark = "~"

// times says which times are compared; nil for none.
func (b *Between) times(at, now time.Time, cursor string) (*compared, error) {
	c := &compared{from: b.From, to: b.To}
	switch {
	case c.from.IsZero() && c.to.IsZero():
		return nil, nil
	case c.from.IsZero():
		return nil, refused("from", "it is absent; want the time from which to compare")
	case !at.IsZero():
		return nil, refused("at", "it cannot be given with from and to")
	case c.to.IsZero():
		c.to = now.UTC().Truncate(time.Microsecond)
		if said, _, ok := strings.Cut(cursor, endOfMark); ok {
			to, err := time.Parse(time.RFC3339Nano, said)
			if err != nil {
				return nil, refused("cursor", "it is not one of this question")
			}
			c.to = to.UTC()
		}
		c.mark = c.to.Format(time.RFC3339Nano) + endOfMark
	}
	if c.to.After(now.Add(tolerance)) {
		return nil, refused("to", "it is in the future; want a time that has passed")
	}
	if !c.from.Before(c.to) {
		return nil, refused("from", "it has to be before to")
	}
	return c, nil
}

// between reads pages of what changed.
func between[S any](c *compared, read func(ctx context.Context, f inventory.Filter, from, to time.Time) (inventory.Page[S], error)) reading[S] {
	return func(ctx context.Context, f inventory.Filter) (inventory.Page[S], error) {
		f.Cursor = strings.TrimPrefix(f.Cursor, c.mark)
		page, err := read(ctx, f, c.from, c.to)
		if page.Next != "" {
			page.Next = c.mark + page.Next
		}
		return page, err
	}
}

// Format says in which format a caller wants the rows.
type Format struct {
	Name   string `query:"format" enum:"json,csv" doc:"The format; that of the header Accept when it is absent, json or csv."`
	accept string
}

// Resolve implements huma.Resolver.
func (f *Format) Resolve(ctx huma.Context) []error {
	f.accept = ctx.Header("Accept")
	return nil
}

func (f *Format) format() string {
	if format := formatOf(f.Name, f.accept); format != formatBOM {
		return format
	}
	return formatJSON // there is no bill of materials of this
}

// FormatWithBOM is Format for images, of which there is a bill of materials.
type FormatWithBOM struct {
	Name   string `query:"format" enum:"json,csv,cyclonedx" doc:"The format; that of the header Accept when it is absent, json, csv or cyclonedx (JSON, 1.6)."`
	accept string
}

// Resolve implements huma.Resolver.
func (f *FormatWithBOM) Resolve(ctx huma.Context) []error {
	f.accept = ctx.Header("Accept")
	return nil
}

func (f *FormatWithBOM) format() string { return formatOf(f.Name, f.accept) }

// formatOf is the format that a caller wants: what they name, or the first that they accept and that there is.
func formatOf(name, accept string) string {
	if name != "" {
		return name
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.TrimSpace(media) {
		case mediaJSON, "*/*":
			return formatJSON
		case mediaCSV:
			return formatCSV
		case mediaBOM:
			return formatBOM
		}
	}
	return formatJSON
}

// refused is the answer to a parameter that is wrong.
func refused(parameter, detail string) error {
	return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: "?" + parameter, Detail: detail})
}

// explained makes a problem of what a read of the store ended with.
func explained(err error) error {
	if bad, is := errors.AsType[*invalid.Error](err); is {
		return refused(strings.TrimSuffix(bad.Field, "s"), bad.Detail()) // of several values each is a parameter: digest for Digests
	}
	return problem.Explain(err)
}
